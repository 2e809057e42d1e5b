/** From a batch to what is recorded of it. */
import { checkCount, checkOptionNames, isGiven } from '../../base/assert.ts';
import { invalidInput } from '../../base/errors.ts';
import { type JsonObject, type JsonValue, copyJsonObject } from '../../base/json.ts';
import {
  countLabels,
  listValues,
  sampleCountOf,
  type ClassCounts,
  type Labels,
  type LabelTensor,
} from './labels.ts';

/** What is recorded of a batch. Raw samples never are. */
export type BatchMetadata = {
  /** Number of samples. */
  readonly batchSize?: number | null | undefined;
  /** Identifiers of the samples; a tensor of shape `[batch]` or `[batch, 1]` is read. */
  readonly sampleIds?: ArrayLike<string | number> | LabelTensor | null | undefined;
  /** Number of samples a class, or the labels to count. */
  readonly classCounts?: Labels | null | undefined;
  /** Length of each sequence; a tensor of shape `[batch]` or `[batch, 1]` is read. */
  readonly sequenceLengths?: ArrayLike<number> | LabelTensor | null | undefined;
  /** Context of the batch; a JSON object. */
  readonly metadata?: JsonObject | null | undefined;
};

/** Knows the batches of one data loader. Implement it for batches of your own. */
export interface BatchMetadataAdapter {
  /** What is to be recorded of a batch. */
  extractBatchMetadata(batch: unknown): BatchMetadata;
}

/** Options of {@link MappingBatchMetadataAdapter}: where in the batch each thing lies. */
export type MappingBatchMetadataAdapterOptions = {
  /** Key of the number of samples; default null: counted from what else there is. */
  readonly batchSizeKey?: string | null;
  /** Key of the identifiers of the samples; default null. */
  readonly sampleIdKey?: string | null;
  /** Key of the labels; default null. */
  readonly labelKey?: string | null;
  /** Key of the lengths of the sequences; default null. */
  readonly sequenceLengthKey?: string | null;
  /** Keys whose values become metadata; default none. */
  readonly metadataKeys?: readonly string[];
};

/**
 * For batches that are objects or Maps, those of `tf.data` (`{ xs, ys }` with `labelKey: 'ys'`) among them. Labels, ids and lengths may
 * be arrays or tensors; tensors are read with `dataSync()`, which costs nothing for labels that the host has just made, and waits for the device
 * for labels computed there: hand in the host's then. A key that a batch lacks is left out.
 *
 * @example
 * ```js
 * import { TrainingSession } from 'quark-sdk';
 * import { DataDiagnostics, MappingBatchMetadataAdapter } from 'quark-sdk/probes';
 *
 * const adapter = new MappingBatchMetadataAdapter({ labelKey: 'ys', sampleIdKey: 'ids', metadataKeys: ['source'] });
 * await TrainingSession.run({ project: 'digits', storageDir: 'quark-runs' }, async (session) => {
 *   const data = new DataDiagnostics(session, { adapter });
 *   const batch = { xs: [[0.1], [0.9]], ys: [3, 7], ids: ['a', 'b'], source: 'camera-2' };
 *   const { batchSize, classCounts, metadata } = data.logBatch(0.4, { step: 0, batch });
 *   console.log(batchSize, classCounts, metadata);
 * });
 * ```
 */
export class MappingBatchMetadataAdapter implements BatchMetadataAdapter {
  readonly #options: MappingBatchMetadataAdapterOptions;

  /** @throws {QuarkError} `invalid_input` naming the option */
  constructor(options: MappingBatchMetadataAdapterOptions) {
    checkOptionNames('options', options, [
      'batchSizeKey',
      'sampleIdKey',
      'labelKey',
      'sequenceLengthKey',
      'metadataKeys',
    ]);
    const { metadataKeys = [], ...keys } = options;
    for (const [name, key] of Object.entries(keys)) {
      if (key !== null && key !== undefined && typeof key !== 'string')
        throw invalidInput(name, key, 'a key of the batch, or null');
    }
    if (!Array.isArray(metadataKeys) || metadataKeys.some((key) => typeof key !== 'string'))
      throw invalidInput('metadataKeys', metadataKeys, 'a list of keys');
    this.#options = options;
  }

