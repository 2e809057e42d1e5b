/** The address as signals, and changes of it that lead to no other page: what is filtered, zoomed and chosen. */
import { batch, signal, type ReadonlySignal, type Signal } from '@preact/signals';
import {
  addressParams,
  parseRoute,
  withAddressParams,
  type PageRoute,
  type Params,
} from './route.ts';
import { followScrolling, isKnownEntry, markEntry, moveTo, storeScroll } from './scroll.ts';

/** The page that the address names now. */
export const route: Signal<PageRoute> = signal(parseRoute(location.hash));

/** What happened since the page was loaded, or since somebody went on or back. */
export type Visit = {
  /** Counts up with each. */
  readonly count: number;
  /** Whether the address says all of what is to be seen. A plain link to a page says nothing: things stay as they were last. */
  readonly isExact: boolean;
};

const visited: Signal<Visit> = signal(visitOf(0));

/** The visit that goes on. */
export const visit: ReadonlySignal<Visit> = visited;

/** How long changes are collected: browsers refuse an address that changes a hundred times in half a minute. */
const WRITE_AFTER_MS = 150;

let shownHash: string = location.hash;
const unwritten = new Map<string, string | undefined>();
let timer: ReturnType<typeof setTimeout> | undefined;

/** Follows the address from now on. */
export function followLocation(): void {
  markEntry();
  followScrolling();
  const follow = (): void => {
    if (location.hash === shownHash && isKnownEntry()) return;
    const pathBefore = pathOf(shownHash);
    clearTimeout(timer);
    unwritten.clear();
    shownHash = location.hash;
    const isKnown = isKnownEntry();
    moveTo(isKnown ? 'as before' : pathOf(shownHash) === pathBefore ? 'stay' : 'top');
    batch(() => {
      visited.value = visitOf(visited.peek().count + 1, isKnown);
      route.value = parseRoute(location.hash);
    });
  };
  addEventListener('popstate', follow);
  addEventListener('hashchange', follow);
  // A link leads away: what was changed just now belongs to the address that is left.
  const settle = (): void => {
    write('replace');
    storeScroll();
  };
  addEventListener('click', settle, { capture: true });
  addEventListener('pagehide', settle);
}

function visitOf(count: number, isKnown: boolean = isKnownEntry()): Visit {
  return { count, isExact: isKnown || addressParams(location.hash).size > 0 };
}

function pathOf(hash: string): string {
  return hash.split('?')[0] ?? '';
}

/** A part of the address after `?`; undefined where it is not there. */
export function param(name: string): string | undefined {
  return unwritten.has(name) ? unwritten.get(name) : addressParams(location.hash).get(name);
}

/** Changes a part of the address; undefined removes it. `push` makes it a step that one can go back from. */
export function setParam(name: string, value: string | undefined, how: 'replace' | 'push'): void {
  if (param(name) === value) return;
  if (how === 'push') write('replace');
  unwritten.set(name, value);
  clearTimeout(timer);
  if (how === 'push') write('push');
  else timer = setTimeout(() => write('replace'), WRITE_AFTER_MS);
}

function write(how: 'replace' | 'push'): void {
  clearTimeout(timer);
  if (unwritten.size === 0) return;
  const params: Params = new Map([...addressParams(location.hash), ...unwritten]);
  unwritten.clear();
  shownHash = withAddressParams(location.hash, params);
  if (how === 'replace') history.replaceState(history.state, '', shownHash);
  else {
    storeScroll();
    history.pushState(history.state, '', shownHash);
  }
  // As the browser writes it.
  shownHash = location.hash;
}
