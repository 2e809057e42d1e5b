/** How far each entry of the history was scrolled: going back shows what was seen, going on begins at the top. */

const STORED_KEY = 'quark.scrolled';
const MAX_ENTRIES = 100;
/** How long is waited for a page to grow as long as it was. */
const PATIENCE_MS = 4000;

let current: string = '';
let lastY = 0;
const positions: Map<string, number> = stored();
let stopMoving: () => void = () => undefined;

/** The mark of the entry of the history that is shown; undefined for one that was never shown. */
export function entryKey(): string | undefined {
  const state: unknown = history.state;
  if (typeof state !== 'object' || state === null || !('quark' in state)) return undefined;
  return typeof state.quark === 'string' ? state.quark : undefined;
}

/** Marks the entry that is shown, if it has no mark. */
export function markEntry(): void {
  current = entryKey() ?? Math.random().toString(36).slice(2);
  history.replaceState({ quark: current }, '');
}

/** Follows scrolling from now on, and goes where this entry was left, if it was shown before. */
export function followScrolling(): void {
  history.scrollRestoration = 'manual';
  addEventListener(
    'scroll',
    () => {
      lastY = scrollY;
    },
    { passive: true },
  );
  addEventListener('pagehide', () => {
    leave();
    try {
      const latest = [...positions].slice(-MAX_ENTRIES);
      sessionStorage.setItem(STORED_KEY, JSON.stringify(latest));
    } catch {
      // Without storage a reload begins at the top.
    }
  });
  restore(positions.get(current) ?? 0);
}

/** Leaves the entry that was shown for the one that the history has now: to its top, as it is, or as it was left. */
export function moveTo(how: 'top' | 'stay' | 'as before'): void {
  leave();
  markEntry();
  stopMoving();
  if (how === 'top') scrollTo(0, 0);
  if (how === 'as before') restore(positions.get(current) ?? 0);
}

function leave(): void {
  positions.delete(current);
  positions.set(current, lastY);
}

/** Scrolls to `y` once the page is long enough, unless somebody scrolls first. */
function restore(y: number): void {
  const until = performance.now() + PATIENCE_MS;
  const waiting = new AbortController();
  stopMoving = () => waiting.abort();
  for (const type of ['wheel', 'touchstart', 'keydown', 'pointerdown'])
    addEventListener(type, stopMoving, { signal: waiting.signal, passive: true });
  const attempt = (): void => {
    if (waiting.signal.aborted) return;
    const room = document.documentElement.scrollHeight - innerHeight;
    const isThere = room >= y;
    if (isThere || performance.now() > until) {
      scrollTo(0, Math.min(y, room));
      stopMoving();
    } else requestAnimationFrame(attempt);
  };
  // The page that is left is drawn until the next frame.
  requestAnimationFrame(attempt);
}

function stored(): Map<string, number> {
  const known = new Map<string, number>();
  try {
    const found: unknown = JSON.parse(sessionStorage.getItem(STORED_KEY) ?? '[]');
    if (!Array.isArray(found)) return known;
    for (const entry of found) {
      const [key, y]: readonly unknown[] = Array.isArray(entry) ? entry : [];
      if (typeof key === 'string' && typeof y === 'number') known.set(key, y);
    }
  } catch {
    // Nothing was stored that can be read.
  }
  return known;
}
