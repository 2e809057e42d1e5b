/**
 * Thinning: of each metric of an ended run at most so many samples stay, with their exact values, steps and times. A segment replaces
 * those with the rows: it has what is left, stands for the same batches, and says how many rows are gone (`droppedRows`), to how many
 * of a metric it was downsampled (`downsampledTo`) and when. What is sent again is known by its batches and brings nothing back.
 *
 * What is to be done follows from the rows that are there. So a run that was downsampled has nothing left to do, and one whose thinning
 * was cut off is finished by the next attempt.
 */
import { checkNotAborted } from '../base/assert.ts';
import { jsDraw } from '../kernel/series/draw/draw-js.ts';
import { keyColumn, readMetricColumns, type MetricColumns } from '../read/metric-columns.ts';
import { segmentFor } from '../read/row-deletion.ts';
import { tableBatches } from '../read/table-batches.ts';
import { metricTable } from '../records/metric.ts';
import type { RowBatch } from '../codecs/arrow/vectors.ts';
import { batchBytes, concatBatches, gatherRows } from '../segment/batch-ops.ts';
import { SEQUENCE_COLUMN } from '../segment/encode.ts';
import { groupSegments } from '../segment/group-segments.ts';
import { openSegment, type OpenedSegment } from '../segment/open-segment.ts';
import type { SegmentManifest, Store } from '../store/store.ts';
import { mergeableSegments } from '../store/unsent.ts';

/** Fewest samples of a metric that thinning leaves: the four of one bucket, and a mark of each kind in each gap between them. */
export const MIN_POINTS = 20;

const { table: TABLE } = metricTable;
/** Samples of metrics that are chosen from at a time, unless one metric has more: some 100 MB. */
const CHOSEN_ROWS = 1 << 21;
/** Rows and bytes that are read at a time. */
const READ_GROUP = { rows: 1 << 16, bytes: 8 << 20 };
/** Rows and bytes that are left of the segments which are replaced at once. */
const LEFT_ROWS = 1 << 17;
const LEFT_BYTES = 16 << 20;
/** Attempts while others merge. */
const MAX_ATTEMPTS = 8;

/** Rows of the metrics of a run, now and when no metric has more than so many. */
export type RowsLeft = { readonly before: number; readonly after: number };

/** How many samples each metric has. Where some cannot be read they are not counted, and `isDamaged` is true. */
export type SampleCounts = {
  readonly counts: ReadonlyMap<string, number>;
  readonly isDamaged: boolean;
};

/**
 * Counts the samples of each metric. Where manifests say already that no metric has more than `points`, nothing is read and the counts
 * are empty.
 */
export async function countSamples(
  store: Store,
  runId: string,
  points: number,
  signal?: AbortSignal,
): Promise<SampleCounts> {
  const counts = new Map<string, number>();
  if (!mayExceed(await store.listSegments({ runId, table: TABLE }), points))
    return { counts, isDamaged: false };
  let isDamaged = false;
  const onDamage = (): void => {
    isDamaged = true;
  };
  for await (const batch of tableBatches(store, metricTable, runId, { signal, onDamage })) {
    const { dictionary, indices } = keyColumn(batch);
    for (let row = 0; row < batch.rowCount; row++) {
      const key = dictionary[indices[row] ?? -1] ?? '';
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
  }
  return { counts, isDamaged };
}

/** What thinning would leave, at most; undefined where no metric has more than `points`. */
export function rowsLeft({ counts }: SampleCounts, points: number): RowsLeft | undefined {
  const all = [...counts.values()];
  if (all.every((count) => count <= points)) return undefined;
  return {
    before: all.reduce((sum, count) => sum + count, 0),
    after: all.reduce((sum, count) => sum + Math.min(count, points), 0),
  };
}

/** By how many samples a metric could have: a segment that lists its keys has no others. */
function mayExceed(manifests: readonly SegmentManifest[], points: number): boolean {
  const bounds = new Map<string, number>();
  let unlisted = 0;
  for (const { keys, rowCount } of manifests) {
    if (keys === null) unlisted += rowCount;
    for (const key of keys ?? []) bounds.set(key, (bounds.get(key) ?? 0) + rowCount);
  }
  return Math.max(0, ...bounds.values()) + unlisted > points;
}

/** How a run is downsampled. */
export type ThinOptions = {
  /** Samples of a metric that stay at most, {@link MIN_POINTS} or more. */
  readonly points: number;
  /** What the segments say of when it was done; UTC epoch milliseconds. */
  readonly nowMs: number;
  readonly signal?: AbortSignal | undefined;
  /** Rows that are left of the segments which are replaced at once. Tests ask for fewer. Default 131,072. */
  readonly leftRows?: number | undefined;
};

/**
 * Thins the metrics of a run that has no live session. Of each metric with more than `points` samples, in the order of their steps,
 * the first, lowest, highest and last of each of so many equal parts stay, and marks of those that are not finite between them.
 *
 * Segments are exchanged in groups, each in one transaction, and nearly always all in one.
 *
 * @returns the rows before and after; or why it was not done, in words
 * @throws {QuarkError} `aborted`
 */
export async function thinMetrics(
  store: Store,
  runId: string,
  options: ThinOptions,
): Promise<RowsLeft | string> {
  const { points, signal } = options;
  if (store.deleteTable !== undefined)
    return 'it is behind a service, which thins the runs of its spaces itself by the rules that are stored there';
  const all = await store.listSegments({ runId, table: TABLE });
  if ((await mergeableSegments(store, runId, TABLE)).segments.length < all.length)
    return 'it has rows that were not sent yet';
  const counted = await countSamples(store, runId, points, signal);
  if (counted.isDamaged) return 'some of its metrics cannot be read';
  const chosen = await chooseOfRun(store, runId, points, { counted, signal });
  if (chosen === undefined) return 'some of its metrics cannot be read';
  const before = [...counted.counts.values()].reduce((sum, count) => sum + count, 0);
  let dropped = 0;
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const done = await exchange(store, runId, chosen, options);
    dropped += done.dropped;
    if (done.isDone) return { before, after: before - dropped };
  }
  return 'its metrics were merged again and again meanwhile';
}

