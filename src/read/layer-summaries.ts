/** Layer summaries of a run. */
import { checkLiteral } from '../base/assert.ts';
import { invalidInput } from '../base/errors.ts';
import { layerSummaryTable, type LayerSummaryRecord } from '../records/layer-summary.ts';
import {
  HOOK_DIRECTIONS,
  LAYER_SUMMARY_TYPES,
  type HookDirection,
  type LayerSummaryType,
} from '../records/literals.ts';
import type { Store } from '../store/store.ts';
import { checkPosition, type PositionFilter } from './filters.ts';
import { readKeyedRecords } from './keyed-records.ts';
import type { RecordsRead } from './metric-records.ts';

/** Which layer summaries to read. All conditions are joined by "and". */
export type LayerSummaryFilter = PositionFilter & {
  readonly moduleName?: string | undefined;
  readonly moduleType?: string | undefined;
  readonly summaryType?: LayerSummaryType | undefined;
  readonly hookDirection?: HookDirection | undefined;
};

const FILTER_NAMES = ['moduleName', 'moduleType', 'summaryType', 'hookDirection'] as const;

/** Layer summaries in the order they were persisted. @throws {QuarkError} `invalid_input` naming the filter */
export async function readLayerSummaries(
  store: Store,
  runId: string,
  filter: LayerSummaryFilter = {},
): Promise<RecordsRead<LayerSummaryRecord>> {
  const position = checkPosition(filter, FILTER_NAMES);
  const { moduleName, moduleType, summaryType, hookDirection } = filter;
  checkOptionalText('moduleName', moduleName);
  checkOptionalText('moduleType', moduleType);
  if (summaryType !== undefined) checkLiteral('summaryType', summaryType, LAYER_SUMMARY_TYPES);
  if (hookDirection !== undefined) checkLiteral('hookDirection', hookDirection, HOOK_DIRECTIONS);
  const conditions = { moduleName, moduleType, summaryType, hookDirection };
  return readKeyedRecords(store, layerSummaryTable, runId, conditions, position);
}

/** @throws {QuarkError} `invalid_input` unless it is text or left out */
export function checkOptionalText(field: string, value: unknown): void {
  if (value !== undefined && typeof value !== 'string') throw invalidInput(field, value, 'text');
}