  /** @throws {QuarkError} `invalid_input` when the batch is no mapping */
  extractBatchMetadata(batch: unknown): BatchMetadata {
    if (typeof batch !== 'object' || batch === null || Array.isArray(batch))
      throw invalidInput('batch', batch, 'an object or a Map; write an adapter for other batches');
    const get = (key: string | null | undefined): unknown => {
      if (key === null || key === undefined) return undefined;
      return batch instanceof Map ? batch.get(key) : Reflect.get(batch, key);
    };
    const {
      batchSizeKey,
      sampleIdKey,
      labelKey,
      sequenceLengthKey,
      metadataKeys = [],
    } = this.#options;
    const metadata = metadataKeys.flatMap((key) => {
      const value = get(key);
      return value === undefined ? [] : [[key, value as JsonValue] as const];
    });
    // What these are is checked where every batch is.
    return {
      batchSize: get(batchSizeKey) as number | undefined,
      sampleIds: get(sampleIdKey) as string[] | undefined,
      classCounts: get(labelKey) as Labels | undefined,
      sequenceLengths: get(sequenceLengthKey) as number[] | undefined,
      metadata: metadata.length === 0 ? undefined : Object.fromEntries(metadata),
    };
  }
}

/** {@link BatchMetadata} in the form of a record. */
export type CheckedBatch = {
  readonly batchSize: number | null;
  readonly sampleIds: readonly string[] | null;
  readonly classCounts: ClassCounts | null;
  readonly sequenceLengths: readonly number[] | null;
  readonly metadata: JsonObject | null;
};

/**
 * Checks what is to be recorded of a batch. A batch size that is not given is that of the sample ids, the lengths or the labels.
 *
 * @param labelsField what the caller calls the labels
 * @throws {QuarkError} `invalid_input` naming the field; `probe_failed` for a tensor that cannot be read
 */
export function checkBatch(batch: BatchMetadata, labelsField = 'classCounts'): CheckedBatch {
  const { metadata } = batch;
  const sampleIds = isGiven(batch.sampleIds) ? checkIds(batch.sampleIds) : null;
  const classCounts = isGiven(batch.classCounts)
    ? countLabels(labelsField, batch.classCounts)
    : null;
  const sequenceLengths = isGiven(batch.sequenceLengths)
    ? listValues('sequenceLengths', batch.sequenceLengths).map((length, i) =>
        checkCount(`sequenceLengths[${i}]`, length),
      )
    : null;
  return {
    batchSize: isGiven(batch.batchSize)
      ? checkCount('batchSize', batch.batchSize)
      : (sampleIds?.length ??
        sequenceLengths?.length ??
        (classCounts === null ? null : sampleCountOf(classCounts))),
    sampleIds,
    classCounts,
    sequenceLengths,
    metadata: isGiven(metadata) ? copyJsonObject('metadata', metadata) : null,
  };
}

/** What an adapter finds in a batch of which nothing is known. */
export const NOTHING_FOUND: CheckedBatch = Object.freeze({
  batchSize: null,
  sampleIds: null,
  classCounts: null,
  sequenceLengths: null,
  metadata: null,
});

/** Two descriptions of a batch as one; the first goes before the second. */
export function joined(first: CheckedBatch, second: CheckedBatch): CheckedBatch {
  return {
    batchSize: first.batchSize ?? second.batchSize,
    sampleIds: first.sampleIds ?? second.sampleIds,
    classCounts: first.classCounts ?? second.classCounts,
    sequenceLengths: first.sequenceLengths ?? second.sequenceLengths,
    metadata: first.metadata ?? second.metadata,
  };
}

function checkIds(ids: unknown): string[] {
  return listValues('sampleIds', ids).map((id, i) => {
    if (typeof id === 'string' && id !== '') return id;
    if (typeof id === 'bigint' || (typeof id === 'number' && Number.isFinite(id)))
      return String(id);
    throw invalidInput(`sampleIds[${i}]`, id, 'non-empty text or a finite number');
  });
}
