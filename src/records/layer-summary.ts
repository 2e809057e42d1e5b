import { checkModuleName } from '../base/names.ts';
import {
  count,
  countList,
  f64,
  jsonObject,
  key,
  literal,
  named,
  nullable,
} from '../schema/column.ts';
import type { RecordOf } from '../schema/record.ts';
import { defineTable, TABLE_COLUMNS, type TableDefinition } from '../schema/table.ts';
import { HOOK_DIRECTIONS, LAYER_SUMMARY_TYPES } from './literals.ts';

const columns = {
  ...TABLE_COLUMNS,
  moduleName: named(key('Path of the layer in the model.'), checkModuleName),
  moduleType: key('Class of the layer.'),
  summaryType: literal('What was summarised.', LAYER_SUMMARY_TYPES),
  hookDirection: literal('The pass in which it was captured.', HOOK_DIRECTIONS),
  step: nullable(count('Training step.')),
  epoch: nullable(count('Training epoch.')),
  callIndex: count('Which call of the layer in the step, from 0.'),
  elementCount: count('Number of elements of the tensor.'),
  tensorShape: nullable(countList('Shape of the tensor.')),
  mean: nullable(f64('Mean of the finite elements.')),
  std: nullable(f64('Population standard deviation of the finite elements.')),
  norm: nullable(f64('L2 norm of the finite elements.')),
  variance: nullable(f64('Population variance of the finite elements.')),
  deadUnitRatio: nullable(
    f64('Share of elements within the dead-unit epsilon of zero.', {
      unit: 'ratio',
      min: 0,
      max: 1,
    }),
  ),
  saturationRatio: nullable(
    f64('Share of elements at or beyond the saturation threshold.', {
      unit: 'ratio',
      min: 0,
      max: 1,
    }),
  ),
  nonFiniteCount: nullable(count('NaN and infinite elements; they take part in nothing else.')),
  deadUnitCount: nullable(count('Units within the epsilon of zero for every sample of the batch.')),
  persistentDeadUnitCount: nullable(
    count('Units that were dead in each of the last probes, as many as the configuration says.'),
  ),
  zeroOutputRatio: nullable(
    f64(
      'Share of the elements that are zero, whatever unit they belong to: `deadUnitRatio` by its plain name.',
      {
        unit: 'ratio',
        min: 0,
        max: 1,
      },
    ),
  ),
  deadUnitShare: nullable(
    f64(
      'Share of the units that are zero for every sample of the batch: `deadUnitCount` over all units.',
      {
        unit: 'ratio',
        min: 0,
        max: 1,
      },
    ),
  ),
  metadata: nullable(jsonObject('Context of the summary.')),
};

/** Statistics of one activation or gradient of a layer. */
export const layerSummaryTable: TableDefinition<typeof columns> = defineTable(
  'layer_summary',
  'layer_summaries',
  'moduleName',
  'Statistics of one activation or gradient of a layer.',
  columns,
);

/** Statistics of one activation or gradient of a layer. */
export type LayerSummaryRecord = RecordOf<typeof columns>;
