import { checkKey } from '../base/names.ts';
import { checkSeriesKey } from '../base/series-key.ts';
import { count, f64, jsonObject, key, named, nullable } from '../schema/column.ts';
import { defineTable, TABLE_COLUMNS, type TableDefinition } from '../schema/table.ts';

const columns = {
  ...TABLE_COLUMNS,
  // With the context of the series, if any: `loss {subset=val}`. The words below are in files that are compared byte by byte.
  metricKey: named(key('Namespace and name, joined by "/".'), checkSeriesKey),
  namespace: named(
    nullable(key('All segments of the key but the last; null for a bare name.')),
    checkKey,
  ),
  metricName: named(key('Last segment of the key.'), checkKey),
  value: f64('The sample. NaN and infinities are kept bit for bit unless the writer rejects them.'),
  step: nullable(count('Training step.')),
  epoch: nullable(count('Training epoch.')),
  description: nullable(key('What the metric means.')),
  metadata: nullable(jsonObject('Context of the sample.')),
};

/** A sample of a scalar metric. */
export const metricTable: TableDefinition<typeof columns> = defineTable(
  'metric',
  'metrics',
  'metricKey',
  'A sample of a scalar metric.',
  columns,
);
