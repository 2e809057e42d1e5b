/** The commands that read, on a store in a folder. */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  EventLogger,
  MetricsLogger,
  openStorage,
  TrainingSession,
  VERSION,
} from '../../src/index.ts';
import { serveStore } from '../../src/node.ts';
import { quark, type FakeIoOptions, type Ran } from './fake-io.ts';

let folder = '';
const ids: string[] = [];

const STEPS = [0.1, 1 / 3, Number.NaN, Number.POSITIVE_INFINITY, -0, 5e-324, 123_456_789.123];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'quark-cli-'));
  const options = { storageDir: folder, handleSignals: false };
  const first = await TrainingSession.startRun({
    ...options,
    project: 'digits',
    tags: ['a', 'b'],
    config: { learning_rate: 0.1 },
  });
  const metrics = new MetricsLogger(first);
  for (const [step, value] of STEPS.entries()) metrics.log('train/loss', value, { step, epoch: 0 });
  metrics.log('val/loss', 2, {
    epoch: 1,
    description: 'held out, "quoted"',
    metadata: { split: 'val' },
  });
  new EventLogger(first).log('checkpoint_saved', {
    step: 3,
    payload: { path: 'model\u001b[31m.bin' },
  });
  await first.endRun('completed');
  await first.close();
  const second = await TrainingSession.startRun({
    ...options,
    project: 'other',
    tags: ['b'],
    parentRunId: first.runId,
  });
  await second.addLog('Out of memory', { identifier: 'Error', step: 5 });
  await second.endRun('failed', 'Out of memory');
  await second.close();
  // Its session lets go without ending it: nobody holds it any more.
  const third = await TrainingSession.startRun({ ...options, project: 'digits' });
  await third.close();
  ids.push(first.runId, second.runId, third.runId);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const run = (args: readonly string[], options: Partial<FakeIoOptions> = {}): Promise<Ran> =>
  quark(args, { cwd: folder, ...options });

async function json(args: readonly string[]): Promise<unknown> {
  const { code, stdout, stderr } = await run([...args, '--json']);
  expect([code, stderr]).toStrictEqual([0, '']);
  return JSON.parse(stdout);
}

const lines = (text: string): string[] => text.split('\n').filter((line) => line !== '');