/** Sequence numbers of the samples of a metric that stay, of those up to `last`. */
type ChosenSamples = { readonly last: number; readonly sequences: ReadonlySet<number> };

/** By metric, for those with more samples than stay; undefined where some cannot be read. */
async function chooseOfRun(
  store: Store,
  runId: string,
  points: number,
  { counted, signal }: { readonly counted: SampleCounts; readonly signal: AbortSignal | undefined },
): Promise<ReadonlyMap<string, ChosenSamples> | undefined> {
  const chosen = new Map<string, ChosenSamples>();
  for (const metricKeys of groupKeys(counted.counts, points)) {
    checkNotAborted(signal);
    const columns = await readMetricColumns({ store, runId }, { metricKeys });
    if (columns.damage.length > 0) return undefined;
    for (const [at, rows] of rowsByKey(columns).entries()) {
      const staying = chooseSamples(columns, rows, points);
      const sequences = new Set(Array.from(staying, (row) => columns.sequences[row] ?? -1));
      chosen.set(columns.keys[at] ?? '', { last: columns.lastSequence, sequences });
    }
  }
  return chosen;
}

/** Metrics with more samples than stay, in groups that fit into memory. */
function groupKeys(counts: ReadonlyMap<string, number>, points: number): readonly string[][] {
  const groups: string[][] = [];
  let room = 0;
  for (const [key, count] of counts) {
    if (count <= points) continue;
    const last = groups.at(-1);
    if (last !== undefined && count <= room) last.push(key);
    else {
      groups.push([key]);
      room = CHOSEN_ROWS;
    }
    room -= count;
  }
  return groups;
}

function rowsByKey({ keyIndex, keys }: MetricColumns): readonly Uint32Array[] {
  const sizes = new Uint32Array(keys.length);
  for (const key of keyIndex) sizes[key] = (sizes[key] ?? 0) + 1;
  const rows = Array.from(sizes, (size) => new Uint32Array(size));
  sizes.fill(0);
  for (const [row, key] of keyIndex.entries()) {
    const at = sizes[key] ?? 0;
    const own = rows[key];
    if (own !== undefined) own[at] = row;
    sizes[key] = at + 1;
  }
  return rows;
}

/** Columns that samples are chosen by. */
type Samples = Pick<MetricColumns, 'sequences' | 'steps' | 'timesMs' | 'values'>;

/**
 * Which of the rows of a metric stay: at most `points`, and all where there are no more. Rows are taken by step, those without one by
 * time after them, and cut into parts with the same number of rows, as many as the bound allows.
 */
export function chooseSamples(samples: Samples, rows: Uint32Array, points: number): Uint32Array {
  if (rows.length <= points) return rows;
  const ordered = rows.toSorted((a, b) => compareSamples(samples, a, b));
  const values = Float64Array.from(ordered, (row) => samples.values[row] ?? Number.NaN);
  for (let buckets = Math.floor(points / 4); ;) {
    const { indices, nonFiniteIndices } = jsDraw.m4(values, { buckets });
    const count = indices.length + nonFiniteIndices.length;
    if (count <= points)
      return Uint32Array.from([...indices, ...nonFiniteIndices], (at) => ordered[at] ?? 0);
    buckets = Math.max(1, Math.min(buckets - 1, Math.floor((buckets * points) / count)));
  }
}

