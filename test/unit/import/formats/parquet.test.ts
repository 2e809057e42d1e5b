/** Parquet of other programs: DuckDB and hyparquet write it, this reads it. And what happens to files that lie. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { DuckDBInstance, type DuckDBConnection } from '@duckdb/node-api';
import fc from 'fast-check';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { exportTableParquet } from '../../../../src/exchange.ts';
import { decompressPage } from '../../../../src/codecs/parquet/parquet-codecs.ts';
import { PageBytes, readHybrid } from '../../../../src/codecs/parquet/parquet-encodings.ts';
import { TABLES } from '../../../../src/records/tables.ts';
import { importText } from '../../../support/imported.ts';
import { damaged } from '../../../support/mutations.ts';
import { runs } from '../../../support/property.ts';
import { bytesOf, recordRun, validBatch } from '../../../support/recorded-run.ts';

let folder = '';
let connection: DuckDBConnection;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'quark-parquet-'));
  connection = await (await DuckDBInstance.create(':memory:')).connect();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** What DuckDB writes for a query. */
async function written(query: string, options = ''): Promise<Uint8Array<ArrayBuffer>> {
  const path = join(folder, 'out.parquet');
  await connection.run(`copy (${query}) to '${path}' (format parquet${options})`);
  return new Uint8Array(readFileSync(path));
}

const WIDE =
  'select i as step, i // 10 as epoch, 1.0 / (i + 1) as "train/loss", ' +
  "case when i % 10 = 0 then i * 0.5 end as val_loss, 'note ' || i as note, " +
  'make_timestamp(1700000000000000 + i * 1000000) as logged from range(1000) t(i)';

function expectWide(found: Awaited<ReturnType<typeof importText>>['runs']): void {
  expect(found).toHaveLength(1);
  const metrics = found[0]?.metrics ?? {};
  expect(metrics['train/loss']).toHaveLength(1000);
  expect(metrics['train/loss']?.[999]).toEqual([999, 99, 0.001]);
  expect(metrics['val/loss']).toHaveLength(100);
  expect(metrics['val/loss']?.[99]).toEqual([990, 99, 495]);
  expect(found[0]?.times['train/loss']?.[3]).toBe(1_700_000_003_000);
}

