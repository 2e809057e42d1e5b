/** Batch diagnostics of a run. */
import { invalidInput } from '../base/errors.ts';
import { batchDiagnosticTable, type BatchDiagnosticRecord } from '../records/batch-diagnostic.ts';
import type { Store } from '../store/store.ts';
import { checkPosition, type PositionFilter } from './filters.ts';
import { readKeyedRecords } from './keyed-records.ts';
import type { RecordsRead } from './metric-records.ts';

/** Which batch diagnostics to read. All conditions are joined by "and". */
export type BatchDiagnosticFilter = PositionFilter & {
  /** Only batches with this sample. */
  readonly sampleId?: string | number | undefined;
};

/** Batch diagnostics in the order they were persisted. @throws {QuarkError} `invalid_input` naming the filter */
export async function readBatchDiagnostics(
  store: Store,
  runId: string,
  filter: BatchDiagnosticFilter = {},
): Promise<RecordsRead<BatchDiagnosticRecord>> {
  const position = checkPosition(filter, ['sampleId']);
  const { sampleId } = filter;
  if (sampleId !== undefined && typeof sampleId !== 'string' && typeof sampleId !== 'number')
    throw invalidInput('sampleId', sampleId, 'text or a number');
  const found = await readKeyedRecords(
    store,
    batchDiagnosticTable,
    runId,
    {},
    { ...position, limit: Number.POSITIVE_INFINITY },
  );
  const records =
    sampleId === undefined
      ? found.records
      : found.records.filter(({ sampleIds }) => sampleIds?.includes(String(sampleId)) === true);
  return {
    records: records.slice(Math.max(0, records.length - position.limit)),
    damage: found.damage,
  };
}