function compareSamples({ sequences, steps, timesMs }: Samples, a: number, b: number): number {
  const [stepA, stepB] = [steps[a] ?? Number.NaN, steps[b] ?? Number.NaN];
  const hasStep = Number(Number.isNaN(stepA)) - Number(Number.isNaN(stepB));
  if (hasStep !== 0) return hasStep;
  const by = Number.isNaN(stepA) ? (timesMs[a] ?? 0) - (timesMs[b] ?? 0) : stepA - stepB;
  return by || (sequences[a] ?? 0) - (sequences[b] ?? 0);
}

type Exchanged = { readonly dropped: number; readonly isDone: boolean };

/** Replaces the segments that have rows which do not stay. */
async function exchange(
  store: Store,
  runId: string,
  chosen: ReadonlyMap<string, ChosenSamples>,
  options: ThinOptions,
): Promise<Exchanged> {
  const segments = await store.listSegments({ runId, table: TABLE });
  const waiting = new WaitingSegments(store, runId, options);
  for (const group of groupSegments(segments, READ_GROUP)) {
    checkNotAborted(options.signal);
    const reads = await store.readSegments(group);
    for (const [i, manifest] of group.entries()) {
      const result = await openSegment(metricTable, manifest, reads[i] ?? { kind: 'gone' });
      if (result.kind === 'gone') return { dropped: waiting.dropped, isDone: false };
      if (result.kind === 'damaged') continue;
      const { batch, sequences } = result.segment;
      const order = stayingRows(result.segment, chosen);
      if (order.length === batch.rowCount) continue;
      const columns = new Map(batch.columns);
      columns.set(SEQUENCE_COLUMN, { kind: 'number', values: sequences });
      const rest = gatherRows({ rowCount: batch.rowCount, columns }, order);
      if (!(await waiting.add(manifest, rest))) return { dropped: waiting.dropped, isDone: false };
    }
  }
  const isDone = await waiting.flush();
  return { dropped: waiting.dropped, isDone };
}

function stayingRows(
  { batch, sequences }: OpenedSegment,
  chosen: ReadonlyMap<string, ChosenSamples>,
): Int32Array {
  const { dictionary, indices } = keyColumn(batch);
  const byKey = dictionary.map((key) => chosen.get(key));
  const withoutKey = chosen.get('');
  return Int32Array.from({ length: batch.rowCount }, (_, row) => row).filter((row) => {
    const index = indices[row] ?? -1;
    const samples = index < 0 ? withoutKey : byKey[index];
    const sequence = sequences[row] ?? 0;
    // A row that has arrived since the samples were chosen was not judged.
    return samples === undefined || sequence > samples.last || samples.sequences.has(sequence);
  });
}

/** Segments that wait until they are replaced by what is left of them. */
class WaitingSegments {
  readonly #store: Store;
  readonly #runId: string;
  readonly #options: ThinOptions;
  #manifests: SegmentManifest[] = [];
  #rest: RowBatch[] = [];
  #rows = 0;
  #bytes = 0;
  /** Rows that are gone so far. */
  dropped = 0;

  constructor(store: Store, runId: string, options: ThinOptions) {
    this.#store = store;
    this.#runId = runId;
    this.#options = options;
  }

  /** False when somebody else has merged one of them. */
  async add(manifest: SegmentManifest, rest: RowBatch): Promise<boolean> {
    const bytes = batchBytes(rest);
    const { leftRows = LEFT_ROWS } = this.#options;
    const isFull = this.#rows + rest.rowCount > leftRows || this.#bytes + bytes > LEFT_BYTES;
    if (isFull && !(await this.flush())) return false;
    this.#manifests.push(manifest);
    this.#rest.push(rest);
    this.#rows += rest.rowCount;
    this.#bytes += bytes;
    return true;
  }

  /** False when somebody else has merged one of them. */
  async flush(): Promise<boolean> {
    const manifests = this.#manifests;
    if (manifests.length === 0) return true;
    const filled = this.#rest.filter(({ rowCount }) => rowCount > 0);
    const rows = filled.length === 0 ? { rowCount: 0, columns: new Map() } : concatBatches(filled);
    const { bytes, manifest } = segmentFor(metricTable, manifests, rows);
    const { nowMs, points } = this.#options;
    const downsampled = { ...manifest, downsampledTo: points, downsampledAtMs: Math.floor(nowMs) };
    const before = manifests.reduce((sum, { rowCount }) => sum + rowCount, 0);
    this.#manifests = [];
    this.#rest = [];
    this.#rows = this.#bytes = 0;
    const isReplaced = await this.#store.replaceSegments(this.#runId, TABLE, manifests, [
      { bytes, manifest: downsampled },
    ]);
    if (isReplaced) this.dropped += before - rows.rowCount;
    return isReplaced;
  }
}
