/** One metric of several runs, read as the runs grow. */
import { hasTimes, openRun, type RunReader, type Store } from 'quark-sdk';
import { groupMetrics, lossKey } from '../charts/group.ts';
import { countBy } from '../parts/maps.ts';
import { runNames } from '../parts/run-name.ts';
import {
  metricKeysOf,
  readInto,
  seriesReader,
  type Growing,
  type ReadSeries,
} from '../series/series-reader.ts';
import {
  SeriesSet,
  X_AXES,
  type PointRange,
  type SampleSeries,
  type XAxis,
} from '../series/series.ts';
import { nextTurn } from '../parts/turns.ts';

/** Most runs in one chart: more cannot be told apart. */
export const MAX_COMPARED = 24;

/** Runs that are read at the same time. */
const AT_ONCE = 4;

type ComparedRun = Growing & { readonly reader: RunReader; keys: readonly string[] };

/** Runs beside each other. */
export class CompareFeed {
  readonly #store: Store;
  readonly #readSeries: ReadSeries;
  #runIds: readonly string[] = [];
  readonly #runs = new Map<string, ComparedRun>();
  readonly #failures = new Map<string, unknown>();
  #metric: string | undefined;
  #wanted: string | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #names: ReadonlyMap<string, string> = new Map();
  /** Counts up whenever something came. */
  revision = 0;
  /** Of the last poll that ended: what came in between counts as well, and so does another choice of runs. */
  #toldRevision = 0;

  constructor(store: Store) {
    this.#store = store;
    this.#readSeries = seriesReader(store);
  }

