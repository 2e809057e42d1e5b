/**
 * Who the page is to the server behind it: the key that a person gave, and which of their spaces is shown. The key stays
 * in this tab (`sessionStorage`) until it is closed or the person signs out, and goes nowhere but to that server.
 */
import { signal, type ReadonlySignal, type Signal } from '@preact/signals';
import { storedText } from '../parts/browser-storage.ts';
import { t } from '../parts/t.ts';

/** A space that can be shown. */
export type OpenSpace = {
  readonly space: string;
  readonly owner: string;
  /** What may be done in each project that is shared, `read` or `write`; undefined in a space of one's own. */
  readonly projects?: ReadonlyMap<string, string> | undefined;
};

/** What the server says of a key. */
export type Account = {
  readonly user: string;
  readonly scope: string;
  readonly spaces: readonly OpenSpace[];
};

/** What a store of the server is opened with. */
export type ServerAccess = { readonly userKey?: string; readonly space?: string };

const storedKey = storedText('quark.key', 'sessionStorage');
const storedSpace = storedText('quark.space', 'sessionStorage');
/** The space of requests that name none. */
const DEFAULT_SPACE = 'default';

const serverUri = signal<string | undefined>(undefined);
const isNeeded = signal(false);
const key = signal<string | undefined>(storedKey.get());
const chosenSpace = signal(storedSpace.get() ?? DEFAULT_SPACE);
const known = signal<Account | undefined>(undefined);

/** Who the key belongs to; undefined without a key, and until the server has said so. */
export const account: ReadonlySignal<Account | undefined> = known;

/** The space that is shown. */
export const space: ReadonlySignal<string> = chosenSpace;

/** Why the last key was not taken. */
export const refusal: Signal<string | undefined> = signal(undefined);

/** Told of the server behind the page, and whether it asks for a key. */
export function meetServer(uri: string, asksForKey: boolean): void {
  serverUri.value = uri;
  isNeeded.value = asksForKey;
  if (asksForKey && key.peek() !== undefined) void ask(key.peek() ?? '');
}

/** Whether this store cannot be opened before somebody gives a key. */
export function waitsForKey(uri: string | undefined): boolean {
  return uri !== undefined && uri === serverUri.value && isNeeded.value && key.value === undefined;
}

/** Whether this is a server that asks for a key. */
export function needsKey(uri: string | undefined): boolean {
  return uri !== undefined && uri === serverUri.value && isNeeded.value;
}

/** What a store is opened with: nothing unless it is the server's. */
export function accessTo(uri: string | undefined): ServerAccess {
  if (uri === undefined || uri !== serverUri.peek() || !isNeeded.peek()) return {};
  const userKey = key.peek();
  return { ...(userKey === undefined ? {} : { userKey }), space: chosenSpace.peek() };
}

/** Changes with whatever makes another store of the same address. */
export function accessMark(uri: string | undefined): string {
  return uri !== undefined && uri === serverUri.value && isNeeded.value
    ? `${key.value === undefined ? '' : key.value.slice(0, 15)} ${chosenSpace.value}`
    : '';
}

/** Tries a key; it is stored when the server takes it. */
export async function signIn(given: string): Promise<boolean> {
  refusal.value = undefined;
  const found = await ask(given.trim());
  if (!found) return false;
  key.value = given.trim();
  storedKey.set(given.trim());
  return true;
}

/** Forgets the key. */
export function signOut(why?: string): void {
  key.value = undefined;
  known.value = undefined;
  chosenSpace.value = DEFAULT_SPACE;
  refusal.value = why;
  storedKey.set(undefined);
  storedSpace.set(undefined);
}

/** Shows another space. */
export function chooseSpace(name: string): void {
  chosenSpace.value = name;
  storedSpace.set(name);
}

/** Asks the server who a key belongs to. */
async function ask(given: string): Promise<boolean> {
  const base = serverUri.peek();
  if (base === undefined) return false;
  if (!/^[\u0021-\u007e]+$/.test(given)) {
    refusal.value = t('A key is "qk_" and letters and digits, without blanks.');
    return false;
  }
  try {
    const answer = await fetch(new URL('api/v1/account', `${base}/`), {
      headers: { authorization: `Bearer ${given}` },
      cache: 'no-store',
    });
    const told: unknown = await answer.json();
    if (answer.ok) {
      const found = accountOf(told);
      known.value = found;
      // What was chosen may no longer be shared.
      if (!found.spaces.some((one) => one.space === chosenSpace.peek())) chooseSpace(DEFAULT_SPACE);
      return true;
    }
    const why =
      textIn(told, 'message') ??
      t('The server answered with status {status}.', { status: answer.status });
    if (answer.status === 401) signOut(why);
    else refusal.value = why;
    return false;
  } catch {
    refusal.value = t('The server cannot be reached.');
    return false;
  }
}

/** What the answer of `GET /account` says; what it lacks is empty. */
export function accountOf(told: unknown): Account {
  const listed: unknown = fieldOf(told, 'spaces');
  const spaces = (Array.isArray(listed) ? listed : []).map((one: unknown) => ({
    space: textIn(one, 'space') ?? DEFAULT_SPACE,
    owner: textIn(one, 'owner') ?? '',
    projects: projectsOf(fieldOf(one, 'projects')),
  }));
  return { user: textIn(told, 'user') ?? '', scope: textIn(told, 'scope') ?? '', spaces };
}

function projectsOf(told: unknown): ReadonlyMap<string, string> | undefined {
  if (typeof told !== 'object' || told === null) return undefined;
  return new Map(Object.entries(told).map(([project, access]) => [project, String(access)]));
}

function textIn(value: unknown, name: string): string | undefined {
  const found = fieldOf(value, name);
  return typeof found === 'string' ? found : undefined;
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}
