/**
 * Older forms of stored tables, and the step from each version to the next. A segment keeps the version it was written
 * with; readers apply the steps in memory, `migrateStore` writes the result back.
 */
import { SchemaMigrationError } from '../base/errors.ts';
import { CURRENT_SCHEMA_VERSION } from '../schema/version.ts';
import type { ArrowBatch, ArrowColumn } from '../codecs/arrow/arrow-reader.ts';

/** Turns a batch of version `from` into one of version `from + 1`. */
type Migration = {
  readonly from: number;
  readonly table: string;
  readonly apply: (batch: ArrowBatch) => ArrowBatch;
};

const MIGRATIONS: readonly Migration[] = [
  {
    // Version 0 called the columns of metrics `metric`, `global_step` and `wall_time`, the last in seconds.
    from: 0,
    table: 'metrics',
    apply: (batch) =>
      mapColumns(batch, (name, column) => {
        switch (name) {
          case 'metric':
            return ['metric_key', column];
          case 'global_step':
            return ['step', column];
          case 'wall_time':
            return ['timestamp', scaled(column, 1000)];
          default:
            return [name, column];
        }
      }),
  },
  {
    // Version 1 gave every score a number, also where nothing had been judged. What it said then stays as it was.
    from: 1,
    table: 'health_scores',
    apply: (batch) => batch,
  },
];

/**
 * A batch of any earlier version in the current form.
 *
 * @throws {SchemaMigrationError} when the batch is from a newer Quark
 */
export function migrateBatch(table: string, version: number, batch: ArrowBatch): ArrowBatch {
  if (version > CURRENT_SCHEMA_VERSION) {
    throw new SchemaMigrationError(
      `Data of schema version ${version} cannot be read: this Quark knows versions up to ${CURRENT_SCHEMA_VERSION}. Update quark-sdk.`,
      { details: { version, current: CURRENT_SCHEMA_VERSION } },
    );
  }
  let current = batch;
  for (const { from, table: of, apply } of MIGRATIONS) {
    if (of === table && from >= version) current = apply(current);
  }
  return current;
}

function mapColumns(
  batch: ArrowBatch,
  map: (name: string, column: ArrowColumn) => readonly [string, ArrowColumn],
): ArrowBatch {
  return {
    ...batch,
    columns: new Map([...batch.columns].map(([name, column]) => map(name, column))),
  };
}

function scaled(column: ArrowColumn, factor: number): ArrowColumn {
  if (column.data.kind !== 'number') return column;
  return {
    ...column,
    type: { kind: 'float', bits: 64 },
    data: {
      kind: 'number',
      values: Float64Array.from(column.data.values, (value) => value * factor),
    },
  };
}
