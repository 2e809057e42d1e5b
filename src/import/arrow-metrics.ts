/** The metrics of our own Arrow export as columns. */
import { isQuarkError, QuarkError } from '../base/errors.ts';
import { metricTable } from '../records/metric.ts';
import { decodeBatches } from '../segment/decode.ts';
import type { RowBatch } from '../segment/vectors.ts';

/** Samples of a batch; NaN for a step or epoch that is missing. */
export type MetricRows = {
  readonly rowCount: number;
  readonly keys: readonly string[];
  readonly keyIndex: Int32Array;
  readonly values: Float64Array;
  readonly steps: Float64Array;
  readonly epochs: Float64Array;
  readonly timestampsMs: Float64Array;
};

/** @throws {QuarkError} `invalid_input` saying what is wrong with the bytes */
export function readArrowMetrics(bytes: Uint8Array<ArrayBuffer>): MetricRows[] {
  let batches: readonly RowBatch[];
  try {
    batches = decodeBatches(metricTable, bytes);
  } catch (cause) {
    // Whatever hostile bytes do to the decoder, it is the file that is wrong.
    const reason = isQuarkError(cause) ? cause.message : 'it is damaged';
    throw new QuarkError('invalid_input', `The Arrow stream cannot be read: ${reason}`, { cause });
  }
  return batches.map(toRows);
}

function toRows(batch: RowBatch): MetricRows {
  const key = batch.columns.get('metric_key');
  const value = batch.columns.get('value');
  if (key?.kind !== 'key' || value?.kind !== 'f64')
    throw new QuarkError(
      'invalid_input',
      'The Arrow stream has no columns "metric_key" and "value" of the types an export has.',
    );
  const rowCount = Math.min(batch.rowCount, key.indices.length, value.values.length);
  const numbers = (name: string): Float64Array => {
    const column = batch.columns.get(name);
    return column?.kind === 'number' && column.values.length >= rowCount
      ? column.values
      : new Float64Array(rowCount).fill(Number.NaN);
  };
  return {
    rowCount,
    keys: key.dictionary,
    keyIndex: key.indices,
    values: value.values,
    steps: numbers('step'),
    epochs: numbers('epoch'),
    timestampsMs: numbers('timestamp'),
  };
}
