/** `quark export`, into a folder, and back with `quark import`. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { FakeIo, quark, type Ran } from './fake-io.ts';
import { runCli } from '../../src/cli/cli.ts';

let folder = '';
let id = '';
const run = (...args: string[]): Promise<Ran> => quark(args, { cwd: folder });

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'quark-export-'));
  const rows = Array.from({ length: 50 }, (_, step) => ({
    step,
    loss: 1 / (step + 1),
    learning_rate: 0.1,
  }));
  writeFileSync(join(folder, 'trainer_state.json'), JSON.stringify({ log_history: rows }));
  const { stdout } = await run('import', 'trainer_state.json', '--json');
  id = JSON.parse(stdout).runs[0].runId;
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function points(...storage: string[]): Promise<string> {
  return (await run('metrics', id, '--csv', ...storage)).stdout;
}

test('a .quark file brings the run into another store, once', async () => {
  const out = await run('export', id, '--out', 'there/run.quark');
  expect(out).toMatchObject({ code: 0, stderr: '' });
  expect(out.stdout).toMatch(/^1 file, [\d.]+ kB: .*run\.quark\n$/);
  expect(readdirSync(join(folder, 'there'))).toEqual(['run.quark']);
  const back = await run('import', 'there/run.quark', '--storage-dir', 'other', '--json');
  expect(JSON.parse(back.stdout).runs).toMatchObject([
    { runId: id, format: 'quark', isNew: true, rowCount: 100 },
  ]);
  expect(await points('--storage-dir', 'other')).toBe(await points());
  const again = await run('import', 'there/run.quark', '--storage-dir', 'other');
  expect(again.stdout).toMatch(/known/);
});

test('what is there is not written over without --force', async () => {
  writeFileSync(join(folder, 'mine.quark'), 'mine');
  const refused = await run('export', id, '--out', 'mine.quark');
  expect(refused.code).toBe(1);
  expect(refused.stderr).toMatch(/mine\.quark is there already. Give --force/);
  expect(readFileSync(join(folder, 'mine.quark'), 'utf8')).toBe('mine');
  mkdirSync(join(folder, 'folder.quark'));
  expect((await run('export', id, '--out', 'folder.quark')).stderr).toMatch(/is a folder/);
  expect((await run('export', id, '--out', 'mine.quark', '--force')).code).toBe(0);
  expect(readFileSync(join(folder, 'mine.quark'), 'latin1')).toMatch(/^QUARKF1\n/);
  writeFileSync(join(folder, 'file'), '');
  const below = await run('export', id, '--out', 'file/run.quark');
  expect(below.code).toBe(1);
  expect(below.stderr).toMatch(/cannot be written/);
});

test.each(['parquet', 'arrow'])(
  '%s: a file a table, which become one run again',
  async (format) => {
    const out = await run('export', id, `--format=${format}`, '--out', `as-${format}`, '--json');
    expect(out.stderr).toBe('');
    expect(JSON.parse(out.stdout)).toMatchObject({ run_id: id, format, problems: [] });
    expect(readdirSync(join(folder, `as-${format}`))).toEqual([`metrics.${format}`]);
    const back = await run('import', `as-${format}`, '--storage-dir', `from-${format}`, '--json');
    const report = JSON.parse(back.stdout);
    expect(report.problems).toEqual([]);
    const [imported] = report.runs;
    expect(imported).toMatchObject({ rowCount: 100, isNew: true });
    const csv = await run('metrics', imported.runId, '--csv', '--storage-dir', `from-${format}`);
    expect(csv.stdout).toBe(await points());
  },
);

test('one table as a file of its own; the format follows from its name', async () => {
  expect((await run('export', id, '--table', 'metrics', '--out', 'points.csv')).code).toBe(0);
  const lines = readFileSync(join(folder, 'points.csv'), 'utf8').split('\r\n');
  expect(lines).toHaveLength(102);
  expect(lines[0]).toBe(
    'run_id,sequence,timestamp,metric_key,namespace,metric_name,value,step,epoch,description,metadata',
  );
  expect((await run('export', id, '--table', 'metrics', '--out', 'points.jsonl')).code).toBe(0);
  expect(
    JSON.parse(readFileSync(join(folder, 'points.jsonl'), 'utf8').split('\n')[0] ?? ''),
  ).toMatchObject({ run_id: id, sequence: 0 });
});

test('tensorboard and mlflow: folders that our importer reads', async () => {
  expect((await run('export', id, '--format=tensorboard', '--out', 'tb')).code).toBe(0);
  expect(readdirSync(join(folder, 'tb'))[0]).toMatch(/tfevents/);
  expect((await run('export', id, '--format=mlflow', '--out', 'mlruns')).code).toBe(0);
  const [experiment = ''] = readdirSync(join(folder, 'mlruns'));
  expect(existsSync(join(folder, 'mlruns', experiment, id, 'metrics', 'train', 'loss'))).toBe(true);
  for (const name of ['tb', 'mlruns']) {
    const back = await run('import', name, '--storage-dir', `from-${name}`, '--json');
    expect(JSON.parse(back.stdout).runs).toMatchObject([{ rowCount: 100 }]);
  }
  const twice = await run('export', id, '--format=mlflow', '--out', 'mlruns');
  expect(twice.stderr).toMatch(/is there already/);
});

test('what makes no sense is refused', async () => {
  expect(await run('export', id, '--format=docx')).toMatchObject({ code: 2 });
  expect((await run('export', id, '--table', 'metrics')).stderr).toMatch(
    /--table goes with parquet/,
  );
  expect((await run('export', id, '--table', 'nothing', '--format=csv')).code).toBe(2);
  expect((await run('export', 'run_absent')).code).toBe(3);
  expect((await run('export')).stderr).toMatch(/needs RUN/);
  expect((await run('export', '--help')).stdout).toMatch(/--force/);
});

test('a terminal is told how far it is, and is left clean', async () => {
  const io = new FakeIo({ cwd: folder, columns: 80 });
  expect(await runCli(['export', id, '--out', 'told.quark'], io)).toBe(0);
  expect(io.err).toMatch(/written/);
  expect(io.err.endsWith('\r\u001b[2K')).toBe(true);
});
