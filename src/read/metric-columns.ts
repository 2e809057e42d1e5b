/** Metrics as columns: the fast way to read a run. */
import { ascendingOrder, inOrder, isAscending } from '../base/ascending-order.ts';
import { invalidInput } from '../base/errors.ts';
import { splitKey } from '../base/names.ts';
import { metricTable } from '../records/metric.ts';
import { gatherRows } from '../segment/batch-ops.ts';
import type { DamageReport, OpenedSegment } from '../segment/open-segment.ts';
import type { KeyVector, RowBatch, Vector } from '../codecs/arrow/vectors.ts';
import type { SegmentSource } from '../store/store.ts';
import { checkPosition, segmentFilter, type Position, type PositionFilter } from './filters.ts';
import { matchRows, scanTable } from './scan.ts';

/** Which metrics to read. All conditions are joined by "and". */
export type MetricFilter = PositionFilter & {
  /** The full key, such as `train/loss`. */
  readonly metricKey?: string | undefined;
  /** Any of these full keys; for none, nothing. */
  readonly metricKeys?: readonly string[] | undefined;
  /** All segments of the key but the last. */
  readonly namespace?: string | undefined;
  /** The last segment of the key. */
  readonly metricName?: string | undefined;
};

/** Metric samples as columns of one length, in the order they were persisted. The caller owns the arrays. */
export type MetricColumns = {
  readonly rowCount: number;
  /** The metric keys that occur; `keyIndex` points into it. */
  readonly keys: readonly string[];
  /** Position in `keys` of each sample. */
  readonly keyIndex: Int32Array;
  readonly values: Float64Array;
  /** Step of each sample; NaN where it has none. */
  readonly steps: Float64Array;
  /** Epoch of each sample; NaN where it has none. */
  readonly epochs: Float64Array;
  /** UTC epoch milliseconds. */
  readonly timestampsMs: Float64Array;
  /** Ascending. */
  readonly sequences: Float64Array;
  /**
   * Largest sequence number; without a sample, the one before `sequenceMin` (-1 where that was not given). Ask for
   * `sequenceMin: lastSequence + 1` next time.
   */
  readonly lastSequence: number;
  /** Segments that could not be read and are missing here. */
  readonly damage: readonly DamageReport[];
};

/** Rows of one segment that match a metric filter. */
export type MetricPart = Omit<OpenedSegment, 'arrowBytes'>;

const FILTER_NAMES = ['metricKey', 'namespace', 'metricName'] as const;

/** @throws {QuarkError} `invalid_input` naming the filter */
export async function readMetricColumns(
  store: SegmentSource,
  runId: string,
  filter: MetricFilter = {},
): Promise<MetricColumns> {
  const { parts, damage, position } = await scanMetrics(store, runId, filter);
  return { ...joinParts(parts, position), damage };
}

/** The matching rows of every segment, as they come. */
export async function scanMetrics(
  store: SegmentSource,
  runId: string,
  filter: MetricFilter,
): Promise<{ parts: readonly MetricPart[]; damage: readonly DamageReport[]; position: Position }> {
  const position = checkPosition(filter, [...FILTER_NAMES, 'metricKeys']);
  for (const name of FILTER_NAMES) {
    if (filter[name] !== undefined && typeof filter[name] !== 'string')
      throw invalidInput(name, filter[name], 'text');
  }
  const keys = wantedKeys(filter);
  if (keys?.length === 0) return { parts: [], damage: [], position };
  const isWantedKey = keyTest(filter);
  const scan = await scanTable(
    store,
    metricTable,
    segmentFilter(runId, metricTable.table, position, keys),
    (segment) => pickRows(segment, position, isWantedKey),
  );
  return { ...scan, position };
}

/** Keys that segments are asked for; undefined for all. */
function wantedKeys({ metricKey, metricKeys }: MetricFilter): readonly string[] | undefined {
  if (metricKeys === undefined) return metricKey === undefined ? undefined : [metricKey];
  if (!Array.isArray(metricKeys) || !metricKeys.every((key) => typeof key === 'string'))
    throw invalidInput('metricKeys', metricKeys, 'a list of metric keys');
  return metricKey === undefined ? metricKeys : metricKeys.filter((key) => key === metricKey);
}

