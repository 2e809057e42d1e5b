/** The small curves of a column: read for the rows on screen, many in a request, and again while a run goes on. */
import { signal, type ReadonlySignal, type Signal } from '@preact/signals';
import { getOrMake } from '../../parts/maps.ts';
import type { ReadSmallCurves, Sparkline } from '../../series/small-curves.ts';

/** Size of a small curve. */
export const SPARK_WIDTH = 120;
export const SPARK_HEIGHT = 26;

/** What a row shows of a metric. */
export type SmallCurve = {
  /** The metric; undefined where the run has none. */
  readonly key: string | undefined;
  readonly last: number | undefined;
  /** SVG path in a box of {@link SPARK_WIDTH} by {@link SPARK_HEIGHT}. */
  readonly path: string;
};

const NO_CURVE: SmallCurve = { key: undefined, last: undefined, path: '' };
/** So many curves are read in a request. */
const BATCH = 50;
/** How often the curve of a run that goes on is read again. */
const LIVE_EVERY_MS = 4000;

type Entry = {
  readonly curve: Signal<SmallCurve | undefined>;
  stamp: string;
  readAtMs: number;
};

/** The curves of the runs of one store. */
export class CurveCache {
  readonly #read: ReadSmallCurves;
  readonly #entries = new Map<string, Entry>();
  readonly #queue = new Map<string, { readonly runId: string; readonly metric: string }>();
  #isReading = false;

  constructor(read: ReadSmallCurves) {
    this.#read = read;
  }

  /** The curve of a metric of a run, of its first loss for `''`: undefined until it was read. */
  of(runId: string, metric: string): ReadonlySignal<SmallCurve | undefined> {
    return this.#entry(runId, metric).curve;
  }

  /** Reads the curve if it is not there, or the run went on since. */
  want(
    run: { readonly id: string; readonly stamp: string; readonly isLive: boolean },
    metric: string,
  ): void {
    const entry = this.#entry(run.id, metric);
    const isOld = run.isLive && performance.now() - entry.readAtMs > LIVE_EVERY_MS;
    if (entry.stamp === run.stamp && !isOld) return;
    entry.stamp = run.stamp;
    entry.readAtMs = performance.now();
    this.#queue.set(keyOf(run.id, metric), { runId: run.id, metric });
    // Rows that are drawn together are read together.
    queueMicrotask(() => void this.#pump());
  }

  #entry(runId: string, metric: string): Entry {
    return getOrMake(this.#entries, keyOf(runId, metric), () => ({
      curve: signal(undefined),
      stamp: '',
      readAtMs: Number.NEGATIVE_INFINITY,
    }));
  }

  async #pump(): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    // Rows that were scrolled by are not worth waiting for: the last ones that were asked for come first.
    while (this.#queue.size > 0) {
      const [{ metric } = { metric: '' }] = [...this.#queue.values()].slice(-1);
      const wanted = [...this.#queue].filter(([, one]) => one.metric === metric).slice(-BATCH);
      for (const [key] of wanted) this.#queue.delete(key);
      const runIds = wanted.map(([, { runId }]) => runId);
      try {
        const found = await this.#read(runIds, metric);
        for (const runId of runIds)
          this.#entry(runId, metric).curve.value = smallCurve(found.get(runId));
      } catch {
        // A row without a curve is a row all the same; the page of the run says what is wrong. What was read before stays.
        for (const runId of runIds) {
          const entry = this.#entry(runId, metric);
          entry.curve.value ??= NO_CURVE;
          entry.stamp = '';
        }
      }
    }
    this.#isReading = false;
  }
}

function keyOf(runId: string, metric: string): string {
  return `${runId} ${metric}`;
}

function smallCurve(line: Sparkline | undefined): SmallCurve {
  if (line === undefined) return NO_CURVE;
  return { key: line.key, last: line.values.at(-1), path: sparkPath(line) };
}

/** A curve as an SVG path; gaps where values are not finite. */
export function sparkPath({ steps, values }: Pick<Sparkline, 'steps' | 'values'>): string {
  const first = steps[0] ?? 0;
  const span = (steps.at(-1) ?? first) - first;
  const finite = values.filter((value) => Number.isFinite(value));
  if (!(span > 0) || finite.length === 0) return '';
  const low = Math.min(...finite);
  const height = Math.max(...finite) - low || 1;
  let path = '';
  let isDown = false;
  for (const [at, value] of values.entries()) {
    if (!Number.isFinite(value)) {
      isDown = false;
      continue;
    }
    const left = (((steps[at] ?? first) - first) / span) * SPARK_WIDTH;
    const top = 1.5 + (1 - (value - low) / height) * (SPARK_HEIGHT - 3);
    path += `${isDown ? 'L' : 'M'}${left.toFixed(1)} ${top.toFixed(1)}`;
    isDown = true;
  }
  return path;
}
