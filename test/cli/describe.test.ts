/** `quark rename`, `quark note`, `quark tag`, and finding runs by what they say. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MetricsLogger, startRun } from 'quark-sdk';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { quark } from './fake-io.ts';

const folder = mkdtempSync(join(tmpdir(), 'quark-describe-'));
const ids: string[] = [];
const run = (...args: string[]): ReturnType<typeof quark> => quark(args, { cwd: folder });

beforeAll(async () => {
  for (const [i, lr] of [0.001, 0.01, 0.1].entries()) {
    const session = await startRun({
      project: 'digits',
      storageDir: folder,
      config: { lr, optimizer: { name: i === 0 ? 'adam' : 'sgd' } },
      tags: [`workers=${4 * (i + 1)}`],
      groups: ['sweep', `part ${i}`],
    });
    const metrics = new MetricsLogger(session);
    for (const step of [0, 1, 2])
      metrics.log('val/accuracy', 0.5 + 0.1 * i + 0.1 * (step % 2), { step });
    ids.push(session.runId);
    await session.endRun();
    await session.close();
  }
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function found(...args: string[]): Promise<readonly number[]> {
  const { code, stderr, stdout } = await run('runs', '--json', ...args);
  expect(stderr).toBe('');
  expect(code).toBe(0);
  const listed = JSON.parse(stdout) as readonly { readonly id: string }[];
  return listed.map(({ id }) => ids.indexOf(id)).toSorted((a, b) => a - b);
}

test('runs are found by configuration, results, tags, groups and status', async () => {
  expect(await found('--where', 'config.lr<=0.01')).toEqual([0, 1]);
  expect(await found('--where', 'config.lr < 1e-1 and val/accuracy.best > 0.65')).toEqual([1]);
  expect(await found('--where', 'metrics.val/accuracy.last>=0.6')).toEqual([1, 2]);
  expect(await found('--where', 'tags.workers>=8', '--where', 'config.optimizer.name=sgd')).toEqual(
    [1, 2],
  );
  expect(await found('--group', 'sweep', '--group', 'part 2')).toEqual([2]);
  expect(await found('--where', 'status=completed', '--status', 'failed')).toEqual([]);
  expect(await found('--where', 'config.optimizer.name!="adam"', '--limit', '1')).toHaveLength(1);
});

test('a search by results says of how many ended runs there are none', async () => {
  const other = mkdtempSync(join(tmpdir(), 'quark-describe-'));
  const session = await startRun({ project: 'silent', storageDir: other });
  await session.endRun();
  await session.close();
  const asked = (where: string): ReturnType<typeof quark> =>
    quark(['runs', '--json', '--where', where], { cwd: other });
  expect((await asked('val/loss.best<0.3')).stderr).toMatch(/^1 ended runs have no summary/);
  expect((await asked('config.lr<0.3')).stderr).toBe('');
  rmSync(other, { recursive: true, force: true });
});

test('a condition that cannot be read is a mistake of the command line', async () => {
  for (const where of ['', 'lr<', '(lr', 'status=broken', 'config.lr<abc', 'name>3'])
    expect(await run('runs', '--where', where), where).toMatchObject({ code: 2 });
  const wrong = await run('runs', '--where', 'config.lr<abc');
  expect(wrong.stderr).toMatch(/character 11: .*a number/);
});

test('runs have the columns and the order that were asked for', async () => {
  const given = await run('runs', '--columns', 'config.lr,val/accuracy.best', '--sort=-config.lr');
  expect(given).toMatchObject({ code: 0, stderr: '' });
  const [head = '', ...rows] = given.stdout.trimEnd().split('\n');
  expect(head).toMatch(/config\.lr +val\/accuracy\.best/);
  const rates = rows.map((row) => Number(/ (\S+) +\S+ @\d+/.exec(row)?.[1]));
  expect(rates).toEqual(rates.toSorted((a, b) => b - a));
  expect(rates.every(Number.isFinite)).toBe(true);
  const json = await run(
    'runs',
    '--columns',
    'config.lr',
    '--sort',
    'config.lr',
    '--json',
    '--limit',
    '1',
  );
  const [first] = JSON.parse(json.stdout) as readonly { readonly values: object }[];
  expect(first?.values).toEqual({ 'config.lr': Math.min(...rates) });
  expect(await run('runs', '--columns', ',')).toMatchObject({ code: 2 });
  expect(await run('runs', '--sort=-')).toMatchObject({ code: 2 });
});

test('a run gets a name, notes and tags, and shows them', async () => {
  const [id = ''] = ids;
  expect(await run('rename', id, 'baseline')).toMatchObject({
    code: 0,
    stdout: `Run ${id} is called baseline.\n`,
  });
  await run('note', id, '# Plan\nNo batch norm.', '--description', 'The first.', '--group', 'kept');
  expect((await run('tag', id, 'keep', 'workers=16')).stdout).toContain('keep, workers=16');
  expect((await run('tag', id, '--remove', 'keep', '--json')).stdout).toContain('"workers=16"');
  expect(await found('--name', 'base%')).toEqual([0]);
  expect(await found('--where', 'name~%line and tags.workers=16')).toEqual([0]);
  const { stdout } = await run('show', id);
  for (const text of ['baseline', 'The first.', 'kept', 'No batch norm.', 'revision 1', 'best 0.6'])
    expect(stdout).toContain(text);
  const listed = (await run('runs')).stdout;
  expect(listed).toContain('NAME');
  expect(listed).toContain('GROUPS');
  expect(await run('rename', 'run_nobody', 'x')).toMatchObject({ code: 3 });
});
