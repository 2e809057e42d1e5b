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
import type { SegmentSource, Store } from '../store/store.ts';
import { checkPosition, type Position, type PositionFilter } from './filters.ts';
import { readKeyedRecords, type KeyConditions } from './keyed-records.ts';
import type { RecordsRead } from './metric-records.ts';
import { readRecordColumns, type RecordColumns } from './record-columns.ts';

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
  const { conditions, position } = checkFilter(filter);
  return readKeyedRecords(store, layerSummaryTable, runId, conditions, position);
}

const TEXTS = ['moduleName', 'moduleType', 'summaryType', 'hookDirection'] as const;
const NUMBERS = [
  'timestamp',
  'step',
  'epoch',
  'callIndex',
  'elementCount',
  'mean',
  'std',
  'norm',
  'deadUnitRatio',
  'saturationRatio',
  'nonFiniteCount',
  'deadUnitCount',
  'persistentDeadUnitCount',
  'tensorShape',
] as const;

/**
 * Layer summaries as columns, named as the fields of {@link LayerSummaryRecord}; `timestamp` is in UTC epoch
 * milliseconds, `tensorShape` the length of the last axis.
 */
export type LayerColumns = RecordColumns<(typeof TEXTS)[number], (typeof NUMBERS)[number]> & {
  /** 1 for summaries of passes that trained nothing: validation and prediction. */
  readonly isEvaluation: Uint8Array;
  /** How many units `deadUnitCount` counts among. */
  readonly unitCounts: Float64Array;
};

/** Layer summaries as columns. @throws {QuarkError} `invalid_input` naming the filter */
export async function readLayerColumns(
  store: SegmentSource,
  runId: string,
  filter: LayerSummaryFilter = {},
): Promise<LayerColumns> {
  const { conditions, position } = checkFilter(filter);
  const names = { texts: TEXTS, numbers: NUMBERS, jsons: ['metadata'] } as const;
  const { jsons, ...columns } = await readRecordColumns(
    store,
    layerSummaryTable,
    runId,
    conditions,
    position,
    names,
  );
  const isEvaluation = new Uint8Array(columns.rowCount);
  const unitCounts = columns.numbers.tensorShape.slice();
  const known = new Map<string, SummaryContext>();
  for (const [row, text] of jsons.metadata.entries()) {
    if (text === null || !/"(?:evaluation|unit_count)"/.test(text)) continue;
    let context = known.get(text);
    if (context === undefined) known.set(text, (context = contextOf(text)));
    if (context.isEvaluation) isEvaluation[row] = 1;
    if (context.unitCount !== undefined) unitCounts[row] = context.unitCount;
  }
  return { ...columns, isEvaluation, unitCounts };
}

type SummaryContext = { readonly isEvaluation: boolean; readonly unitCount: number | undefined };

/** What the metadata of a summary says about it; see `probes/layer-rows.ts`. */
function contextOf(metadata: string): SummaryContext {
  const value: unknown = JSON.parse(metadata);
  if (typeof value !== 'object' || value === null)
    return { isEvaluation: false, unitCount: undefined };
  return {
    isEvaluation: 'pass' in value && value.pass === 'evaluation',
    unitCount:
      'unit_count' in value && typeof value.unit_count === 'number' ? value.unit_count : undefined,
  };
}

function checkFilter(filter: LayerSummaryFilter): {
  readonly conditions: KeyConditions;
  readonly position: Position;
} {
  const position = checkPosition(filter, FILTER_NAMES);
  const { moduleName, moduleType, summaryType, hookDirection } = filter;
  checkOptionalText('moduleName', moduleName);
  checkOptionalText('moduleType', moduleType);
  if (summaryType !== undefined) checkLiteral('summaryType', summaryType, LAYER_SUMMARY_TYPES);
  if (hookDirection !== undefined) checkLiteral('hookDirection', hookDirection, HOOK_DIRECTIONS);
  return { conditions: { moduleName, moduleType, summaryType, hookDirection }, position };
}

/** @throws {QuarkError} `invalid_input` unless it is text or left out */
export function checkOptionalText(field: string, value: unknown): void {
  if (value !== undefined && typeof value !== 'string') throw invalidInput(field, value, 'text');
}
