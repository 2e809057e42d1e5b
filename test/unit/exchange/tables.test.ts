/** All tables as CSV, JSON lines and Arrow: what others read from them, and what comes back. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { tableFromIPC } from '@uwdata/flechette';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  exportTableArrow,
  exportTableCsv,
  exportTableJsonLines,
  TABLE_NAMES,
  type TableName,
} from '../../../src/exchange.ts';
import { bytesInput } from '../../../src/codecs/input.ts';
import { TABLES } from '../../../src/records/tables.ts';
import { valuesOf } from '../../support/batches.ts';
import { imported } from '../../support/import-result.ts';
import { runs } from '../../support/property.ts';
import { allRows, bytesOf, contentOf, recordRun, validBatch } from '../../support/recorded-run.ts';

const tables = [...TABLES].map(([name, table]) => [name as TableName, table] as const);

test('the names of the tables are those of the records', () => {
  expect([...TABLE_NAMES].toSorted()).toEqual([...TABLES.keys()].toSorted());
});

/** What JSON can say of a value. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value);
  return Object.is(value, -0) ? 0 : value;
}

describe.each(tables)('%s', (name, table) => {
  const stored = Object.entries(table.columns).map(
    ([field, column]) => [table.storedNames.get(field) ?? field, column.kind] as const,
  );

  test('come back from Arrow bit for bit', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(validBatch(table), { minLength: 1, maxLength: 3 }),
        async (batches) => {
          const reader = await recordRun([[name, batches]]);
          const bytes = await bytesOf(exportTableArrow(reader, name));
          expect(tableFromIPC(bytes, {}).numRows).toBe(
            batches.reduce((sum, { rowCount }) => sum + rowCount, 0),
          );
          const back = await imported([bytesInput(`run/${name}.arrow`, bytes)]);
          expect(back.report.problems).toEqual([]);
          if (back.reader === undefined) throw new Error('nothing came back');
          expect(back.reader.run.config).toEqual(reader.run.config);
          expect(contentOf(table, await allRows(back.reader, table))).toEqual(
            contentOf(table, await allRows(reader, table)),
          );
        },
      ),
      runs(12),
    );
  });

  test('are JSON, a record a line', async () => {
    await fc.assert(
      fc.asyncProperty(validBatch(table), async (batch) => {
        const reader = await recordRun([[name, [batch]]]);
        const text = new TextDecoder().decode(await bytesOf(exportTableJsonLines(reader, name)));
        const lines: unknown[] = text
          .trimEnd()
          .split('\n')
          .map((line) => JSON.parse(line));
        expect(lines).toHaveLength(batch.rowCount);
        for (const [column, kind] of stored) {
          if (column === 'run_id' || column === 'sequence') continue;
          const expected = valuesOf(batch.columns.get(column), batch.rowCount).map((value) => {
            if (kind === 'json' && typeof value === 'string') return JSON.parse(value);
            if (kind === 'instant' && typeof value === 'number')
              return new Date(value).toISOString();
            return plain(value);
          });
          expect(
            lines.map((line) => plain(Reflect.get(Object(line), column))),
            column,
          ).toEqual(expected);
        }
        expect(lines[0]).toMatchObject({ run_id: 'run_one', sequence: 0 });
      }),
      runs(12),
    );
  });

  test('are CSV that another program reads', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'quark-csv-'));
    try {
      const [batch] = fc.sample(validBatch(table, 100), { numRuns: 1, seed: 21 });
      if (batch === undefined) throw new Error('none');
      const reader = await recordRun([[name, [batch]]]);
      const path = join(folder, `${name}.csv`);
      writeFileSync(path, await bytesOf(exportTableCsv(reader, name)));
      const connection = await (await DuckDBInstance.create(':memory:')).connect();
      const result = await connection.runAndReadAll(
        `select * from read_csv('${path}', header = true, all_varchar = true, delim = ',', quote = '"', escape = '"')`,
      );
      expect(result.columnNames()).toEqual(stored.map(([column]) => column));
      const rows = result.getRowsJS();
      expect(rows).toHaveLength(batch.rowCount);
      for (const [at, [column, kind]] of stored.entries()) {
        if (column === 'run_id' || column === 'sequence') continue;
        const expected = valuesOf(batch.columns.get(column), batch.rowCount).map((value) => {
          if (value === null) return null;
          if (kind === 'instant' && typeof value === 'number') return new Date(value).toISOString();
          return plain(value);
        });
        const found = rows.map((row) => {
          const text: unknown = row[at];
          if (text === null) return null;
          if (kind === 'f64_list' || kind === 'text_list') return plain(JSON.parse(text as string));
          if (kind === 'f64' || kind === 'count') return plain(Number(text));
          return kind === 'bool' ? text === 'true' : text;
        });
        // DuckDB takes an empty text for null, quoted or not.
        const withoutEmpty = expected.map((value) => (value === '' ? null : value));
        expect(
          found.map((value) => (value === '' ? null : value)),
          column,
        ).toEqual(withoutEmpty);
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

test('the files of a run in one folder become one run again', async () => {
  const batches = tables
    .filter(([name]) => name !== 'artifacts')
    .map(
      ([name, table]) => [name, fc.sample(validBatch(table, 5), { numRuns: 1, seed: 31 })] as const,
    );
  const reader = await recordRun(batches);
  const files = await Promise.all(
    batches.map(async ([name]) =>
      bytesInput(`out/${name}.arrow`, await bytesOf(exportTableArrow(reader, name))),
    ),
  );
  const back = await imported(files);
  expect(back.report.problems).toEqual([]);
  expect(back.report.runs).toHaveLength(1);
  for (const [name] of batches) {
    const table = TABLES.get(name);
    if (table === undefined || back.reader === undefined) throw new Error(name);
    expect(contentOf(table, await allRows(back.reader, table))).toEqual(
      contentOf(table, await allRows(reader, table)),
    );
  }
});

test.each([
  ['csv', exportTableCsv],
  ['jsonl', exportTableJsonLines],
] as const)(
  'of a run in a folder of %s files only the metrics are a run; the others are told',
  async (ending, write) => {
    const reader = await recordRun(
      tables.map(([name, table]) => [
        name,
        fc.sample(validBatch(table, 5), { numRuns: 1, seed: 4 }),
      ]),
    );
    const files = await Promise.all(
      TABLE_NAMES.map(async (name) =>
        bytesInput(`run/${name}.${ending}`, await bytesOf(write(reader, name))),
      ),
    );
    const { report } = await imported(files);
    expect(report.runs.flatMap((run) => run.files)).toEqual([`run/metrics.${ending}`]);
    const told = report.problems.filter(({ file }) => file !== `run/metrics.${ending}`);
    expect(told.map(({ file }) => file).toSorted()).toEqual(
      TABLE_NAMES.filter((name) => name !== 'metrics')
        .map((name) => `run/${name}.${ending}`)
        .toSorted(),
    );
    expect(told.every(({ reason }) => reason.includes('of a run that Quark exported'))).toBe(true);
  },
);
