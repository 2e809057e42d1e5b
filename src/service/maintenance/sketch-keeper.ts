/**
 * Sees to it that long runs have a sketch before anybody looks at them: once a run has ended, or pauses after many rows. What comes to
 * rest nowhere is sketched where its segments are merged, and by those who look.
 */
import { systemClock, type Clock } from '../../base/clock.ts';
import { isQuarkError } from '../../base/errors.ts';
import { metricTable } from '../../records/metric.ts';
import { metricSegments, refreshSketch } from '../../read/curves.ts';
import type { SegmentManifest } from '../../store/store.ts';
import { lastingStoreOf, type StoreScope } from '../http/handler-options.ts';

/** A run with so many rows through this process gets a sketch. */
const MANY_ROWS = 65_536;
/** How long a run has to be quiet. Writers flush more often while they train. */
const QUIET_MS = 1_000;
/** Runs that are watched, those written to last. */
const MAX_RUNS = 10_000;
/** A run that was gone through for nothing is left alone until it has grown by so much. */
const GROWTH = 2;

type Watched = {
  scope: StoreScope;
  readonly runId: string;
  rows: number;
  undo: () => void;
};

/** Works on one run at a time. */
export class SketchKeeper {
  readonly #clock: Clock;
  readonly #onFailure: (error: unknown) => void;
  readonly #stop = new AbortController();
  readonly #runs = new Map<string, Watched>();
  /** Rows of runs whose sketch could not be stored. */
  readonly #inVain = new Map<string, number>();
  #last: Promise<void> = Promise.resolve();

  constructor(clock: Clock = systemClock, onFailure: (error: unknown) => void = () => undefined) {
    this.#clock = clock;
    this.#onFailure = onFailure;
  }

  /** Tells of segments that were appended. */
  appended(scope: StoreScope, segments: readonly SegmentManifest[]): void {
    for (const { runId, table, rowCount } of segments)
      if (table === metricTable.table) this.#watch(scope, runId, rowCount, QUIET_MS);
  }

  /** Tells that a run has ended: its last rows are there, or about to be. */
  ended(scope: StoreScope, runId: string): void {
    this.#watch(scope, runId, 0, 0);
  }

  end(): void {
    this.#stop.abort();
    for (const { undo } of this.#runs.values()) undo();
    this.#runs.clear();
  }

  #watch(scope: StoreScope, runId: string, rows: number, waitMs: number): void {
    const { feed, notes } = scope;
    if (notes === undefined || feed === undefined || this.#stop.signal.aborted) return;
    const name = `${feed.space}\n${runId}`;
    const run = this.#runs.get(name) ?? { scope, runId, rows: 0, undo: () => undefined };
    // The last writer stands last.
    this.#runs.delete(name);
    this.#runs.set(name, run);
    run.scope = scope;
    run.rows += rows;
    run.undo();
    run.undo = () => undefined;
    if (run.rows >= MANY_ROWS || waitMs === 0)
      run.undo = this.#clock.after(waitMs, () => {
        this.#runs.delete(name);
        this.#last = this.#last.then(() => this.#refresh(name, run));
      });
    for (const [oldest, { undo }] of this.#runs) {
      if (this.#runs.size <= MAX_RUNS) break;
      undo();
      this.#runs.delete(oldest);
    }
  }

  async #refresh(name: string, { scope, runId }: Watched): Promise<void> {
    const { signal } = this.#stop;
    const { notes } = scope;
    const store = lastingStoreOf(scope);
    if (signal.aborted) return;
    try {
      const listed = await metricSegments(store, runId);
      const rowCount = listed.reduce((sum, one) => sum + one.rowCount, 0);
      const use = rowCount < GROWTH * (this.#inVain.get(name) ?? 0) ? 'extend' : 'make';
      const onFailure = this.#onFailure;
      const found = await refreshSketch(store, runId, { listed, notes, signal, onFailure, use });
      if (use === 'extend') return;
      this.#inVain.delete(name);
      if (found?.isStored === false) this.#inVain.set(name, rowCount);
      const [oldest] = this.#inVain.keys();
      if (this.#inVain.size > MAX_RUNS && oldest !== undefined) this.#inVain.delete(oldest);
    } catch (error) {
      // A run that is gone, or that its writer may no longer see, needs no sketch.
      if (!signal.aborted && !isQuarkError(error, 'run_not_found')) this.#onFailure(error);
    }
  }
}
