/** Time as it is handed in, so that tests can turn it. */
export interface Clock {
  /** The instant, in UTC epoch milliseconds. */
  now(): number;
  /** Calls back once after `delayMs`; returns the undo. A pending timer never keeps a Node process alive. */
  after(delayMs: number, callback: () => void): () => void;
}

/** A day, in milliseconds. */
export const DAY_MS = 86_400_000;

/** Longer delays fire at once. */
const MAX_DELAY_MS = 2 ** 31 - 1;

/** The clock of the machine. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after(delayMs, callback) {
    const timer: unknown = setTimeout(callback, Math.min(delayMs, MAX_DELAY_MS));
    if (
      typeof timer === 'object' &&
      timer !== null &&
      'unref' in timer &&
      typeof timer.unref === 'function'
    ) {
      timer.unref();
    }
    return () => clearTimeout(timer as ReturnType<typeof setTimeout>);
  },
};
