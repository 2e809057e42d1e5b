/** Parameter summaries and histograms of a run. */
import { checkLiteral } from '../base/assert.ts';
import { invalidInput } from '../base/errors.ts';
import {
  PARAMETER_DISTRIBUTION_TYPES,
  type ParameterDistributionType,
} from '../records/literals.ts';
import {
  parameterDistributionTable,
  type ParameterDistributionRecord,
} from '../records/parameter-distribution.ts';
import {
  parameterSummaryTable,
  type ParameterSummaryRecord,
} from '../records/parameter-summary.ts';
import type { SegmentSource, Store } from '../store/store.ts';
import { checkPosition, type PositionFilter } from './filters.ts';
import { readKeyedRecords } from './keyed-records.ts';
import { checkOptionalText } from './layer-summaries.ts';
import type { RecordsRead } from './metric-records.ts';
import { readRecordColumns, type RecordColumns } from './record-columns.ts';

/** Which parameter summaries to read. All conditions are joined by "and". */
export type ParameterSummaryFilter = PositionFilter & {
  readonly moduleName?: string | undefined;
  readonly parameterName?: string | undefined;
  /** Of each parameter the most recent only; default false. */
  readonly latestOnly?: boolean | undefined;
};

/** Which parameter histograms to read. All conditions are joined by "and". */
export type ParameterDistributionFilter = ParameterSummaryFilter & {
  readonly distributionType?: ParameterDistributionType | undefined;
};

const SUMMARY_NAMES = ['moduleName', 'parameterName', 'latestOnly'] as const;

/** Parameter summaries in the order they were persisted. @throws {QuarkError} `invalid_input` naming the filter */
export async function readParameterSummaries(
  store: Store,
  runId: string,
  filter: ParameterSummaryFilter = {},
): Promise<RecordsRead<ParameterSummaryRecord>> {
  const position = checkPosition(filter, SUMMARY_NAMES);
  const { moduleName, parameterName } = checkNames(filter);
  const conditions = { moduleName, parameterName };
  const unlimited = { ...position, limit: Number.POSITIVE_INFINITY };
  const found = await readKeyedRecords(
    store,
    parameterSummaryTable,
    runId,
    conditions,
    filter.latestOnly === true ? unlimited : position,
  );
  if (filter.latestOnly !== true) return found;
  const records = latest(found.records, (record) => record.parameterName, position.limit);
  return { ...found, records };
}

const TEXTS = ['moduleName', 'parameterName', 'parameterRole', 'optimizerGroup'] as const;
const NUMBERS = [
  'timestamp',
  'step',
  'epoch',
  'elementCount',
  'valueMean',
  'valueStd',
  'valueNorm',
  'gradientMean',
  'gradientStd',
  'gradientNorm',
  'updateNorm',
  'nearZeroRatio',
  'updateRatio',
  'valueNonFiniteCount',
  'gradientNonFiniteCount',
  'updateNonFiniteCount',
  'gradientCosine',
] as const;

/**
 * Parameter summaries as columns, named as the fields of {@link ParameterSummaryRecord}; `timestamp` is in UTC epoch
 * milliseconds.
 */
export type ParameterColumns = RecordColumns<(typeof TEXTS)[number], (typeof NUMBERS)[number]>;

/** Which parameter summaries to read as columns. All conditions are joined by "and". */
export type ParameterColumnFilter = Omit<ParameterSummaryFilter, 'latestOnly'>;

/** Parameter summaries as columns. @throws {QuarkError} `invalid_input` naming the filter */
export async function readParameterColumns(
  store: SegmentSource,
  runId: string,
  filter: ParameterColumnFilter = {},
): Promise<ParameterColumns> {
  const position = checkPosition(filter, ['moduleName', 'parameterName']);
  const { moduleName, parameterName } = checkNames(filter);
  const { jsons: _none, ...columns } = await readRecordColumns(
    store,
    parameterSummaryTable,
    runId,
    { moduleName, parameterName },
    position,
    { texts: TEXTS, numbers: NUMBERS, jsons: [] },
  );
  return columns;
}

/** Parameter histograms in the order they were persisted. @throws {QuarkError} `invalid_input` naming the filter */
export async function readParameterDistributions(
  store: Store,
  runId: string,
  filter: ParameterDistributionFilter = {},
): Promise<RecordsRead<ParameterDistributionRecord>> {
  const position = checkPosition(filter, [...SUMMARY_NAMES, 'distributionType']);
  const { moduleName, parameterName } = checkNames(filter);
  const { distributionType } = filter;
  if (distributionType !== undefined)
    checkLiteral('distributionType', distributionType, PARAMETER_DISTRIBUTION_TYPES);
  const conditions = { moduleName, parameterName, distributionType };
  const unlimited = { ...position, limit: Number.POSITIVE_INFINITY };
  const found = await readKeyedRecords(
    store,
    parameterDistributionTable,
    runId,
    conditions,
    filter.latestOnly === true ? unlimited : position,
  );
  if (filter.latestOnly !== true) return found;
  const keyOf = (record: ParameterDistributionRecord): string =>
    JSON.stringify([record.parameterName, record.distributionType]);
  return { ...found, records: latest(found.records, keyOf, position.limit) };
}

function checkNames(filter: ParameterSummaryFilter): ParameterSummaryFilter {
  checkOptionalText('moduleName', filter.moduleName);
  checkOptionalText('parameterName', filter.parameterName);
  if (filter.latestOnly !== undefined && typeof filter.latestOnly !== 'boolean')
    throw invalidInput('latestOnly', filter.latestOnly, 'true or false');
  return filter;
}

function latest<T>(records: readonly T[], keyOf: (record: T) => string, limit: number): T[] {
  const last = new Map<string, T>();
  for (const record of records) {
    const key = keyOf(record);
    // Anew at the end: the order is that of the records that stay.
    last.delete(key);
    last.set(key, record);
  }
  return [...last.values()].slice(Math.max(0, last.size - limit));
}