  /** Which runs are read from now on: the first {@link MAX_COMPARED} of these. What is known of them already stays. */
  show(runIds: readonly string[]): void {
    const wanted = runIds.slice(0, MAX_COMPARED);
    if (wanted.join() !== this.#runIds.join()) this.revision += 1;
    this.#runIds = wanted;
    for (const known of [this.#runs, this.#failures])
      for (const runId of known.keys()) if (!this.#runIds.includes(runId)) known.delete(runId);
  }

  /** The metric that is read: the one asked for, else the loss that most runs have. */
  get metric(): string | undefined {
    return this.#metric;
  }
  /** Ids of the runs that are there, in the order asked for. */
  get runIds(): readonly string[] {
    return this.#runIds.filter((runId) => this.#runs.has(runId));
  }
  /** Runs that could not be opened, and why. */
  get failures(): ReadonlyMap<string, unknown> {
    return this.#failures;
  }
  /** Metrics of any run, the telling ones first, with the number of runs that have them. */
  get metrics(): readonly { readonly key: string; readonly runCount: number }[] {
    const keys = [...this.#runs.values()].flatMap((run) => run.keys);
    const counts = countBy(keys, (key) => key);
    return groupMetrics([...counts.keys()])
      .flatMap((group) => group.keys)
      .map((key) => ({ key, runCount: counts.get(key) ?? 0 }));
  }
  /** What a run is called beside the others. */
  nameOf(runId: string): string {
    return this.#names.get(runId) ?? runId;
  }
  /** The metric of a run; undefined where it has none. */
  get(runId: string): SampleSeries | undefined {
    return this.#metric === undefined ? undefined : this.#runs.get(runId)?.series.get(this.#metric);
  }
  /** Where the curve of a run begins on the axes of time and epochs. */
  originOf(runId: string): { startMs: number; scale: SeriesSet['epochScale'] } {
    const run = this.#runs.get(runId);
    return {
      startMs: run === undefined ? 0 : Date.parse(run.reader.run.startedAt),
      scale: (run?.series ?? new SeriesSet()).epochScale,
    };
  }
  /** From the first to the last point of any run. */
  extent(axis: XAxis): PointRange {
    let min = Number.POSITIVE_INFINITY;
    let max = Number.NEGATIVE_INFINITY;
    for (const [runId, { series }] of this.#runs) {
      const range = series.extent(axis, this.originOf(runId).startMs);
      min = Math.min(min, range?.min ?? min);
      max = Math.max(max, range?.max ?? max);
    }
    return min <= max ? { min, max } : { min: 0, max: 1 };
  }

  /** Whether the points of a run lie on one vertical line of this axis, or nowhere on it, though another axis separates them. */
  isOneLine(runId: string, axis: XAxis): boolean {
    const { pointCount = 0 } = this.#runs.get(runId)?.series ?? {};
    return (
      pointCount > 0 &&
      !this.#isSeparated(runId, axis) &&
      X_AXES.some((one) => this.#isSeparated(runId, one))
    );
  }

  /** Whether this axis separates the points of runs, and of as many of them as any axis does. */
  separates(axis: XAxis): boolean {
    const counts = X_AXES.map((one) => this.#runsOn(one));
    return this.#runsOn(axis) > 0 && this.#runsOn(axis) === Math.max(...counts);
  }

  /** Reads this metric from now on; undefined: the loss that most runs have. */
  choose(metric: string | undefined): void {
    this.#wanted = metric;
  }

  /** Reads what has come since. `onPart` is called between parts. True when something has. One reading waits for the one before. */
  poll(onPart: () => void = () => undefined): Promise<boolean> {
    const mine = this.#last.then(() => this.#poll(onPart));
    this.#last = mine.catch(() => undefined);
    return mine;
  }

  async #poll(onPart: () => void): Promise<boolean> {
    await inBatches(this.#runIds, async (runIds) => {
      await Promise.all(runIds.map((runId) => this.#open(runId)));
      await nextTurn();
    });
    this.#names = runNames([...this.#runs.values()].map(({ reader }) => reader.run));
    const metric = this.#wanted ?? this.#bestMetric();
    if (metric !== this.#metric) {
      this.#metric = metric;
      for (const run of this.#runs.values()) {
        run.series = new SeriesSet();
        run.next = 0;
      }
      this.revision += 1;
    }
    if (metric !== undefined)
      await inBatches([...this.#runs.values()], (runs) =>
        Promise.all(
          runs.map((run) =>
            readInto(run, this.#readSeries, { runId: run.reader.run.id, metricKey: metric }, () => {
              this.revision += 1;
              onPart();
            }),
          ),
        ),
      );
    const hasNews = this.revision !== this.#toldRevision;
    this.#toldRevision = this.revision;
    return hasNews;
  }

  async #open(runId: string): Promise<void> {
    try {
      let run = this.#runs.get(runId);
      if (run === undefined) {
        const reader = await openRun(this.#store, runId);
        run = { reader, keys: [], series: new SeriesSet(), next: 0 };
        this.#runs.set(runId, run);
        this.#failures.delete(runId);
        this.revision += 1;
      } else await run.reader.reload();
      const keys = await metricKeysOf(this.#store, runId, this.#readSeries);
      if (keys.length !== run.keys.length) {
        run.keys = keys;
        this.revision += 1;
      }
    } catch (error) {
      if (this.#runs.has(runId)) return;
      if (!this.#failures.has(runId)) this.revision += 1;
      this.#failures.set(runId, error);
    }
  }

  #runsOn(axis: XAxis): number {
    return [...this.#runs.keys()].filter((runId) => this.#isSeparated(runId, axis)).length;
  }

  /** Imported files without times have instants all the same, which say nothing. */
  #isSeparated(runId: string, axis: XAxis): boolean {
    const run = this.#runs.get(runId);
    if (run === undefined || (axis === 'time' && !hasTimes(run.reader.run))) return false;
    return run.series.separates(axis);
  }

  /** A loss that half of the runs have at least, else what most have. */
  #bestMetric(): string | undefined {
    const all = this.metrics;
    const most = Math.max(0, ...all.map(({ runCount }) => runCount));
    const keysOfMany = (count: number): readonly string[] =>
      all.filter(({ runCount }) => runCount >= count).map(({ key }) => key);
    return (
      lossKey(keysOfMany(most)) ?? lossKey(keysOfMany(this.#runs.size / 2)) ?? keysOfMany(most)[0]
    );
  }
}

/** Does the work on {@link AT_ONCE} items at a time. */
async function inBatches<T>(
  items: readonly T[],
  work: (batch: readonly T[]) => Promise<unknown>,
): Promise<void> {
  for (let at = 0; at < items.length; at += AT_ONCE) await work(items.slice(at, at + AT_ONCE));
}
