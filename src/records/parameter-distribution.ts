import { checkModuleName } from '../base/names.ts';
import {
  count,
  countList,
  f64List,
  jsonObject,
  key,
  literal,
  named,
  nullable,
} from '../schema/column.ts';
import type { RecordOf } from '../schema/record.ts';
import { defineTable, TABLE_COLUMNS, type TableDefinition } from '../schema/table.ts';
import { PARAMETER_DISTRIBUTION_TYPES, PARAMETER_ROLES } from './literals.ts';

const columns = {
  ...TABLE_COLUMNS,
  moduleName: named(key('Path of the layer in the model.'), checkModuleName),
  parameterName: named(key('Full name of the parameter.'), checkModuleName),
  parameterRole: literal('What the parameter is to its layer.', PARAMETER_ROLES),
  distributionType: literal('What is counted.', PARAMETER_DISTRIBUTION_TYPES),
  step: nullable(count('Training step.')),
  epoch: nullable(count('Training epoch.')),
  binEdges: f64List('Bin edges, ascending; one more than there are counts.'),
  counts: countList('Elements a bin; every bin but the last excludes its upper edge.'),
  sampleCount: count('Elements that were counted.'),
  totalCount: count('Elements of the parameter.'),
  metadata: nullable(jsonObject('Context of the histogram.')),
};

/** Histogram of a parameter, its gradient or its optimizer update. */
export const parameterDistributionTable: TableDefinition<typeof columns> = defineTable(
  'parameter_distribution',
  'parameter_distributions',
  'parameterName',
  'Histogram of a parameter, its gradient or its update.',
  columns,
);

/** Histogram of a parameter, its gradient or its optimizer update. */
export type ParameterDistributionRecord = RecordOf<typeof columns>;
