/** How far each entry of the history was scrolled, stored with the entry: going back shows what was seen, going on begins at the top. */

/** For how long the scroll position is restored again each time the page grows, as its parts load. */
const PATIENCE_MS = 10_000;
/** Scrolling that goes on is stored once it rests. */
const STORE_AFTER_MS = 150;

let lastY = 0;
/** How far the list of the page is scrolled in its own frame. */
let lastListY = 0;
let listTimer: ReturnType<typeof setTimeout> | undefined;
let timer: ReturnType<typeof setTimeout> | undefined;
let stopMoving: () => void = () => undefined;

/** Whether the entry of the history that is shown was shown before. */
export function isKnownEntry(): boolean {
  return storedY() !== undefined;
}

/** Marks the entry that is shown as known. */
export function markEntry(): void {
  if (!isKnownEntry()) history.replaceState({ y: 0 }, '');
}

function storedY(name: 'y' | 'listY' = 'y'): number | undefined {
  const state: unknown = history.state;
  if (typeof state !== 'object' || state === null) return undefined;
  const stored: unknown = Reflect.get(state, name);
  return typeof stored === 'number' ? stored : undefined;
}

/** How far the list was scrolled when this entry of the history was left, in its own frame. */
export function listScroll(): number {
  lastListY = storedY('listY') ?? 0;
  return lastListY;
}

/** The list is scrolled so far: stored once it rests. */
export function storeListScroll(y: number): void {
  lastListY = y;
  clearTimeout(listTimer);
  listTimer = setTimeout(storeScroll, STORE_AFTER_MS);
}

/** Follows scrolling from now on, and goes where this entry was left, if it was shown before. */
export function followScrolling(): void {
  history.scrollRestoration = 'manual';
  addEventListener(
    'scroll',
    () => {
      lastY = scrollY;
      clearTimeout(timer);
      timer = setTimeout(storeScroll, STORE_AFTER_MS);
    },
    { passive: true },
  );
  restore(storedY() ?? 0);
}

/** Stores how far the entry is scrolled that is shown. Call it before another one is. */
export function storeScroll(): void {
  clearTimeout(timer);
  clearTimeout(listTimer);
  if (storedY() !== lastY || (storedY('listY') ?? 0) !== lastListY)
    history.replaceState({ y: lastY, listY: lastListY }, '');
}

/** Shows the entry that the history has now: from its top, scrolled as the one before, or as it was left. */
export function moveTo(how: 'top' | 'stay' | 'as before'): void {
  // What was scrolled belongs to the entry that was left.
  clearTimeout(timer);
  clearTimeout(listTimer);
  stopMoving();
  lastListY = storedY('listY') ?? (how === 'stay' ? lastListY : 0);
  markEntry();
  if (how === 'top') scrollTo(0, 0);
  if (how === 'as before') restore(storedY() ?? 0);
  else if (how === 'stay') storeScroll();
}

/** Scrolls to `y` once the page is long enough, unless somebody scrolls first. */
function restore(y: number): void {
  if (y === 0) {
    scrollTo(0, 0);
    return;
  }
  const until = performance.now() + PATIENCE_MS;
  const waiting = new AbortController();
  stopMoving = () => waiting.abort();
  for (const type of ['wheel', 'touchstart', 'keydown', 'pointerdown'])
    addEventListener(type, stopMoving, { signal: waiting.signal, passive: true });
  const attempt = (): void => {
    if (waiting.signal.aborted) return;
    const room = document.documentElement.scrollHeight - innerHeight;
    // The browser moves a page whose parts change above what is seen.
    if (scrollY !== y && room >= y) scrollTo(0, y);
    if (performance.now() < until) requestAnimationFrame(attempt);
    else stopMoving();
  };
  // The page that is left is drawn until the next frame.
  requestAnimationFrame(attempt);
}
