/** Changes that a reader makes on the page, and what was done lately, so that it can be undone. */
import { batch, signal, type ReadonlySignal, type Signal } from '@preact/signals';
import { getOrMake } from '../parts/maps.ts';
import { errorText } from '../parts/notices.tsx';
import { pollAllNow } from '../parts/polling.ts';
import { t, tn } from '../parts/t.ts';

/** What is said of changes of one kind. */
export type ChangeWords = {
  /** Changes of one kind are counted together: `archive`. */
  readonly kind: string;
  /** One that was made, as a phrase: `archived digits`. */
  readonly one: (name: string) => string;
  /** Several that were made: `archived 3 runs`. */
  readonly many: (count: number) => string;
  /** One that was not made, as a sentence: `digits was not archived.` */
  readonly failed: (name: string) => string;
  /** One that was not undone; unless given, as `failed` of what undoes it. */
  readonly notUndone: (name: string) => string;
};

/** Undoes a change. */
export type Undo = () => Promise<unknown>;

/** A change of one thing. */
export type PageChange = {
  /** The id of the thing. Two changes of one thing are not made at the same time. */
  readonly id: string;
  /** What it is called on the page. */
  readonly name: string;
  readonly words: ChangeWords;
  /** Makes the change; resolves to what undoes it. Undefined: nothing was different. */
  readonly make: () => Promise<Undo | undefined>;
};

/** A change that was made. */
export type DoneChange = PageChange & { readonly undo: Undo };

/** What is said of the latest changes. */
export type ChangeNotice = {
  /** In the order in which they were made; empty after they were undone. */
  readonly done: readonly DoneChange[];
  /** What has become of them, in words. */
  readonly text: string;
  /** Why a change was not made, in a sentence. */
  readonly failure: string | undefined;
};

/** How long a notice stays, in milliseconds, unless it is dismissed. */
export const NOTICE_MS = 30_000;

/** Changes of many things that are made at the same time. */
const CONCURRENT = 4;
/** How often the notice counts on while many changes are made. */
const SAY_EVERY_MS = 200;

const latest: Signal<ChangeNotice | undefined> = signal(undefined);
const underWay: Signal<ReadonlySet<string>> = signal(new Set<string>());
let timer: ReturnType<typeof setTimeout> | undefined;

/** What is said of the latest changes; undefined when there is nothing to say. */
export const changeNotice: ReadonlySignal<ChangeNotice | undefined> = latest;

/** Ids of what is being changed. */
export const changingIds: ReadonlySignal<ReadonlySet<string>> = underWay;

/**
 * Makes changes and says so, or why not: {@link changeNotice}. What is being changed already is left out. Never rejects.
 *
 * @example await makeChanges([renaming({ store, runId, name: 'digits' }, 'baseline')]);
 */
export async function makeChanges(changes: readonly PageChange[]): Promise<void> {
  const waiting = changes.filter(({ id }) => !underWay.peek().has(id));
  if (waiting.length === 0) return;
  const ids = new Set(waiting.map(({ id }) => id));
  underWay.value = new Set([...underWay.peek(), ...ids]);
  const done: DoneChange[] = [];
  let failure: string | undefined;
  const before = latest.peek()?.done ?? [];
  const tell = counting(waiting.length);
  await inTurns(waiting, async (change) => {
    try {
      const undo = await change.make();
      if (undo !== undefined) done.push({ ...change, undo });
    } catch (error) {
      failure ??= `${change.words.failed(change.name)} ${errorText(error)}`;
    }
    tell(before);
  });
  batch(() => {
    const all = [...before, ...done];
    if (all.length > 0 || failure !== undefined) say({ done: all, text: doneText(all), failure });
    else dismissNotice();
    underWay.value = new Set([...underWay.peek()].filter((id) => !ids.has(id)));
  });
  pollAllNow();
}

/** Undoes all changes of the notice, the last one first. What cannot be undone stays in the notice, with the reason. Never rejects. */
export async function undoChanges(): Promise<void> {
  const done = latest.peek()?.done ?? [];
  if (done.length === 0) return;
  // Nobody undoes them twice.
  say({ done: [], text: t('Undoing'), failure: undefined });
  const failed = new Set<DoneChange>();
  let failure: string | undefined;
  // Changes of one thing are undone in their order, those of others beside them.
  const byId = new Map<string, DoneChange[]>();
  for (const one of done.toReversed()) getOrMake(byId, one.id, () => []).push(one);
  await inTurns([...byId.values()], async (changes) => {
    for (const one of changes) {
      try {
        await one.undo();
      } catch (error) {
        failed.add(one);
        failure = `${one.words.notUndone(one.name)} ${errorText(error)}`;
      }
    }
  });
  const left = done.filter((one) => failed.has(one));
  const text = left.length === 0 ? undoneText(done) : doneText(left);
  say({ done: [...left, ...(latest.peek()?.done ?? [])], text, failure });
  pollAllNow();
}

/** Removes the notice. What was done stays as it is. */
export function dismissNotice(): void {
  clearTimeout(timer);
  latest.value = undefined;
}

/** Leaves the notice for as long as somebody is over it with the pointer. */
export function pauseNotice(): void {
  clearTimeout(timer);
}

/** The notice goes {@link NOTICE_MS} from now. */
export function resumeNotice(): void {
  clearTimeout(timer);
  if (latest.peek() !== undefined) timer = setTimeout(dismissNotice, NOTICE_MS);
}

/** `Deleted digits 3f2a`, `Deleted 3 runs`, `Deleted 2 runs, archived 1 run`. */
export function doneText(done: readonly Pick<DoneChange, 'name' | 'words'>[]): string {
  const [only, another] = done;
  if (only === undefined) return '';
  if (another === undefined) return capital(only.words.one(only.name));
  const byKind = new Map<string, { words: ChangeWords; count: number }>();
  for (const { words } of done)
    getOrMake(byKind, words.kind, () => ({ words, count: 0 })).count += 1;
  return capital([...byKind.values()].map(({ words, count }) => words.many(count)).join(', '));
}

function undoneText(done: readonly DoneChange[]): string {
  const [only] = done;
  return done.length === 1 && only !== undefined
    ? t('Undone: {name} is as it was.', { name: only.name })
    : tn(done.length, 'Undone: {count} change.', 'Undone: {count} changes.');
}

/** Says how far many changes are, now and then. */
function counting(total: number): (before: readonly DoneChange[]) => void {
  let count = 0;
  let saidAtMs = performance.now();
  return (before) => {
    count += 1;
    if (count === total || performance.now() - saidAtMs < SAY_EVERY_MS) return;
    saidAtMs = performance.now();
    const text = t('Changing {count} of {total}', { count, total });
    say({ done: before, text, failure: undefined });
  };
}

/** Runs `task` for each item, a few at a time. */
async function inTurns<T>(items: readonly T[], task: (item: T) => Promise<void>): Promise<void> {
  const rest = items.values();
  const worker = async (): Promise<void> => {
    for (const item of rest) await task(item);
  };
  await Promise.all(Array.from({ length: CONCURRENT }, worker));
}

function say(notice: ChangeNotice): void {
  latest.value = notice;
  resumeNotice();
}

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
