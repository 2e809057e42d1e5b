/** The small curves of lists, of stores that have them at hand: their runs need not be read for a list. */
import type { Store } from 'quark-sdk';

/** A small curve. NaN is a gap. */
export type Sparkline = {
  readonly key: string;
  readonly steps: readonly number[];
  readonly values: readonly number[];
};

/** The curves of a metric of some runs, of the first loss for `''`. A run without one is left out. */
export type ReadSmallCurves = (
  runIds: readonly string[],
  metric: string,
) => Promise<ReadonlyMap<string, Sparkline>>;

const offered = new WeakMap<Store, ReadSmallCurves>();

/** From now on the small curves of this store are read by `read`. */
export function offerSmallCurves(store: Store, read: ReadSmallCurves): void {
  offered.set(store, read);
}

/** The reader of small curves that was offered for a store. */
export function offeredSmallCurves(store: Store): ReadSmallCurves | undefined {
  return offered.get(store);
}
