/** What analyses of a stored run have in common: their options, and their results on the way to the store and back. */
import { systemClock, type Clock } from '../../base/clock.ts';
import { createId } from '../../base/ids.ts';
import { count, flag, optional, orDefault, readOptions } from '../../base/options.ts';
import { checkPosition } from '../../read/filters.ts';
import { readRecords, recordsOfBatch } from '../../read/records.ts';
import { RunReader } from '../../read/run-reader.ts';
import type { RecordOf } from '../../schema/record.ts';
import type { TableColumns, TableDefinition } from '../../schema/table.ts';
import { batchOfRows } from '../../segment/batch-ops.ts';
import { createSegment } from '../../segment/manifest.ts';
import { handleOf } from '../../session/run-handle.ts';
import type { Store } from '../../store/store.ts';
import { checkColumnsOf, type AnalyzableRun } from '../columns/load-run-columns.ts';
import type { RunColumns } from '../columns/run-columns.ts';
import { runAnalysisRules, type RunAnalysisOptions } from './run-options.ts';

/** A run in a store, and the clock that it is analysed by. */
export type AnalyzedRun = { readonly store: Store; readonly runId: string; readonly clock: Clock };

/** Where a run is stored. */
export function analyzedRunOf(source: AnalyzableRun): AnalyzedRun {
  if (source instanceof RunReader)
    return { store: source.store, runId: source.run.id, clock: systemClock };
  const { clock, runId, store } = handleOf(source);
  return { store, runId, clock };
}

/** Options of an analysis of a stored run. */
export type AnalysisOptions = {
  /** Whether earlier results of the run are replaced. Default: the setting `replaceExistingOutputs`. */
  readonly replaceExisting?: boolean;
  /** Whether the result is stored. Default true. */
  readonly persist?: boolean;
  /**
   * The run as `loadRunColumns` read it, so that several analyses read it once; what was recorded since is left out. Default: what
   * the analysis needs is read now.
   */
  readonly columns?: RunColumns | undefined;
} & RunAnalysisOptions;

/** @throws {QuarkError} `invalid_input` naming the option */
export function checkAnalysisOptions(options: AnalysisOptions, replaces: boolean, runId: string) {
  return readOptions('options', options, {
    replaceExisting: orDefault(flag(), replaces),
    persist: orDefault(flag(), true),
    columns: optional((_field: string, given: RunColumns) => checkColumnsOf(given, runId)),
    ...runAnalysisRules,
  });
}

/** Which results to read by their steps, and how many. */
export type StepFilter = {
  /** Those whose range of steps contains this step. */
  readonly step?: number | undefined;
  /** Those that end at or after this step. */
  readonly stepMin?: number | undefined;
  /** Those that begin at or before this step. */
  readonly stepMax?: number | undefined;
  /** The most recent only, still in order. */
  readonly limit?: number | undefined;
};

/** The rule of the option `limit`. */
export function limitRule(_field: string, limit?: number): number {
  return checkPosition(limit === undefined ? {} : { limit }, []).limit;
}

/** The rules of the options of a {@link StepFilter}. */
export const stepRules = {
  step: optional(count()),
  stepMin: optional(count()),
  stepMax: optional(count()),
  limit: limitRule,
};

/** The last of the records that a filter asks for. */
export function withinSteps<
  R extends { readonly stepStart: number | null; readonly stepEnd: number | null },
>(records: readonly R[], { limit, step, stepMax, stepMin }: StepFilter): readonly R[] {
  const hasRange = [step, stepMin, stepMax].some((one) => one !== undefined);
  const first = Math.max(step ?? 0, stepMin ?? 0);
  const last = Math.min(step ?? Infinity, stepMax ?? Infinity);
  const wanted = records.filter(({ stepEnd, stepStart }) => {
    const start = stepStart ?? stepEnd;
    const end = stepEnd ?? stepStart;
    return !hasRange || (start !== null && end !== null && start <= last && end >= first);
  });
  return wanted.slice(Math.max(0, wanted.length - (limit ?? Infinity)));
}

/** The records of a run that have these values, in the order they were stored. */
export async function readResults<C extends TableColumns>(
  run: AnalyzedRun,
  table: TableDefinition<C>,
  conditions: { readonly [column: string]: string | null | undefined },
): Promise<readonly RecordOf<C>[]> {
  const columns = Object.keys(conditions);
  return (await readRecords(run, table, conditions, { columns })).records;
}

type Destination = Omit<AnalyzedRun, 'clock'> & {
  readonly replaces: boolean;
  readonly nowMs: number;
};

/** Writes records of a table, instead of those that are there or behind them; returns them with their sequence. */
export async function storeRecords<C extends TableColumns>(
  table: TableDefinition<C>,
  records: readonly RecordOf<C>[],
  { nowMs, replaces, runId, store }: Destination,
): Promise<readonly RecordOf<C>[]> {
  const batch = batchOfRows(table, records);
  const identity = { runId, table: table.table, writerId: createId('wrt', nowMs), batchNumber: 0 };
  const segments = records.length === 0 ? [] : [createSegment(table, identity, batch)];
  if (!replaces && segments.length === 0) return [];
  const [manifest] = replaces
    ? await store.replaceTable(runId, table.table, segments)
    : await store.appendSegments(segments);
  if (manifest === undefined) return [];
  return recordsOfBatch(table, runId, batch, (row) => manifest.firstSequence + row);
}
