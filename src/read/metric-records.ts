/** Metrics as records, for callers who ask for objects. */
import { freezeJson, type JsonObject } from '../base/json.ts';
import { splitKey } from '../base/names.ts';
import { contextOf } from '../base/series-key.ts';
import { metricTable } from '../records/metric.ts';
import { concatBatches, valueAt } from '../segment/batch-ops.ts';
import { decodeBatches } from '../segment/decode.ts';
import { damageOf } from '../segment/open-segment.ts';
import type { RowBatch, Vector } from '../codecs/arrow/vectors.ts';
import type { SegmentManifest } from '../store/store.ts';
import { orderBy } from './column-builder.ts';
import { keyColumn, metricRowFilter, type MetricFilter } from './metric-columns.ts';
import { MetricRecord, type MetricKey } from './metric-record.ts';
import type { RecordsRead } from './records.ts';
import { partOf, type RowPart } from './match-rows.ts';
import { runIdOf, scanRows, type RunSource } from './scan.ts';

/** Samples in the order they were persisted. @throws {QuarkError} `invalid_input` naming the filter */
export async function readMetrics(
  source: RunSource,
  filter: MetricFilter = {},
): Promise<RecordsRead<MetricRecord>> {
  const runId = runIdOf(source);
  const rows = metricRowFilter(filter);
  const { limit } = rows.position;
  const { damage: unreadable, parts } = await scanRows(source, metricTable, rows, (part) => part);
  const damage = [...unreadable];
  const records: MetricRecord[] = [];
  for (const { batch, manifest, sequences } of mostRecent(parts, limit)) {
    try {
      for (const record of recordsOf(runId, batch, sequences)) records.push(record);
    } catch (error) {
      damage.push(damageOf(manifest, error));
    }
  }
  const order = orderBy(
    Float64Array.from(records, (record) => record.sequence ?? 0),
    limit,
  );
  if (order === null) return { records, damage };
  return { records: Array.from(order).flatMap((row) => records[row] ?? []), damage };
}

/** The rows that can be among the last `limit`: no objects are made of the others. */
function mostRecent(parts: readonly RowPart[], limit: number): readonly RowPart[] {
  const rowCount = parts.reduce((sum, part) => sum + part.batch.rowCount, 0);
  if (rowCount <= limit) return parts;
  const all = new Float64Array(rowCount);
  let at = 0;
  for (const { sequences } of parts) {
    all.set(sequences, at);
    at += sequences.length;
  }
  const first = all.sort()[rowCount - limit] ?? 0;
  return parts.flatMap((part) => {
    const rows = Int32Array.from(part.sequences.keys()).filter(
      (row) => (part.sequences[row] ?? 0) >= first,
    );
    return rows.length === 0 ? [] : partOf(part, rows);
  });
}

/** The samples of segments that were just written. */
export function recordsOfSegments(
  runId: string,
  segments: readonly { readonly manifest: SegmentManifest; readonly bytes: Uint8Array }[],
): readonly MetricRecord[] {
  return segments.flatMap(({ manifest, bytes }) => {
    const batch = concatBatches(decodeBatches(metricTable, bytes, manifest.schemaVersion));
    return recordsOf(
      runId,
      batch,
      Float64Array.from({ length: batch.rowCount }, (_, i) => manifest.firstSequence + i),
    );
  });
}

function recordsOf(runId: string, batch: RowBatch, sequences: Float64Array): MetricRecord[] {
  const { dictionary, indices } = keyColumn(batch);
  const keys = dictionary.map((text, id): MetricKey => ({
    id,
    ...splitKey(text),
    context: contextOf(text),
  }));
  const value = batch.columns.get('value');
  const step = batch.columns.get('step');
  const epoch = batch.columns.get('epoch');
  const timestamp = batch.columns.get('timestamp');
  const description = batch.columns.get('description');
  const metadata = batch.columns.get('metadata');
  return Array.from({ length: batch.rowCount }, (_, row) => {
    const key = keys[indices[row] ?? 0] ?? { id: 0, key: '', namespace: null, name: '' };
    const words = valueAt(metricTable.columns.description, description, row) as string | null;
    const json = valueAt(metricTable.columns.metadata, metadata, row) as JsonObject | null;
    return new MetricRecord(
      runId,
      key,
      numberAt(value, row),
      orNull(numberAt(step, row)),
      orNull(numberAt(epoch, row)),
      numberAt(timestamp, row),
      words === null && json === null ? null : { description: words, metadata: freezeJson(json) },
      sequences[row] ?? null,
    );
  });
}

function numberAt(vector: Vector | undefined, row: number): number {
  return vector?.kind === 'number' || vector?.kind === 'f64'
    ? (vector.values[row] ?? Number.NaN)
    : Number.NaN;
}

function orNull(value: number): number | null {
  return value === value ? value : null;
}