function keyTest(filter: MetricFilter): ((key: string) => boolean) | undefined {
  const { namespace, metricName } = filter;
  const list = wantedKeys(filter);
  if (list === undefined && namespace === undefined && metricName === undefined) return undefined;
  const wanted = list === undefined ? undefined : new Set(list);
  return (key) => {
    if (wanted !== undefined && !wanted.has(key)) return false;
    const parts = splitKey(key);
    if (namespace !== undefined && parts.namespace !== namespace) return false;
    return metricName === undefined || parts.name === metricName;
  };
}

function pickRows(
  segment: OpenedSegment,
  position: Position,
  isWantedKey: ((key: string) => boolean) | undefined,
): MetricPart | undefined {
  const { batch, manifest, sequences } = segment;
  const column = keyColumn(batch);
  let isWanted: ((row: number) => boolean) | undefined;
  if (isWantedKey !== undefined) {
    const wanted = Uint8Array.from(column.dictionary, (key) => (isWantedKey(key) ? 1 : 0));
    if (!wanted.includes(1)) return undefined;
    const { indices } = column;
    if (wanted.includes(0)) isWanted = (row) => wanted[indices[row] ?? 0] === 1;
  }
  const rows = matchRows(segment, position, isWanted);
  if (rows === null) return segment;
  if (rows.length === 0) return undefined;
  return {
    manifest,
    batch: gatherRows(batch, rows),
    sequences: Float64Array.from(rows, (row) => sequences[row] ?? 0),
  };
}

/** The key column of a batch of metrics. */
export function keyColumn(batch: RowBatch): KeyVector {
  const column = batch.columns.get('metric_key');
  return column?.kind === 'key'
    ? column
    : { kind: 'key', dictionary: [''], indices: new Int32Array(batch.rowCount) };
}

function joinParts(
  parts: readonly MetricPart[],
  { limit, sequenceMin }: Position,
): Omit<MetricColumns, 'damage'> {
  const rowCount = parts.reduce((sum, part) => sum + part.batch.rowCount, 0);
  const positions = new Map<string, number>();
  const keyIndex = new Int32Array(rowCount);
  const values = new Float64Array(rowCount);
  const steps = new Float64Array(rowCount);
  const epochs = new Float64Array(rowCount);
  const timestampsMs = new Float64Array(rowCount);
  const sequences = new Float64Array(rowCount);
  let at = 0;
  for (const { batch, sequences: ofPart } of parts) {
    const { dictionary, indices } = keyColumn(batch);
    const map = Int32Array.from(dictionary, (key) => {
      const position = positions.get(key) ?? positions.size;
      positions.set(key, position);
      return position;
    });
    for (let i = 0; i < batch.rowCount; i++) keyIndex[at + i] = map[indices[i] ?? 0] ?? 0;
    place(values, batch.columns.get('value'), at, batch.rowCount);
    place(steps, batch.columns.get('step'), at, batch.rowCount);
    place(epochs, batch.columns.get('epoch'), at, batch.rowCount);
    place(timestampsMs, batch.columns.get('timestamp'), at, batch.rowCount);
    sequences.set(ofPart, at);
    at += batch.rowCount;
  }
  const keys = [...positions.keys()];
  const order = orderBy(sequences, limit);
  const ordered =
    order === null
      ? { keyIndex, values, steps, epochs, timestampsMs, sequences }
      : {
          keyIndex: pickIndex(keyIndex, order),
          values: inOrder(values, order),
          steps: inOrder(steps, order),
          epochs: inOrder(epochs, order),
          timestampsMs: inOrder(timestampsMs, order),
          sequences: inOrder(sequences, order),
        };
  return {
    rowCount: ordered.values.length,
    keys,
    ...ordered,
    lastSequence: ordered.sequences.at(-1) ?? sequenceMin - 1,
  };
}

/** Rows in order of their sequence numbers, the last `limit` of them; null when they are in order and all wanted. */
export function orderBy(sequences: Float64Array, limit: number): Int32Array | null {
  if (sequences.length <= limit && isAscending(sequences)) return null;
  const order = ascendingOrder(sequences);
  return sequences.length > limit ? order.subarray(sequences.length - limit) : order;
}

function place(target: Float64Array, vector: Vector | undefined, at: number, length: number): void {
  if (vector?.kind === 'number' || vector?.kind === 'f64')
    target.set(vector.values.subarray(0, length), at);
  else target.fill(Number.NaN, at, at + length);
}

function pickIndex(index: Int32Array, order: Int32Array): Int32Array {
  const out = new Int32Array(order.length);
  for (let i = 0; i < order.length; i++) out[i] = index[order[i] ?? 0] ?? 0;
  return out;
}
