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
import { PARAMETER_ROLES } from './literals.ts';

const columns = {
  ...TABLE_COLUMNS,
  moduleName: named(key('Path of the layer in the model.'), checkModuleName),
  parameterName: named(key('Full name of the parameter.'), checkModuleName),
  parameterRole: literal('What the parameter is to its layer.', PARAMETER_ROLES),
  step: nullable(count('Training step.')),
  epoch: nullable(count('Training epoch.')),
  shape: countList('Shape of the parameter.'),
  dtype: key('Element type: `float32`, ...'),
  elementCount: count('Number of elements.'),
  valueMean: nullable(f64('Mean of the values.')),
  valueStd: nullable(f64('Population standard deviation of the values.')),
  valueNorm: nullable(f64('L2 norm of the values.')),
  valueMin: nullable(f64('Smallest element of the values.')),
  valueMax: nullable(f64('Largest element of the values.')),
  gradientMean: nullable(f64('Mean of the gradient.')),
  gradientStd: nullable(f64('Population standard deviation of the gradient.')),
  gradientNorm: nullable(f64('L2 norm of the gradient.')),
  gradientMin: nullable(f64('Smallest element of the gradient.')),
  gradientMax: nullable(f64('Largest element of the gradient.')),
  updateMean: nullable(f64('Mean of the last optimizer update.')),
  updateStd: nullable(f64('Population standard deviation of the last optimizer update.')),
  updateNorm: nullable(f64('L2 norm of the last optimizer update.')),
  updateMin: nullable(f64('Smallest element of the last optimizer update.')),
  updateMax: nullable(f64('Largest element of the last optimizer update.')),
  nearZeroRatio: nullable(
    f64('Share of values within the near-zero epsilon.', { unit: 'ratio', min: 0, max: 1 }),
  ),
  updateRatio: nullable(
    f64('L2 norm of the update over the L2 norm of the value before it.', {
      unit: 'ratio',
      min: 0,
    }),
  ),
  valueNonFiniteCount: nullable(count('NaN and infinite elements of the values.')),
  gradientNonFiniteCount: nullable(count('NaN and infinite elements of the gradient.')),
  updateNonFiniteCount: nullable(count('NaN and infinite elements of the update.')),
  gradientCosine: nullable(
    f64('Cosine of the angle between the gradient and that of the probe before, -1 to 1.', {
      min: -1,
      max: 1,
    }),
  ),
  valueNormBefore: nullable(
    f64(
      'L2 norm of the values before the last optimizer update: those that the gradient belongs to.',
    ),
  ),
  optimizerGroup: nullable(key('Parameter group of the optimizer.')),
  metadata: nullable(jsonObject('Context of the summary.')),
};

/** Statistics of a parameter, its gradient and its optimizer update. */
export const parameterSummaryTable: TableDefinition<typeof columns> = defineTable(
  'parameter_summary',
  'parameter_summaries',
  'parameterName',
  'Statistics of a parameter, its gradient and its update.',
  columns,
);

/** Statistics of a parameter, its gradient and its optimizer update. */
export type ParameterSummaryRecord = RecordOf<typeof columns>;
