/** Metrics of several runs, read as the runs grow. */
import { hasTimes, openRun, type RunReader, type Store } from 'quark-sdk';
import { groupMetrics, lossKey } from '../charts/group.ts';
import { countBy, getOrMake } from '../parts/maps.ts';
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

/** Most curves in one chart: more cannot be told apart. */
export const MAX_COMPARED = 24;
/** Most runs whose curves are read, where groups of them are one curve each. */
export const MAX_GROUPED = 120;

/** For how long it is taken for known how the runs stand. */
const FRESH_MS = 200;

/** Runs that are read at the same time. */
const AT_ONCE = 4;

type ComparedRun = { readonly reader: RunReader; keys: readonly string[] };

/** Metrics that are read together: those that somebody came to see at the same time. */
type MetricBatch = { readonly keys: ReadonlySet<string>; readonly runs: Map<string, Growing> };

/** Runs beside each other. */
export class CompareFeed {
  readonly #store: Store;
  readonly #readSeries: ReadSeries;
  #runIds: readonly string[] = [];
  readonly #runs = new Map<string, ComparedRun>();
  readonly #failures = new Map<string, unknown>();
  #batches: readonly MetricBatch[] = [];
  /** Metrics that are wanted; undefined: the loss that most runs have. */
  #wanted: ReadonlySet<string> | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #reloadedMs = Number.NEGATIVE_INFINITY;
  #names: ReadonlyMap<string, string> = new Map();
  /** Counts up whenever something came. */
  revision = 0;
  /** Of the last poll that ended: what came in between counts as well, and so does another choice of runs. */
  #toldRevision = 0;

  constructor(store: Store) {
    this.#store = store;
    this.#readSeries = seriesReader(store);
  }