describe('quark runs', () => {
  it('lists the runs, newest first, with what their leases say of them', async () => {
    const { code, stdout } = await run(['runs']);
    expect(code).toBe(0);
    const [head, ...rows] = lines(stdout);
    expect(head).toMatch(/^RUN +PROJECT +STATUS +STARTED +TOOK( +\S*loss)? +TAGS$/);
    expect(rows.map((row) => row.split(/ {2,}/).slice(0, 3))).toStrictEqual([
      [ids[2], 'digits', 'interrupted'],
      [ids[1], 'other', 'failed'],
      [ids[0], 'digits', 'completed'],
    ]);
    expect(stdout).not.toContain('\u001b');
  });

  it('filters by project, status and tag, and bounds the list', async () => {
    const found = async (...args: string[]): Promise<unknown[]> =>
      ((await json(['runs', ...args])) as { id: string }[]).map(({ id }) => id);
    expect(await found('--project', 'digits')).toStrictEqual([ids[2], ids[0]]);
    expect(await found('--status', 'failed', '--status', 'completed')).toStrictEqual([
      ids[1],
      ids[0],
    ]);
    expect(await found('--status', 'running')).toStrictEqual([]);
    expect(await found('--status', 'interrupted')).toStrictEqual([ids[2]]);
    expect(await found('--tag', 'b')).toStrictEqual([ids[1], ids[0]]);
    expect(await found('--tag', 'b', '--tag', 'a')).toStrictEqual([ids[0]]);
    expect(await found('--limit', '1')).toStrictEqual([ids[2]]);
  });

  it('writes the persisted form as JSON', async () => {
    const runs = await json(['runs', '--project', 'other']);
    expect(runs).toMatchObject([
      {
        id: ids[1],
        project_name: 'other',
        status: 'failed',
        effective_status: 'failed',
        is_live: false,
        parent_run_id: ids[0],
      },
    ]);
  });

  it('says that there are none', async () => {
    expect(await run(['runs', '--project', 'nobody'])).toStrictEqual({
      code: 0,
      stdout: '',
      stderr: 'No runs.\n',
    });
  });

  it('fits a terminal, and colours it unless asked not to', async () => {
    const narrow = await run(['runs'], { columns: 90 });
    expect(narrow.stdout).toContain('\u001b[31mfailed\u001b[39m');
    // oxlint-disable-next-line no-control-regex -- takes the colours away
    const plain = narrow.stdout.replace(/\u001b\[\d+m/g, '');
    expect(Math.max(...lines(plain).map((line) => line.length))).toBeLessThanOrEqual(90);
    for (const env of [{ NO_COLOR: '1' }, { TERM: 'dumb' }]) {
      expect((await run(['runs'], { columns: 90, env })).stdout).not.toContain('\u001b');
    }
  });
});

describe('quark show', () => {
  it('shows everything about a run', async () => {
    const { code, stdout } = await run(['show', ids[0] ?? '']);
    expect(code).toBe(0);
    for (const text of [
      ids[0],
      'digits',
      'completed',
      'a, b',
      'learning_rate',
      '0.1',
      'node_version',
      'train/loss',
      'val/loss',
      join('.quark', 'runs'),
    ]) {
      expect(stdout).toContain(text);
    }
    expect(await json(['show', ids[0] ?? ''])).toMatchObject({
      id: ids[0],
      metric_keys: ['train/loss', 'val/loss'],
      config: { learning_rate: 0.1 },
    });
  });

  it('says why a run ended, and values as people read them', async () => {
    expect((await run(['show', ids[0] ?? ''])).stdout).toMatch(
      /train\/loss +last 123460000, best .*\n +val\/loss +last 2, best 2\n/,
    );
    expect((await run(['show', ids[1] ?? ''])).stdout).toMatch(
      / {2}status +failed\n {2}reason +Out of memory\n/,
    );
  });

  it('takes the beginning of an id where it is clear, and "latest"', async () => {
    const [a = '', b = ''] = ids;
    let common = 0;
    while (a[common] === b[common]) common += 1;
    expect(await json(['show', 'latest'])).toMatchObject({ id: ids[2] });
    const unique = a.slice(
      0,
      Math.max(
        ...[b, ids[2] ?? ''].map((other) => Array.from(a).findIndex((c, i) => c !== other[i])),
      ) + 1,
    );
    expect(await json(['show', unique])).toMatchObject({ id: a });
    const ambiguous = await run(['show', a.slice(0, 5)]);
    expect(ambiguous.code).toBe(1);
    expect(ambiguous.stderr).toContain('3 runs start with');
  });

  it('says when there is no such run', async () => {
    const { code, stdout, stderr } = await run(['show', 'nothing']);
    expect([code, stdout]).toStrictEqual([3, '']);
    expect(stderr).toMatch(/^error: No run "nothing" in file:.* with "quark runs"/);
    expect(stderr).not.toContain('    at ');
  });
});

describe('quark metrics', () => {
  it('summarises every metric', async () => {
    const { code, stdout } = await run(['metrics', ids[0] ?? '']);
    expect(code).toBe(0);
    const rows = lines(stdout).map((line) => line.trim().split(/ {2,}/));
    expect(rows).toStrictEqual([
      ['METRIC', 'COUNT', 'FIRST', 'LAST', 'MIN', 'MAX', 'STEP', 'NOT FINITE'],
      ['train/loss', '7', '0.1', '123460000', '0', '123460000', '6', '2'],
      ['val/loss', '1', '2', '2', '2', '2', '0'],
    ]);
  });

  it('writes every point as CSV and as JSON lines, bit for bit', async () => {
    const csv = await run(['metrics', ids[0] ?? '', '--csv', '--key', 'train/loss']);
    const rows = csv.stdout.split('\r\n').filter((line) => line !== '');
    expect(rows[0]).toBe('sequence,timestamp,metric_key,step,epoch,value');
    expect(rows.slice(1).map((row) => Number(row.split(',')[5]))).toStrictEqual(STEPS);
    const text = await run(['metrics', ids[0] ?? '', '--json', '--key', 'train/loss']);
    const records = lines(text.stdout).map(
      (line) => JSON.parse(line) as { value: unknown; step: number },
    );
    expect(records.map(({ value }) => Number(value))).toStrictEqual(STEPS);
    expect(records.map(({ value }) => typeof value)).toStrictEqual([
      'number',
      'number',
      'string',
      'string',
      'number',
      'number',
      'number',
    ]);
    expect(records[0]).toMatchObject({
      metric_key: 'train/loss',
      namespace: 'train',
      metric_name: 'loss',
      run_id: ids[0],
      step: 0,
    });
  });

  it('filters by step and epoch', async () => {
    const steps = async (...args: string[]): Promise<unknown[]> =>
      lines((await run(['metrics', ids[0] ?? '', '--json', ...args])).stdout).map(
        (line) => (JSON.parse(line) as { step: unknown }).step,
      );
    expect(await steps('--step-min', '2', '--step-max', '4')).toStrictEqual([2, 3, 4]);
    expect(await steps('--epoch-min', '1')).toStrictEqual([null]);
    expect(await steps('--limit', '2')).toStrictEqual([6, null]);
  });

  it('refuses two formats at once', async () => {
    expect((await run(['metrics', 'latest', '--csv', '--json'])).code).toBe(2);
  });

  it('ends quietly when its reader has gone', async () => {
    expect(await run(['metrics', ids[0] ?? '', '--csv'], { closesAfter: 0 })).toStrictEqual({
      code: 0,
      stdout: '',
      stderr: '',
    });
  });
});

describe('quark events', () => {
  it('lists events; what they hold cannot steer the terminal', async () => {
    const { code, stdout } = await run(['events', ids[0] ?? '']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^TIME +SEVERITY +TYPE +STEP +EPOCH +PAYLOAD\n/);
    expect(stdout).toContain('checkpoint_saved');
    expect(stdout).toContain('run_ended');
    expect(stdout).toContain('non_finite_metric');
    expect(stdout).not.toContain('\u001b');
  });

  it('filters by type, severity and step', async () => {
    const types = async (...args: string[]): Promise<unknown[]> =>
      lines((await run(['events', ...args, '--json'])).stdout).map(
        (line) => (JSON.parse(line) as { event_type: unknown }).event_type,
      );
    expect(await types(ids[0] ?? '', '--type', 'run_started', '--type', 'run_ended')).toStrictEqual(
      ['run_started', 'run_ended'],
    );
    expect(await types(ids[1] ?? '', '--severity', 'error')).toStrictEqual([
      'user_log',
      'runtime_error',
    ]);
    expect(await types(ids[0] ?? '', '--step-min', '3', '--step-max', '3')).toStrictEqual([
      'checkpoint_saved',
    ]);
  });
});

describe('the command line', () => {
  it('reads from a server, too', async () => {
    const store = await openStorage(folder);
    const server = await serveStore({ store });
    try {
      const remote = await quark(['metrics', ids[0] ?? '', '--csv', '--storage', server.url], {
        cwd: tmpdir(),
      });
      expect(remote).toStrictEqual(await run(['metrics', ids[0] ?? '', '--csv']));
    } finally {
      await server.close();
      await store.close();
    }
    const { code, stderr } = await run(['runs', '--storage', server.url]);
    expect(code).toBe(1);
    expect(stderr).toContain('cannot be reached');
  });

  it('says which segments are damaged, and writes the rest', async () => {
    const store = await openStorage(folder);
    const spoiled = new Proxy(store, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (name === 'readSegments')
          return async () => [{ kind: 'damaged', reason: 'the file is cut off' }];
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });
    const server = await serveStore({ store: spoiled });
    try {
      for (const args of [
        ['metrics'],
        ['metrics', '--csv'],
        ['metrics', '--json'],
        ['events'],
        ['events', '--json'],
      ]) {
        const [name = '', ...rest] = args;
        const { code, stderr } = await run([name, ids[0] ?? '', ...rest, '--storage', server.url]);
        expect([args, code]).toStrictEqual([args, 0]);
        expect(stderr).toMatch(/^warning: .*the file is cut off/m);
      }
    } finally {
      await server.close();
      await store.close();
    }
  });

  it('looks in the folder given, else in this one, else in quark-runs', async () => {
    const other = mkdtempSync(join(tmpdir(), 'quark-cli-'));
    try {
      const missing = await quark(['runs'], { cwd: other });
      expect(missing.code).toBe(3);
      expect(missing.stderr).toContain(other);
      expect(readdirSync(other)).toStrictEqual([]);
      const session = await TrainingSession.startRun({
        project: 'p',
        storageDir: join(other, 'quark-runs'),
        handleSignals: false,
      });
      await session.endRun();
      await session.close();
      expect((await quark(['runs'], { cwd: other })).stdout).toContain(session.runId);
      expect((await quark(['runs', '--storage-dir', folder], { cwd: other })).stdout).toContain(
        ids[0],
      );
      expect(
        (await quark(['runs'], { cwd: other, env: { QUARK_STORAGE_DIR: folder } })).stdout,
      ).toContain(ids[0]);
    } finally {
      rmSync(other, { recursive: true, force: true });
    }
  });

  it('explains itself', async () => {
    expect(await run(['--version'])).toStrictEqual({ code: 0, stdout: `${VERSION}\n`, stderr: '' });
    const help = await run(['--help']);
    expect(help.code).toBe(0);
    expect((await run([])).code).toBe(2);
    for (const name of ['runs', 'show', 'metrics', 'events', 'dashboard', 'demo']) {
      expect(help.stdout).toContain(`  ${name}`);
      const own = await run([name, '--help']);
      expect(own.code).toBe(0);
      expect(own.stdout).toContain(`Usage: quark ${name}`);
      expect(own.stdout).toContain('--json');
      expect((await run(['help', name])).stdout).toBe(own.stdout);
    }
  });

  it.each([
    [['run'], 'There is no command "run"'],
    [['runs', '--colour'], "Unknown option '--colour'"],
    [['runs', 'extra'], 'Unexpected argument "extra"'],
    [['show'], 'needs RUN'],
    [['runs', '--limit', 'many'], '--limit must be a whole number'],
    [['runs', '--limit', '-1'], '--limit must be a whole number, 0 or more; got "-1"'],
    [['runs', '--limit'], "'--limit <value>' argument missing"],
    [['runs', '--status', 'fine'], '--status must be one of'],
    [['runs', '--storage-dir', ''], 'must not be empty'],
    [['runs', '--storage-dir', 'a', '--storage', 'b'], 'not both'],
    [['dashboard', '--port', '70000'], '--port must be a whole number, from 0 to 65535'],
    [['demo', '--epochs', '0'], 'at least 1'],
    [['demo', '--backend', 'webgl'], '--backend must be one of cpu, wasm'],
  ])('refuses %j', async (args, message) => {
    const { code, stdout, stderr } = await run(args);
    expect([code, stdout]).toStrictEqual([2, '']);
    expect(stderr).toContain(message);
    expect(stderr).toMatch(/See "quark .*--help"\./);
  });

  it('writes errors as JSON where JSON was asked for', async () => {
    const cases: [string[], number, object][] = [
      [['show', 'nothing', '--json'], 3, { code: 'run_not_found', details: { runId: 'nothing' } }],
      [['runs', '--limit', 'x', '--json'], 2, { code: 'usage' }],
      [
        ['runs', '--storage', 'nowhere:x', '--json'],
        1,
        { code: 'store_failed', details: { reason: 'unknown_scheme' } },
      ],
    ];
    for (const [args, code, error] of cases) {
      const ran = await run(args);
      expect([ran.code, ran.stdout]).toStrictEqual([code, '']);
      expect(JSON.parse(ran.stderr)).toMatchObject({ error });
    }
  });

  it('shows the stack of an error only when it is asked for', async () => {
    const broken = mkdtempSync(join(tmpdir(), 'quark-cli-'));
    try {
      const session = await TrainingSession.startRun({
        project: 'p',
        storageDir: broken,
        handleSignals: false,
      });
      await session.endRun();
      await session.close();
      for (const name of readdirSync(join(broken, '.quark'))) {
        if (name.startsWith('quark.db'))
          writeFileSync(join(broken, '.quark', name), 'this is no database '.repeat(500));
      }
      const quiet = await quark(['runs'], { cwd: broken });
      expect(quiet.code).toBe(1);
      expect(quiet.stderr).toContain('quark.db');
      expect(quiet.stderr).not.toContain('    at ');
      expect((await quark(['runs'], { cwd: broken, env: { QUARK_DEBUG: '1' } })).stderr).toContain(
        '    at ',
      );
    } finally {
      rmSync(broken, { recursive: true, force: true });
    }
  });
});
