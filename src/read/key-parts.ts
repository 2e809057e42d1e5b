/** The parts of metric keys as columns: segments hold the key alone. */
import { splitKey } from '../base/names.ts';
import type { KeyVector, RowBatch } from '../codecs/arrow/vectors.ts';

/** The batch with the columns `namespace` and `metric_name`, made from its `metric_key`, where it has none of its own. */
export function withKeyParts(batch: RowBatch): RowBatch {
  const keys = batch.columns.get('metric_key');
  if (keys?.kind !== 'key') return batch;
  const parts = keys.dictionary.map(splitKey);
  return {
    rowCount: batch.rowCount,
    columns: new Map([
      [
        'namespace',
        partOf(
          keys,
          parts.map(({ namespace }) => namespace),
        ),
      ],
      [
        'metric_name',
        partOf(
          keys,
          parts.map(({ name }) => name),
        ),
      ],
      ...batch.columns,
    ]),
  };
}

function partOf(keys: KeyVector, parts: readonly (string | null)[]): KeyVector {
  const dictionary = [...new Set(parts.filter((part) => part !== null))];
  const places = new Map(dictionary.map((part, at) => [part, at]));
  const ofKey = parts.map((part) => (part === null ? -1 : (places.get(part) ?? -1)));
  return { kind: 'key', dictionary, indices: keys.indices.map((index) => ofKey[index] ?? -1) };
}
