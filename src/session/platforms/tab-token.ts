/**
 * What a tab remembers of the runs that it records, so that the page that is loaded next in it may take them over at once. It is in
 * `sessionStorage`, which a duplicated tab copies: while its page is open, a token says that it is in use, and only its page says
 * otherwise, when it leaves. Of two tabs that have the same token of a page that has left, the first to count the run's
 * generation up gets the run, and the token of the other one is out of date.
 */
import { ifAllowed } from '../../base/if-allowed.ts';
import type { RunGeneration } from '../../store/store.ts';

const PREFIX = 'quark-run';

/** The claim that a page has or had on the run: the page before this one in the same tab, or in the tab that this one is a copy of. */
export type OwnClaim = {
  readonly holder: string;
  readonly generation: number;
  /** Whether that page has left. Until then, only it has the run: the token of this tab is a copy, or that page ended without notice. */
  readonly hasLeft: boolean;
};

/** The tokens of a tab. Workers and Node have none. */
export interface TabTokens {
  /** What is remembered in this tab of a page that has or had the run; undefined where no page had it. */
  read(uri: string, runId: string): OwnClaim | undefined;
  /** Notes that a session of this page, with this name in leases, has a run; returns the undo. */
  hold(uri: string, holder: string, run: RunGeneration): () => void;
}

/** Tokens in `storage`, of a page that tells of its end and return by events of `page`. */
export function tabTokens(storage: Storage, page: EventTarget): TabTokens {
  const write = (key: string, token: OwnClaim): void => {
    // Without room, the run is taken over when its lease lapses.
    ifAllowed(() => storage.setItem(key, JSON.stringify(token)));
  };
  return {
    read(uri, runId) {
      return parseToken(storage.getItem(keyOf(uri, runId)));
    },
    hold(uri, holder, { generation, runId }) {
      const key = keyOf(uri, runId);
      const isOwn = (): boolean => parseToken(storage.getItem(key))?.holder === holder;
      const set = (hasLeft: boolean) => (): void => {
        if (isOwn()) write(key, { holder, generation, hasLeft });
      };
      const [leave, comeBack] = [set(true), set(false)];
      write(key, { holder, generation, hasLeft: false });
      page.addEventListener('pagehide', leave);
      // From the back/forward cache. If the next page has taken the run over, the token is that one's.
      page.addEventListener('pageshow', comeBack);
      return () => {
        page.removeEventListener('pagehide', leave);
        page.removeEventListener('pageshow', comeBack);
        if (isOwn()) storage.removeItem(key);
      };
    },
  };
}

/** The tokens of this tab, where it has any. */
export function pageTokens(): TabTokens | undefined {
  if (typeof document === 'undefined') return undefined;
  const storage = ifAllowed(() => globalThis.sessionStorage);
  return storage === undefined ? undefined : tabTokens(storage, globalThis);
}

function keyOf(uri: string, runId: string): string {
  return `${PREFIX} ${uri} ${runId}`;
}

function parseToken(text: string | null): OwnClaim | undefined {
  try {
    const token: unknown = JSON.parse(text ?? 'null');
    if (typeof token !== 'object' || token === null) return undefined;
    const { generation, hasLeft, holder } = token as Partial<OwnClaim>;
    if (typeof holder !== 'string' || typeof generation !== 'number') return undefined;
    return { holder, generation, hasLeft: hasLeft === true };
  } catch {
    return undefined;
  }
}