  /** Which runs are read from now on: the first `most` of these. What is known of them already stays. */
  show(runIds: readonly string[], most: number = MAX_COMPARED): void {
    const wanted = runIds.slice(0, most);
    if (wanted.join() !== this.#runIds.join()) this.revision += 1;
    this.#runIds = wanted;
    for (const known of [this.#runs, this.#failures, ...this.#batches.map(({ runs }) => runs)])
      for (const runId of known.keys()) if (!this.#runIds.includes(runId)) known.delete(runId);
  }

  /** The metric of a single chart: the one asked for, else the loss that most runs have. Undefined until it is read. */
  get metric(): string | undefined {
    const [first] = this.#wanted ?? [];
    return first ?? this.#bestMetric();
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
  /** A metric of a run; undefined where it has none. By default that of a single chart. */
  get(runId: string, metric: string | undefined = this.metric): SampleSeries | undefined {
    return metric === undefined ? undefined : this.#seriesOf(runId, metric)?.get(metric);
  }
  /** Whether a metric has been asked for, and read of each run that is there. */
  isRead(metric: string): boolean {
    const runs = this.#batchOf(metric)?.runs;
    return runs !== undefined && this.runIds.every((runId) => runs.has(runId));
  }
  /** Where the curve of a run begins on the axes of time and epochs. */
  originOf(
    runId: string,
    metric: string | undefined = this.metric,
  ): { startMs: number; scale: SeriesSet['epochScale'] } {
    const run = this.#runs.get(runId);
    const series = metric === undefined ? undefined : this.#seriesOf(runId, metric);
    return {
      startMs: run === undefined ? 0 : Date.parse(run.reader.run.startedAt),
      scale: (series ?? new SeriesSet()).epochScale,
    };
  }
  /** From the first to the last point of these metrics of any run, or of all metrics that are read. */
  extent(axis: XAxis, metrics?: readonly string[]): PointRange {
    let min = Number.POSITIVE_INFINITY;
    let max = Number.NEGATIVE_INFINITY;
    const batches =
      metrics === undefined
        ? this.#batches
        : new Set(metrics.flatMap((metric) => this.#batchOf(metric) ?? []));
    for (const batch of batches)
      for (const [runId, { series }] of batch.runs) {
        const { startMs } = this.originOf(runId);
        const range = series.extent(axis, startMs, metrics);
        min = Math.min(min, range?.min ?? min);
        max = Math.max(max, range?.max ?? max);
      }
    return min <= max ? { min, max } : { min: 0, max: 1 };
  }

  /** Whether the points of a run lie on one vertical line of this axis, or nowhere on it, though another axis separates them. */
  isOneLine(runId: string, axis: XAxis): boolean {
    const hasPoints = this.#batches.some(
      ({ runs }) => (runs.get(runId)?.series.pointCount ?? 0) > 0,
    );
    return (
      hasPoints &&
      !this.#isSeparated(runId, axis) &&
      X_AXES.some((one) => this.#isSeparated(runId, one))
    );
  }

  /** Whether this axis separates the points of runs, and of as many of them as any axis does. */
  separates(axis: XAxis): boolean {
    const counts = X_AXES.map((one) => this.#runsOn(one));
    return this.#runsOn(axis) > 0 && this.#runsOn(axis) === Math.max(...counts);
  }

  /** Reads this metric alone from now on; undefined: the loss that most runs have. */
  choose(metric: string | undefined): void {
    this.#wanted = metric === undefined ? undefined : new Set([metric]);
    this.#batches = [];
    this.revision += 1;
  }

  /** Reads these metrics from now on, and those that were read before as long as one that is read with them is wanted. */
  want(metrics: ReadonlySet<string>): void {
    this.#wanted = metrics;
  }

  /** Reads what has come since. `onPart` is called between parts. True when something has. One reading waits for the one before. */
  poll(onPart: () => void = () => undefined): Promise<boolean> {
    const mine = this.#last.then(() => this.#poll(onPart));
    this.#last = mine.catch(() => undefined);
    return mine;
  }

  async #poll(onPart: () => void): Promise<boolean> {
    // A chart that comes on screen asks at once; what the runs are was read just before.
    const isFresh = performance.now() - this.#reloadedMs < FRESH_MS;
    const opened = isFresh ? this.#runIds.filter((id) => !this.#runs.has(id)) : this.#runIds;
    await inBatches(opened, async (runIds) => {
      await Promise.all(runIds.map((runId) => this.#open(runId)));
      await nextTurn();
    });
    if (!isFresh) this.#reloadedMs = performance.now();
    this.#names = runNames([...this.#runs.values()].map(({ reader }) => reader.run));
    for (const batch of this.#wantedBatches()) {
      await inBatches(this.runIds, (runIds) =>
        Promise.all(
          runIds.map(async (runId) => {
            const target = getOrMake(batch.runs, runId, () => ({
              series: new SeriesSet(),
              next: 0,
            }));
            await readInto(target, this.#readSeries, { runId, metricKeys: [...batch.keys] }, () => {
              this.revision += 1;
              onPart();
            });
          }),
        ),
      );
    }
    const hasNews = this.revision !== this.#toldRevision;
    this.#toldRevision = this.revision;
    return hasNews;
  }

  /** The batches of what is wanted; what nobody has wanted before becomes one of its own. */
  #wantedBatches(): readonly MetricBatch[] {
    const best = this.#wanted === undefined ? this.#bestMetric() : undefined;
    const wanted = this.#wanted ?? new Set(best === undefined ? [] : [best]);
    const known = new Set(this.#batches.flatMap(({ keys }) => [...keys]));
    const keys = new Set([...wanted].filter((key) => !known.has(key)));
    if (keys.size > 0) {
      this.#batches = [...this.#batches, { keys, runs: new Map() }];
      this.revision += 1;
    }
    return this.#batches.filter((batch) => [...batch.keys].some((key) => wanted.has(key)));
  }

  #batchOf(metric: string): MetricBatch | undefined {
    return this.#batches.find(({ keys }) => keys.has(metric));
  }

  #seriesOf(runId: string, metric: string): SeriesSet | undefined {
    return this.#batchOf(metric)?.runs.get(runId)?.series;
  }

  async #open(runId: string): Promise<void> {
    try {
      let run = this.#runs.get(runId);
      if (run === undefined) {
        const reader = await openRun(this.#store, runId);
        run = { reader, keys: [] };
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
    return this.#batches.some(({ runs }) => runs.get(runId)?.series.separates(axis) === true);
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
