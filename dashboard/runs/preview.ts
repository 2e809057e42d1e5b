/** The loss curve in a row of the run list: read when the row comes into view, a few runs at a time. */
import { signal, type ReadonlySignal, type Signal } from '@preact/signals';
import type { RunSummary, Store } from 'quark-sdk';
import { SeriesPyramid } from 'quark-sdk/kernels';
import { onAxis } from '../charts/axis.ts';
import { lossKey } from '../charts/group.ts';
import { NO_EPOCHS } from '../series/epoch-scale.ts';
import { overviewSeries, readOverview } from '../series/overview.ts';
import { reduceSeries } from '../charts/reduce.ts';
import { getOrMake } from '../parts/maps.ts';
import {
  metricKeysOf,
  readInto,
  seriesReader,
  type Growing,
  type ReadSeries,
} from '../series/series-reader.ts';
import { SeriesSet, type SampleSeries } from '../series/series.ts';

/** What a row shows of a run's loss. */
export type RunPreview = {
  /** The metric that is shown, or undefined when the run has no loss. */
  readonly key: string | undefined;
  readonly last: number | undefined;
  /** Instant of the last point, epoch milliseconds. */
  readonly lastActivityMs: number | undefined;
  /** SVG path in a box of {@link SPARK_WIDTH} by {@link SPARK_HEIGHT}. */
  readonly path: string;
};

/** Size of the small curve. */
export const SPARK_WIDTH = 120;
export const SPARK_HEIGHT = 28;

const CONCURRENT_READS = 2;
const SPARK_BUCKETS = 60;
/** How often the small curve of a long run that goes on is made anew: the service reads all of it each time. */
const OVERVIEW_EVERY_MS = 15_000;

type Entry = Growing & {
  readonly preview: Signal<RunPreview | undefined>;
  key: string | undefined;
  /** When an overview replaced the samples, of which none are read then. */
  overviewAtMs: number | undefined;
  /** The state of the run when it was read last. */
  stamp: string;
  isQueued: boolean;
};

/** Previews of the runs of one store. */
export class PreviewCache {
  readonly #store: Store;
  readonly #readSeries: ReadSeries;
  readonly #entries = new Map<string, Entry>();
  readonly #queue: RunSummary[] = [];
  #activeCount = 0;
  /** Counts up with each preview that was read, for those who sort by it. */
  readonly version: Signal<number> = signal(0);

  constructor(store: Store) {
    this.#store = store;
    this.#readSeries = seriesReader(store);
  }

  /** The preview of a run: undefined until it was read. */
  of(runId: string): ReadonlySignal<RunPreview | undefined> {
    return this.#entry(runId).preview;
  }

  /** The last loss of a run, if it was read. */
  lossOf(runId: string): number | undefined {
    return this.#entries.get(runId)?.preview.peek()?.last;
  }

  /** Reads the preview if it is not there or the run went on since. */
  want(summary: RunSummary): void {
    const entry = this.#entry(summary.run.id);
    const stamp = `${summary.run.updatedAt} ${summary.effectiveStatus}`;
    if (entry.isQueued || (entry.stamp === stamp && !summary.isLive)) return;
    entry.isQueued = true;
    entry.stamp = stamp;
    this.#queue.push(summary);
    this.#pump();
  }

  #entry(runId: string): Entry {
    return getOrMake(this.#entries, runId, () => ({
      preview: signal(undefined),
      key: undefined,
      series: new SeriesSet(),
      overviewAtMs: undefined,
      next: 0,
      stamp: '',
      isQueued: false,
    }));
  }

  #pump(): void {
    while (this.#activeCount < CONCURRENT_READS) {
      const summary = this.#queue.shift();
      if (summary === undefined) return;
      this.#activeCount += 1;
      void this.#read(summary).finally(() => {
        this.#activeCount -= 1;
        this.#pump();
      });
    }
  }

  async #read({ run: { id: runId } }: RunSummary): Promise<void> {
    const entry = this.#entry(runId);
    try {
      entry.key ??= lossKey(await metricKeysOf(this.#store, runId, this.#readSeries));
      const { key, overviewAtMs } = entry;
      if (key === undefined) entry.preview.value = previewOf(undefined);
      else if (overviewAtMs === undefined || performance.now() - overviewAtMs >= OVERVIEW_EVERY_MS)
        entry.preview.value = previewOf(await this.#seriesOf(runId, key, entry));
    } catch {
      // A row without a curve is a row all the same; the run page says what is wrong. What was read before stays: the list says that it
      // may be out of date.
      entry.preview.value ??= previewOf(undefined);
      entry.stamp = '';
    } finally {
      entry.isQueued = false;
      this.version.value += 1;
    }
  }

  /** The overview of a long run, all samples of any other one. */
  async #seriesOf(
    runId: string,
    metricKey: string,
    entry: Entry,
  ): Promise<SampleSeries | undefined> {
    const isFresh = entry.next === 0;
    const overview = isFresh ? await readOverview(this.#store, runId, metricKey) : undefined;
    if (overview !== undefined) {
      entry.overviewAtMs = performance.now();
      const downsampled = new SeriesSet();
      downsampled.take(overviewSeries(overview).read);
      return downsampled.all()[0];
    }
    await readInto(entry, this.#readSeries, { runId, metricKey });
    return entry.series.get(metricKey);
  }
}

function previewOf(series: SampleSeries | undefined): RunPreview {
  if (series === undefined)
    return { key: undefined, last: undefined, lastActivityMs: undefined, path: '' };
  return {
    key: series.key,
    last: series.last?.value,
    lastActivityMs: series.last?.timeMs,
    path: sparkPath(series),
  };
}

/** The curve of a series as an SVG path; gaps where values are not finite. */
export function sparkPath(series: SampleSeries): string {
  const byStep = onAxis(series, 'step', 0, NO_EPOCHS);
  const points = byStep.xs.length > 0 ? byStep : onAxis(series, 'time', 0, NO_EPOCHS);
  const first = points.xs[0];
  const last = points.xs.at(-1);
  if (first === undefined || last === undefined || last <= first) return '';
  const pyramid = new SeriesPyramid();
  pyramid.extendTo(points.ys, points.xs);
  const reduced = reduceSeries(pyramid, { min: first, max: last }, SPARK_BUCKETS);
  const drawn = reduced.ys.filter((y) => y !== null);
  const low = Math.min(...drawn);
  const high = Math.max(...drawn);
  const height = high - low || 1;
  let path = '';
  let isDown = false;
  for (const [index, y] of reduced.ys.entries()) {
    if (y === null) {
      isDown = false;
      continue;
    }
    const left = (((reduced.xs[index] ?? first) - first) / (last - first)) * SPARK_WIDTH;
    const top = 1.5 + (1 - (y - low) / height) * (SPARK_HEIGHT - 3);
    path += `${isDown ? 'L' : 'M'}${left.toFixed(1)} ${top.toFixed(1)}`;
    isDown = true;
  }
  return path;
}
