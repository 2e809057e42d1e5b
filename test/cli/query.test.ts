/** `quark query`, on a store and on exports of it. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  exportMetricsArrow,
  exportMetricsCsv,
  exportQuark,
  exportTableParquet,
} from '../../src/exchange.ts';
import { MetricsLogger, openRun, openStorage, TrainingSession } from '../../src/index.ts';
import { FakeIo, quark, type Ran } from './fake-io.ts';
import { runCli } from '../../src/cli/cli.ts';
import { casesOf, longTest } from '../support/long.ts';

let folder = '';
let runId = '';

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'quark-query-'));
  const session = await TrainingSession.startRun({
    project: 'a "quoted", name',
    config: { rate: 0.1 },
    storageDir: folder,
    handleSignals: false,
  });
  ({ runId } = session);
  const metrics = new MetricsLogger(session);
  for (let step = 0; step < 10; step += 1)
    metrics.log('train/loss', step === 4 ? Number.NaN : 1 / (step + 1), { step });
  metrics.log('big', 9007199254740991, { step: 1 });
  await session.endRun('completed');
  const store = await openStorage(folder);
  const reader = await openRun(store, runId);
  let csv = '';
  for await (const part of exportMetricsCsv(reader)) csv += part;
  writeFileSync(join(folder, 'export.csv'), csv);
  const binary = async (name: string, pieces: AsyncIterable<Uint8Array>): Promise<void> => {
    const parts: Uint8Array[] = [];
    for await (const part of pieces) parts.push(part);
    writeFileSync(join(folder, name), Buffer.concat(parts));
  };
  await binary('export.arrow', exportMetricsArrow(reader));
  await binary('export.parquet', exportTableParquet(reader, 'metrics'));
  await binary('export.quark', exportQuark(reader));
  await store.close();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const run = (...args: string[]): Promise<Ran> => quark(['query', ...args], { cwd: folder });

test('answers as a table, as JSON and as CSV', async () => {
  const sql =
    'select metric_key as key, value, step from metrics where step between 3 and 5 order by step';
  const table = await run(sql);
  expect(table.stderr).toBe('');
  expect(table.stdout.split('\n').map((line) => line.split(/\s+/).filter(Boolean))).toEqual([
    ['key', 'value', 'step'],
    ['train/loss', '0.25', '3'],
    ['train/loss', 'NaN', '4'],
    ['train/loss', String(1 / 6), '5'],
    [],
  ]);
  const json = await run(sql, '--json');
  expect(
    json.stdout
      .trim()
      .split('\n')
      .map((line): unknown => JSON.parse(line)),
  ).toEqual([
    { key: 'train/loss', value: 0.25, step: 3 },
    { key: 'train/loss', value: 'NaN', step: 4 },
    { key: 'train/loss', value: 1 / 6, step: 5 },
  ]);
  const csv = await run(
    "select project_name, '' as nothing, null as missing, config, 9007199254740993 as big from runs",
    '--csv',
  );
  expect(csv.stdout).toBe(
    'project_name,nothing,missing,config,big\n"a ""quoted"", name","",,"{""rate"":0.1}",9007199254740993\n',
  );
  const cut = await run(sql, '--max-rows', '1');
  expect(cut.stdout.trim().split('\n')).toHaveLength(2);
  expect(cut.stderr).toContain('Only the first 1 rows');
  expect((await run('select 1 where false')).stdout).toBe('No rows.\n');
});

describe('exports are asked as the store is', () => {
  const sql = 'select metric_key, value, step from metrics order by metric_key, step';
  test.each(casesOf(['export.quark', 'export.csv', 'export.arrow', 'export.parquet'], 2))(
    '%s',
    async (file) => {
      const ofStore = await run(sql, '--json');
      expect(ofStore.code).toBe(0);
      const ofFile = await run(sql, '--file', file, '--json');
      expect(ofFile.stderr).toBe('');
      expect(ofFile.stdout).toBe(ofStore.stdout);
    },
  );

  test('a file that is none of them says so', async () => {
    writeFileSync(join(folder, 'noise.bin'), Uint8Array.of(1, 2, 3));
    const { stdout, stderr } = await run(
      'select count(*) as n from metrics',
      '--file',
      'noise.bin',
    );
    expect(stderr).toContain('noise.bin is not recognised');
    expect(stdout).toContain('0');
  });
});

test('refuses what makes no sense', async () => {
  const wrong = await run('select nothing from metrics', '--json');
  expect(wrong.code).toBe(1);
  expect(JSON.parse(wrong.stderr)).toMatchObject({ error: { code: 'invalid_input' } });
  expect((await run('select 1', '--json', '--csv')).code).toBe(2);
  const endless = await run("select 'infinity'::timestamp t");
  expect(endless).toMatchObject({ code: 1, stderr: expect.stringMatching(/failed.*VARCHAR/) });
  const none = await run('select 1', '--max-rows', '0');
  expect(none).toMatchObject({ code: 2, stderr: expect.stringContaining('--max-rows') });
  expect((await run('select 1', '--file', 'export.csv', '--storage-dir', '.')).code).toBe(2);
  const outside = await run(`select * from read_csv('${join(folder, 'export.csv')}')`);
  expect(outside.code).toBe(1);
  expect(outside.stderr).toContain('disabled');
});

test.each(['timeout', 'max-memory', 'max-result'])('--%s is at least 1', async (name) => {
  const none = await run('select 1', `--${name}`, '0');
  expect(none).toMatchObject({ code: 2, stderr: expect.stringContaining(`--${name}`) });
});

longTest('says which option lifts a limit that it reached', async () => {
  const endless = 'select count(*) from range(1000000000) a, range(1000000000) b';
  const late = await run(endless, '--timeout', '1');
  expect(late).toMatchObject({ code: 1, stderr: expect.stringContaining('--timeout') });
  const large = await run("select repeat('x', 2000000)", '--max-result', '1');
  expect(large).toMatchObject({ code: 1, stderr: expect.stringContaining('--max-result') });
});

test('is ended by Ctrl+C', async () => {
  const io = new FakeIo({ cwd: folder });
  const running = runCli(['query', 'select count(*) from range(1000000) a, range(1000000) b'], io);
  io.interrupt();
  expect(await running).toBe(1);
  expect(io.err).toMatch(/aborted|cancelled|ended/i);
});
