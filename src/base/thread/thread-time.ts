/**
 * What Quark takes of the thread it runs on, by part: the one account that budgets, pages and diagnostics read. It counts while somebody
 * asks for it, and only ever grows; readers compare two moments.
 */

/** Parts of what Quark does on a training thread. */
export const OVERHEAD_PARTS = [
  'callback',
  'log',
  'flush',
  'batches',
  'telemetry',
  'probes',
] as const;
/** One of {@link OVERHEAD_PARTS}. */
export type OverheadPart = (typeof OVERHEAD_PARTS)[number];

/**
 * Calls of which one is measured, where a call takes little more than reading the clock. A prime: a loop that makes four calls a step has
 * each of them measured in turn.
 */
const SAMPLED = 17;

type ThreadTime = {
  /** Milliseconds so far; parts that have taken none are missing. */
  readonly spentMs: { [P in OverheadPart]?: number };
  /** All of them. */
  totalMs: number;
  /** Who reads the account now: calls that are measured by sample are not measured for nobody. */
  readers: number;
  /**
   * Share of the time that a writer may take for flushes of full batches, which wait for the end of their interval otherwise; undefined
   * where nobody has set a budget.
   */
  flushShare?: number | undefined;
};

export const threadTime: ThreadTime = { spentMs: {}, totalMs: 0, readers: 0 };

/** Counts time of a part. */
export function addTime(part: OverheadPart, ms: number): void {
  threadTime.spentMs[part] = spentMs(part) + ms;
  threadTime.totalMs += ms;
}

/** Milliseconds of a part so far. */
export function spentMs(part: OverheadPart): number {
  return threadTime.spentMs[part] ?? 0;
}

/** Counts what has passed since a moment, less what other parts have counted since then, when `totalMs` was `countedMs`. */
export function addSince(part: OverheadPart, beganMs: number, countedMs: number, times = 1): void {
  addTime(part, times * (performance.now() - beganMs - (threadTime.totalMs - countedMs)));
}

/** Measures work, less what is measured of other parts in it. `times`: as often as it counts. */
export function measured<T>(part: OverheadPart, work: () => T, times = 1): T {
  const began = performance.now();
  const { totalMs } = threadTime;
  try {
    return work();
  } finally {
    addSince(part, began, totalMs, times);
  }
}

let calls = 0;

/** Runs one call of many that take little more than reading the clock: one of several is measured, and stands for the others. */
export function sampled<T>(part: OverheadPart, work: () => T): T {
  return calls++ % SAMPLED > 0 ? work() : measured(part, work, SAMPLED);
}
