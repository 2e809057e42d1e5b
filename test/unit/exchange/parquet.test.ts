/** Parquet there and back, and what others make of it. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import fc from 'fast-check';
import { parquetMetadata, parquetReadObjects } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { exportTableParquet, type TableName } from '../../../src/exchange.ts';
import { bytesInput } from '../../../src/codecs/input.ts';
import { TABLES } from '../../../src/records/tables.ts';
import { compactTable } from '../../../src/segment/compact.ts';
import { valuesOf } from '../../support/batches.ts';
import { imported } from '../../support/import-result.ts';
import { runs } from '../../support/property.ts';
import { allRows, bytesOf, contentOf, recordRun, validBatch } from '../../support/recorded-run.ts';

const tables = [...TABLES].map(([name, table]) => [name as TableName, table] as const);

describe.each(tables)('%s in Parquet', (name, table) => {
  test('come back bit for bit', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(validBatch(table), { minLength: 1, maxLength: 3 }),
        async (batches) => {
          const reader = await recordRun([[name, batches]]);
          const bytes = await bytesOf(exportTableParquet(reader, name));
          const back = await imported([bytesInput(`run/${name}.parquet`, bytes)]);
          expect(back.report.problems).toEqual([]);
          expect(back.reader?.run).toMatchObject({
            config: reader.run.config,
            tags: ['a', 'b'],
            status: 'completed',
            projectName: 'digits',
            startedAt: back.reader?.run.startedAt,
          });
          if (back.reader === undefined) throw new Error('nothing came back');
          expect(contentOf(table, await allRows(back.reader, table))).toEqual(
            contentOf(table, await allRows(reader, table)),
          );
        },
      ),
      runs(12),
    );
  });

  test('are read by another implementation', async () => {
    await fc.assert(
      fc.asyncProperty(validBatch(table), async (batch) => {
        const reader = await recordRun([[name, [batch]]]);
        const bytes = await bytesOf(exportTableParquet(reader, name));
        const rows = await parquetReadObjects({ file: bytes.buffer, compressors });
        expect(rows).toHaveLength(batch.rowCount);
        for (const [field, column] of Object.entries(table.columns)) {
          const stored = table.storedNames.get(field) ?? field;
          if (field === 'runId' || field === 'sequence') continue;
          const expected = valuesOf(batch.columns.get(stored), batch.rowCount);
          const found = rows.map((row) => {
            const value: unknown = row[stored];
            if (value instanceof Date) return value.getTime();
            return typeof value === 'bigint' ? Number(value) : (value ?? null);
          });
          const plain =
            column.kind === 'json'
              ? expected.map((text) => (typeof text === 'string' ? JSON.parse(text) : null))
              : expected;
          expect(found, stored).toEqual(plain);
        }
      }),
      runs(8),
    );
  });
});

test('a merged run is exported in the order in which it was persisted', async () => {
  const table = TABLES.get('metrics');
  if (table === undefined) throw new Error('metrics');
  const batches = fc.sample(validBatch(table, 60), { numRuns: 9, seed: 3 });
  const reader = await recordRun([['metrics', batches]]);
  const before = contentOf(table, await allRows(reader, table));
  expect(await compactTable(reader.store, table, reader.run.id, 'merge')).toMatchObject({
    removed: 9,
  });
  expect(contentOf(table, await allRows(reader, table))).toEqual(before);
});

test('the metadata of the file says what the numbers are', async () => {
  const table = TABLES.get('telemetry');
  if (table === undefined) throw new Error('telemetry');
  const reader = await recordRun([
    ['telemetry', fc.sample(validBatch(table), { numRuns: 1, seed: 5 })],
  ]);
  const bytes = await bytesOf(exportTableParquet(reader, 'telemetry'));
  const facts = new Map(
    parquetMetadata(bytes.buffer).key_value_metadata?.map(({ key, value }) => [key, value]),
  );
  expect(facts.get('quark:table')).toBe('telemetry');
  expect(JSON.parse(facts.get('quark:columns') ?? '')).toMatchObject({
    step_time_ms: { kind: 'f64', unit: 'ms' },
    ram_used_bytes: { kind: 'count', unit: 'bytes' },
    timestamp: { kind: 'instant', unit: 'ms' },
  });
  expect(JSON.parse(facts.get('quark:run') ?? '')).toEqual(reader.run.toDict());
});

test('a table without rows is a file, and what does not exist is refused', async () => {
  const reader = await recordRun([]);
  const bytes = await bytesOf(exportTableParquet(reader, 'phases'));
  expect(await parquetReadObjects({ file: bytes.buffer, compressors })).toEqual([]);
  await expect(bytesOf(exportTableParquet(reader, 'phase' as 'phases'))).rejects.toMatchObject({
    code: 'invalid_input',
    details: { field: 'table' },
  });
  await expect(
    bytesOf(exportTableParquet(reader, 'phases', { rowGroup: 1 } as object)),
  ).rejects.toMatchObject({ code: 'invalid_input' });
});

describe('DuckDB', () => {
  let folder = '';
  let instance: DuckDBInstance;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'quark-parquet-'));
    instance = await DuckDBInstance.create(':memory:');
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test.each(tables)('reads %s with the types and values they have', async (name, table) => {
    const connection = await instance.connect();
    const batch = fc.sample(validBatch(table, 200), { numRuns: 1, seed: 11 });
    const reader = await recordRun([[name, batch]]);
    const path = join(folder, `${name}.parquet`);
    writeFileSync(path, await bytesOf(exportTableParquet(reader, name)));
    const result = await connection.runAndReadAll(
      `select * exclude (timestamp), epoch_ms(timestamp) as timestamp from read_parquet('${path}')`,
    );
    const columns = new Map(result.columnNames().map((column, i) => [column, i]));
    const rows = result.getRowsJS();
    expect(rows).toHaveLength(batch[0]?.rowCount ?? 0);
    for (const field of table.segmentColumns) {
      const stored = table.storedNames.get(field) ?? field;
      const at = columns.get(stored) ?? -1;
      const found = rows.map((row) => {
        const value: unknown = row[at];
        return typeof value === 'bigint' ? Number(value) : (value ?? null);
      });
      expect(found, stored).toEqual(valuesOf(batch[0]?.columns.get(stored), rows.length));
    }
    const types = await connection.runAndReadAll(`describe select * from read_parquet('${path}')`);
    const typeOf = new Map(types.getRowsJS().map(([column, type]) => [column, type]));
    expect(typeOf.get('sequence')).toBe('BIGINT');
    expect(typeOf.get('timestamp')).toBe('TIMESTAMP WITH TIME ZONE');
    expect(typeOf.get('run_id')).toBe('VARCHAR');
  });
});