describe('tables that DuckDB wrote', () => {
  test.each(['uncompressed', 'snappy', 'gzip', 'zstd', 'brotli', 'lz4', 'lz4_raw'])(
    'are read with %s',
    async (codec) => {
      const bytes = await written(WIDE, `, compression ${codec}, row_group_size 512`);
      const { report, runs: found } = await importText({ 'wide.parquet': bytes });
      expect(report.runs).toMatchObject([{ format: 'parquet', name: 'wide' }]);
      expect(report.problems.map(({ place }) => place)).toEqual(['column "note"']);
      expectWide(found);
    },
  );

  test('are read with the encodings of version 2', async () => {
    const bytes = await written(WIDE, ', parquet_version v2, compression zstd');
    expectWide((await importText({ 'wide.parquet': bytes })).runs);
  });

  test('in the long form: a metric a row', async () => {
    const bytes = await written(
      "select i // 2 as step, case i % 2 when 0 then 'loss' else 'eval/acc' end as metric, i * 1.5 as value from range(10) t(i)",
    );
    const { runs: found } = await importText({ 'long.parquet': bytes });
    expect(found[0]?.metrics).toEqual({
      'train/loss': [0, 1, 2, 3, 4].map((step) => [step, null, step * 3]),
      'val/accuracy': [0, 1, 2, 3, 4].map((step) => [step, null, step * 3 + 1.5]),
    });
  });

  test('with every type that a number may have', async () => {
    const bytes = await written(
      "select 1 as step, 7::tinyint as a, 255::utinyint as b, 4294967295::uinteger as c, 9223372036854775807 as d, 1.25::decimal(9,2) as e, -12345678901234567.89::decimal(30,2) as f, 0.5::float as g, 'nan'::double as h, '-inf'::double as i, '0.125' as j, true as k, [1.5] as l, {'x': 2.5} as m, 18446744073709551615::ubigint as n",
    );
    const { report, runs: found } = await importText({ 't.parquet': bytes });
    const values = Object.fromEntries(
      Object.entries(found[0]?.metrics ?? {}).map(([key, [sample]]) => [key, sample?.[2]]),
    );
    expect(values).toMatchObject({
      a: 7,
      b: 255,
      c: 4_294_967_295,
      d: 2 ** 63,
      e: 1.25,
      g: 0.5,
      h: Number.NaN,
      i: -Infinity,
      j: 0.125,
      'm/x': 2.5,
      n: 2 ** 64,
    });
    expect(values['f']).toBe(-12_345_678_901_234_568);
    expect(report.problems.map(({ place }) => place)).toEqual(['column "k"', 'column "l"']);
  });

  test('with columns that are told', async () => {
    const bytes = await written('select i * 10 as n, i * 0.5 as a, 1.0 as b from range(3) t(i)');
    const { runs: found } = await importText(
      { 't.parquet': bytes },
      { columns: { step: 'n', ignore: ['b'] } },
    );
    expect(found[0]?.metrics).toEqual({
      a: [
        [0, null, 0],
        [10, null, 0.5],
        [20, null, 1],
      ],
    });
  });

  test('of Trackio: a run for each name, with its settings and its machine', async () => {
    const rows =
      "(select i as id, '2026-01-01T00:00:0' || i as timestamp, case when i < 3 then 'calm' else 'wild' end as run_name, i % 3 as step, i * 0.5 as loss, case when i = 2 then 'Infinity' end as peak from range(5) t(i))";
    const { report, runs: found } = await importText({
      'logs/proj.parquet': await written(`select * from ${rows}`),
      'logs/proj_system.parquet': await written(
        "select 1 as id, '2026-01-01T00:00:01' as timestamp, 'calm' as run_name, 40.5 as gpu",
      ),
      'logs/proj_configs.parquet': await written(
        "select 1 as id, 'wild' as run_name, 0.1 as lr, 'adam' as optimizer, '2026' as created_at",
      ),
    });
    expect(report.problems).toEqual([]);
    expect(report.runs).toMatchObject([
      { name: 'calm', project: 'proj' },
      { name: 'wild', project: 'proj' },
    ]);
    expect(found[0]?.metrics).toEqual({
      'train/loss': [
        [0, null, 0],
        [1, null, 0.5],
        [2, null, 1],
      ],
      peak: [[2, null, Infinity]],
      'system/gpu': [[0, null, 40.5]],
    });
    expect(found[1]?.reader.run.config).toEqual({ lr: 0.1, optimizer: 'adam' });
    expect(found[0]?.times['train/loss']?.[1]).toBe(Date.UTC(2026, 0, 1, 0, 0, 1));
  });
});

describe('tables that hyparquet-writer wrote', () => {
  const count = 300;
  const ints = Array.from({ length: count }, (_, i) => (i * 7919) % 1000);
  const doubles = ints.map((i) => i / 7);
  test.each(['PLAIN', 'BYTE_STREAM_SPLIT', 'RLE_DICTIONARY'] as const)(
    'are read with %s',
    async (encoding) => {
      const bytes = new Uint8Array(
        parquetWriteBuffer({
          columnData: [
            {
              name: 'step',
              data: ints.map((_, i) => i),
              type: 'INT32',
              encoding: 'DELTA_BINARY_PACKED',
              nullable: false,
            },
            {
              name: 'time',
              data: ints.map((i) => BigInt(i)),
              type: 'INT64',
              encoding: 'DELTA_BINARY_PACKED',
            },
            { name: 'x', data: doubles, type: 'DOUBLE', encoding },
            {
              name: 'mode',
              data: ints.map((i) => `split${i % 3}`),
              type: 'STRING',
              encoding: 'DELTA_BYTE_ARRAY',
            },
          ],
          pageSize: 500,
        }),
      );
      const { report, runs: found } = await importText({ 't.parquet': bytes });
      expect(report.problems).toEqual([]);
      const all = Object.entries(found[0]?.metrics ?? {})
        .filter(([key]) => key.endsWith('/x'))
        .flatMap(([, samples]) => samples)
        .toSorted((a, b) => (a[0] ?? 0) - (b[0] ?? 0));
      expect(all.map(([, , value]) => value)).toEqual(doubles);
    },
  );
});

