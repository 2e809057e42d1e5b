/** A table of ours out of an Arrow stream. */
import { isQuarkError, QuarkError } from '../base/errors.ts';
import { metricTable } from '../records/metric.ts';
import { readArrowFacts } from '../segment/arrow-reader.ts';
import { splitKey } from '../base/names.ts';
import { decodeBatches } from '../segment/decode.ts';
import type { RowBatch, Vector } from '../segment/vectors.ts';
import { quarkTableFacts, type QuarkTableFacts } from './quark-tables.ts';

/** Every row has an instant, of four bytes at least. */
const MIN_ROW_BYTES = 4;

/** @throws {QuarkError} `invalid_input` saying what is wrong with the bytes */
export function readArrowTable(bytes: Uint8Array<ArrayBuffer>): {
  readonly facts: QuarkTableFacts;
  readonly batches: readonly RowBatch[];
} {
  try {
    const metadata = readArrowFacts(bytes);
    const facts = quarkTableFacts(metadata);
    const version = Number(metadata.get('quark:schema_version') ?? Number.NaN);
    const batches = decodeBatches(facts.table, bytes, Number.isNaN(version) ? undefined : version);
    const rowCount = batches.reduce((sum, batch) => sum + batch.rowCount, 0);
    if (rowCount * MIN_ROW_BYTES > bytes.byteLength)
      throw new Error(`it says that it has ${rowCount} rows`);
    return { facts, batches: facts.table === metricTable ? batches.map(withNames) : batches };
  } catch (cause) {
    // Whatever hostile bytes do to the decoder, it is the file that is wrong.
    const isKnown = isQuarkError(cause) || (cause instanceof Error && cause.constructor === Error);
    const reason = isKnown ? cause.message : 'it is damaged';
    throw new QuarkError('invalid_input', `The Arrow stream cannot be read: ${reason}`, { cause });
  }
}

/** Exports of metrics alone have their keys, and not the parts of them. */
function withNames(batch: RowBatch): RowBatch {
  const key = batch.columns.get('metric_key');
  if (key?.kind !== 'key' || batch.columns.has('metric_name')) return batch;
  const parts = key.dictionary.map(splitKey);
  const pick = (texts: readonly (string | null)[]): Vector => {
    const places = new Map<string, number>();
    const placeOf = Int32Array.from(texts, (text) => {
      if (text === null) return -1;
      const place = places.get(text) ?? places.size;
      places.set(text, place);
      return place;
    });
    return {
      kind: 'key',
      dictionary: [...places.keys()],
      indices: Int32Array.from(key.indices, (index) => placeOf[index] ?? -1),
    };
  };
  return {
    rowCount: batch.rowCount,
    columns: new Map([
      ...batch.columns,
      ['namespace', pick(parts.map(({ namespace }) => namespace))],
      ['metric_name', pick(parts.map(({ name }) => name))],
    ]),
  };
}
