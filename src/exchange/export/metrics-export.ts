/** Metrics for other programs. Values survive the way there and back bit for bit. */
import { inSpanOf } from '../../base/profiling.ts';
import { ProfileStep } from '../../base/profile-steps.ts';
import type { MetricColumns, MetricFilter } from '../../read/metric-columns.ts';
import type { RunReader } from '../../read/run-reader.ts';
import { metricTable } from '../../records/metric.ts';
import { encodeBatch, SEQUENCE_COLUMN } from '../../segment/encode.ts';
import type { Vector } from '../../codecs/arrow/vectors.ts';
import { csvNumber } from './numbers.ts';
import { jsonNumber } from '../../read/json-lines.ts';

/** Rows in one piece of an export. */
const ROWS_PER_CHUNK = 2_000;

/** Bytes in one piece of an export. */
const BYTES_PER_PIECE = 1 << 20;

const CSV_HEADER = 'sequence,timestamp,metric_key,step,epoch,value\r\n';

/**
 * The metrics of a run as CSV (RFC 4180: CRLF line ends, quotes where needed), with a header line: sequence, timestamp
 * (ISO 8601, UTC), metric_key, step, epoch, value. A missing step or epoch is an empty field. Values are written as
 * `NaN`, `Infinity` and `-Infinity` where they are that. Descriptions and metadata are left out; the JSON lines have
 * them. Comes in chunks of about 100 kB; the numbers of the run are held in memory, 44 bytes a sample.
 *
 * @yields whole lines
 * @throws {QuarkError} `invalid_input` naming the filter
 * @example
 * ```js
 * import { createMemoryStore, MetricsLogger, openRun, TrainingSession } from 'quark-sdk';
 * import { exportMetricsCsv } from 'quark-sdk/exchange';
 *
 * const store = createMemoryStore();
 * const runId = await TrainingSession.run({ project: 'digits', storage: store }, (session) => {
 *   new MetricsLogger(session).logColumns('train/loss', [0, 1, 2], [0.9, 0.5, 0.4]);
 *   return session.runId;
 * });
 * const reader = await openRun(store, runId);
 * let csv = '';
 * for await (const lines of exportMetricsCsv(reader)) csv += lines;
 * console.log(csv.split('\r\n')[0]); // sequence,timestamp,metric_key,step,epoch,value
 * ```
 */
export function exportMetricsCsv(
  reader: RunReader,
  filter: MetricFilter = {},
): AsyncGenerator<string, void, undefined> {
  return inSpanOf(ProfileStep.EXPORT, csvChunks(reader, filter));
}

async function* csvChunks(
  reader: RunReader,
  filter: MetricFilter,
): AsyncGenerator<string, void, undefined> {
  const points = await reader.readMetricColumns(filter);
  const keys = points.keys.map(csvText);
  let piece = CSV_HEADER;
  for (let row = 0; row < points.rowCount; row++) {
    const sequence = csvNumber(points.sequences[row] ?? Number.NaN);
    const timestamp = new Date(points.timesMs[row] ?? Number.NaN).toISOString();
    const key = keys[points.keyIndex[row] ?? 0] ?? '';
    const value = csvNumber(points.values[row] ?? Number.NaN);
    piece += `${sequence},${timestamp},${key},${csvCount(points.steps[row])},${csvCount(points.epochs[row])},${value}\r\n`;
    if (row % ROWS_PER_CHUNK === ROWS_PER_CHUNK - 1) {
      yield piece;
      piece = '';
    }
  }
  if (piece !== '') yield piece;
}

/**
 * The metrics of a run as JSON lines: one record a line in the persisted form, with namespace, description and metadata.
 * A value that is no JSON number is the text `"NaN"`, `"Infinity"` or `"-Infinity"`. The records are held in memory
 * while they are written.
 *
 * @yields whole lines
 * @throws {QuarkError} `invalid_input` naming the filter
 * @example
 * ```js
 * import { createMemoryStore, MetricsLogger, openRun, TrainingSession } from 'quark-sdk';
 * import { exportMetricsJsonLines } from 'quark-sdk/exchange';
 *
 * const store = createMemoryStore();
 * const runId = await TrainingSession.run({ project: 'digits', storage: store }, (session) => {
 *   new MetricsLogger(session).logColumns('train/loss', [0, 1, 2], [0.9, 0.5, 0.4]);
 *   return session.runId;
 * });
 * const reader = await openRun(store, runId);
 * let text = '';
 * for await (const lines of exportMetricsJsonLines(reader)) text += lines;
 * console.log(JSON.parse(text.split('\n')[0]).metric_key); // train/loss
 * ```
 */
export async function* exportMetricsJsonLines(
  reader: RunReader,
  filter: MetricFilter = {},
): AsyncGenerator<string, void, undefined> {
  const records = await reader.readMetrics(filter);
  for (let from = 0; from < records.length; from += ROWS_PER_CHUNK) {
    const lines = records.slice(from, from + ROWS_PER_CHUNK).map((record) => {
      const { value: _value, ...rest } = record.toDict();
      return `${JSON.stringify(rest).slice(0, -1)},"value":${jsonNumber(record.value)}}\n`;
    });
    yield lines.join('');
  }
}

/**
 * The metrics of a run as one Arrow IPC stream of one record batch: sequence, timestamp, metric_key
 * (dictionary-encoded), value, step, epoch. Comes in chunks of at most 1 MiB; the whole is held in memory.
 *
 * @yields bytes of the stream, in order
 * @throws {QuarkError} `invalid_input` naming the filter
 * @example
 * ```js
 * import * as arrow from 'apache-arrow';
 * import { createMemoryStore, MetricsLogger, openRun, TrainingSession } from 'quark-sdk';
 * import { exportMetricsArrow } from 'quark-sdk/exchange';
 *
 * const store = createMemoryStore();
 * const runId = await TrainingSession.run({ project: 'digits', storage: store }, (session) => {
 *   new MetricsLogger(session).logColumns('train/loss', [0, 1, 2], [0.9, 0.5, 0.4]);
 *   return session.runId;
 * });
 * const reader = await openRun(store, runId);
 * const table = await arrow.tableFromIPC(exportMetricsArrow(reader));
 * console.log(table.numRows, table.get(0).metric_key); // 3 train/loss
 * ```
 */
export async function* exportMetricsArrow(
  reader: RunReader,
  filter: MetricFilter = {},
): AsyncGenerator<Uint8Array<ArrayBuffer>, void, undefined> {
  const bytes = arrowStream(await reader.readMetricColumns(filter));
  for (let at = 0; at < bytes.byteLength; at += BYTES_PER_PIECE)
    yield bytes.subarray(at, at + BYTES_PER_PIECE);
}

function arrowStream(points: MetricColumns): Uint8Array<ArrayBuffer> {
  const columns = new Map<string, Vector>([
    ['timestamp', { kind: 'number', values: points.timesMs }],
    ['metric_key', { kind: 'key', dictionary: points.keys, indices: points.keyIndex }],
    ['value', { kind: 'f64', values: points.values, isNull: null }],
    ['step', { kind: 'number', values: points.steps }],
    ['epoch', { kind: 'number', values: points.epochs }],
    [SEQUENCE_COLUMN, { kind: 'number', values: points.sequences }],
  ]);
  return encodeBatch(metricTable, { rowCount: points.rowCount, columns });
}

function csvCount(value: number | undefined): string {
  return value === undefined || Number.isNaN(value) ? '' : String(value);
}

/** Quoted where RFC 4180 asks for it. */
function csvText(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