describe('files that lie', () => {
  test('a run in a page is no longer than the page says', () => {
    // A run of 2^31 values in six bytes.
    const run = Uint8Array.of(0xfe, 0xff, 0xff, 0xff, 0x1f, 7);
    expect(readHybrid(new PageBytes(run), 3, 10)).toEqual(new Int32Array(10).fill(7));
    expect(() => readHybrid(new PageBytes(Uint8Array.of(0, 0, 0)), 3, 10)).toThrow('no length');
  });

  test('a page becomes what it says, and no more', async () => {
    const bomb = new Uint8Array(gzipSync(new Uint8Array(50_000_000)));
    await expect(decompressPage('GZIP', bomb, 100_000)).rejects.toThrow('more than it says');
    const rle = Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 0xa0, 0xff, 0xff, 0xff, 0x7f, 0x02, 0, 0, 0);
    await expect(decompressPage('ZSTD', rle, 1000)).rejects.toThrow('frame says');
    const window = Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xf8, 0x01, 0, 0, 0);
    await expect(decompressPage('ZSTD', window, 1000)).rejects.toThrow('window');
    const lz4 = new Uint8Array(4000).fill(255);
    lz4.set([0x1f, 65, 1, 0]);
    lz4[3999] = 0;
    await expect(decompressPage('LZ4_RAW', lz4, 3000)).rejects.toThrow('outside');
    await expect(
      decompressPage('SNAPPY', Uint8Array.of(5, 0x10, 1, 2, 3, 4, 5), 4),
    ).rejects.toBeInstanceOf(Error);
    await expect(decompressPage('BROTLI', Uint8Array.of(1, 2, 3), 4)).rejects.toBeInstanceOf(Error);
    await expect(decompressPage('LZO', Uint8Array.of(1), 4)).rejects.toThrow('not known');
  });

  test('rows that take no room are bounded by the size of the file', async () => {
    const bytes = await written('select 1 as step, 2.0 as loss from range(3000000)');
    const { report } = await importText({ 't.parquet': bytes });
    expect(report.runs).toEqual([]);
    expect(report.problems[0]?.reason).toMatch(/limits.maxCellsPerByte/);
  });

  test('a footer longer than its limit, or than its file, is refused', async () => {
    const bytes = await written('select 1 as step, 2.0 as loss');
    const short = await importText({ 't.parquet': bytes }, { limits: { maxFooterBytes: 10 } });
    expect(short.report.problems[0]?.reason).toMatch(/limits.maxFooterBytes/);
    new DataView(bytes.buffer).setUint32(bytes.length - 8, 0xffff_fff0, true);
    const long = await importText({ 't.parquet': bytes });
    expect(long.report.problems[0]?.reason).toMatch(/footer says/);
    const cut = await importText({ 't.parquet': bytes.slice(0, -5) });
    expect(cut.report.problems[0]?.reason).toMatch(/cut off/);
  });

  test('a damaged page costs its row group, and is reported with its place', async () => {
    const table = TABLES.get('metrics');
    if (table === undefined) throw new Error('metrics');
    const batches = fc.sample(validBatch(table, 20), { numRuns: 1, seed: 4 });
    const reader = await recordRun([['metrics', batches]]);
    const bytes = await bytesOf(exportTableParquet(reader, 'metrics'));
    const footer = new DataView(bytes.buffer).getUint32(bytes.length - 8, true);
    const at = bytes.length - 8 - footer - 12;
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    const { report } = await importText({ 'metrics.parquet': bytes });
    expect(report.problems).toMatchObject([
      { place: 'row group 1', reason: expect.stringMatching(/checksum/) },
    ]);
  });

  test('any damage ends, and is told', async () => {
    const table = TABLES.get('parameter_summaries');
    if (table === undefined) throw new Error('parameter_summaries');
    const reader = await recordRun([
      ['parameter_summaries', fc.sample(validBatch(table, 20), { numRuns: 2, seed: 5 })],
    ]);
    const inputs = [
      { 'a.parquet': await written(WIDE, ', compression zstd') },
      { 'a.parquet': await written(WIDE, ', parquet_version v2, compression lz4_raw') },
      { 'a.parquet': await written(`${WIDE} limit 20`, ', compression uncompressed') },
      { 'a.parquet': await written(`${WIDE} limit 20`, ', compression brotli') },
      {
        'parameter_summaries.parquet': await bytesOf(
          exportTableParquet(reader, 'parameter_summaries'),
        ),
      },
    ];
    await fc.assert(
      fc.asyncProperty(damaged(inputs), async (files) => {
        const { report } = await importText(files, { format: 'parquet' });
        expect(report.runs.length + report.problems.length).toBeGreaterThan(0);
      }),
      runs(1000),
    );
  }, 240_000);
});
