/** Folders in which somebody put links, pipes and devices: what lies outside of what was named is reported and never read. */
import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { importRuns } from '../../src/exchange.ts';
import { createMemoryStore } from '../../src/index.ts';
import { openInputFiles } from '../../src/node.ts';
import { openStaticFiles } from '../../src/service/node/static-files.ts';
import { quark, type Ran } from './fake-io.ts';

const SECRET = 'root:x:0:0:the-secret';
let home = '';
let run = '';
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'quark-links-'));
  run = join(home, 'mlruns', '1', 'run-a');
  for (const part of ['metrics', 'params', 'tags']) mkdirSync(join(run, part), { recursive: true });
  writeFileSync(join(home, 'mlruns', '1', 'meta.yaml'), "experiment_id: '1'\nname: digits\n");
  writeFileSync(
    join(run, 'meta.yaml'),
    'run_id: run-a\nrun_name: a\nstatus: 3\nstart_time: 1700000000000\n',
  );
  writeFileSync(join(run, 'metrics', 'loss'), '1700000000000 0.5 1\n1700000001000 0.25 2\n');
  writeFileSync(join(run, 'params', 'lr'), '0.1');
  mkdirSync(join(home, 'outside'));
  writeFileSync(join(home, 'outside', 'passwd'), SECRET);
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const cli = (...args: string[]): Promise<Ran> => quark(args, { cwd: home });

/** The problems of an import, and all that the store has after it as text. */
async function imported(...paths: string[]): Promise<{
  readonly problems: Record<string, string>;
  readonly text: string;
  readonly runs: number;
}> {
  const store = createMemoryStore();
  const files = await openInputFiles(paths.map((path) => join(home, path)));
  const report = await importRuns(files, store);
  return {
    problems: Object.fromEntries(report.problems.map(({ file, reason }) => [file, reason])),
    text: JSON.stringify([await store.listRuns(), report]),
    runs: report.runs.length,
  };
}

test('a link that leads out of what was named is reported and not read', async () => {
  symlinkSync('/etc/passwd', join(run, 'params', 'system'));
  symlinkSync(join(home, 'outside', 'passwd'), join(run, 'params', 'secret'));
  symlinkSync('../../../../outside/passwd', join(run, 'params', 'relative'));
  symlinkSync(join(home, 'outside'), join(run, 'tags', 'folder'));
  const { problems, runs, text } = await imported('mlruns');
  expect(Object.keys(problems).toSorted()).toEqual([
    'mlruns/1/run-a/params/relative',
    'mlruns/1/run-a/params/secret',
    'mlruns/1/run-a/params/system',
    'mlruns/1/run-a/tags/folder',
  ]);
  for (const reason of Object.values(problems)) expect(reason).toMatch(/link that leads out of/);
  expect(runs).toBe(1);
  expect(text).not.toContain('the-secret');
  expect(text).not.toContain(readFileSync('/etc/passwd', 'utf8').slice(0, 20));
  expect(text).toContain('\\"lr\\"');
  const analysed = await cli('analyze', 'mlruns');
  expect(analysed.stderr).toMatch(/warning: .*link that leads out of/);
  const asked = await cli('query', 'SELECT config FROM runs', '--file', 'mlruns', '--json');
  expect(asked.stderr).toMatch(/link that leads out of/);
  expect(asked.stdout).not.toContain('the-secret');
  const told = await cli('import', 'mlruns', '--json');
  expect(JSON.parse(told.stdout).problems).toHaveLength(4);
});

test('links that stay inside are read, and so is what is named beside; the named path may be a link', async () => {
  symlinkSync('lr', join(run, 'params', 'rate'));
  symlinkSync(join(home, 'outside', 'passwd'), join(run, 'params', 'shared'));
  symlinkSync(join(home, 'mlruns'), join(home, 'linked'));
  const { problems, runs, text } = await imported('linked', 'outside');
  expect(Object.keys(problems).filter((file) => file.startsWith('linked'))).toEqual([]);
  expect(runs).toBe(1);
  expect(text).toContain('\\"rate\\"');
  expect(text).toContain('the-secret');
  symlinkSync(join(run, 'metrics', 'loss'), join(home, 'file-link'));
  expect((await openInputFiles([join(home, 'file-link')]))[0]).toMatchObject({ path: 'file-link' });
});

test('circles end, pipes, sockets and devices are not opened', async () => {
  symlinkSync('.', join(run, 'params', 'self'));
  symlinkSync('../..', join(run, 'params', 'up'));
  symlinkSync('b', join(run, 'params', 'a'));
  symlinkSync('a', join(run, 'params', 'b'));
  symlinkSync('/dev/zero', join(run, 'params', 'zero'));
  execFileSync('mkfifo', [join(run, 'params', 'pipe')]);
  symlinkSync('pipe', join(run, 'params', 'to-pipe'));
  const server = createServer();
  await new Promise<void>((done) => server.listen(join(home, 'mlruns', 'socket'), done));
  try {
    const { problems, runs } = await imported('mlruns');
    expect(problems).toEqual({
      'mlruns/1/run-a/params/zero': expect.stringMatching(/leads out of/),
    });
    expect(runs).toBe(1);
    for (const path of ['mlruns/1/run-a/params/pipe', 'mlruns/socket'])
      expect(Object.values((await imported(path)).problems)).toEqual([
        expect.stringMatching(/neither a file nor a folder/),
      ]);
    const [device] = await openInputFiles(['/dev/zero']);
    await expect(device?.slice(0, 10)).rejects.toMatchObject({ code: 'invalid_input' });
  } finally {
    server.close();
  }
});

test('what was put in the place of a file since it was found is not read', async () => {
  const files = await openInputFiles([join(home, 'mlruns')]);
  const file = files.find(({ path }) => path.endsWith('params/lr'));
  const path = join(run, 'params', 'lr');
  const refused = { code: 'invalid_input', message: expect.stringMatching(/put in its place/) };
  const readAll = async (): Promise<void> => {
    for await (const _ of file?.stream() ?? []);
  };
  renameSync(path, join(home, 'lr'));
  symlinkSync(join(home, 'outside', 'passwd'), path);
  await expect(file?.slice(0, 100)).rejects.toMatchObject(refused);
  await expect(readAll()).rejects.toMatchObject(refused);
  rmSync(path);
  execFileSync('mkfifo', [path]);
  await expect(file?.slice(0, 100)).rejects.toMatchObject(refused);
  rmSync(join(run, 'params'), { recursive: true });
  symlinkSync(join(home, 'outside'), join(run, 'params'));
  writeFileSync(join(home, 'outside', 'lr'), SECRET);
  await expect(file?.slice(0, 100)).rejects.toMatchObject(refused);
  await expect(readAll()).rejects.toMatchObject(refused);
});

test('the files of a dashboard: no link out of its folder, and no pipe', async () => {
  const dir = join(home, 'page');
  mkdirSync(dir);
  writeFileSync(join(dir, 'index.html'), '<p>page</p>');
  symlinkSync(join(home, 'outside', 'passwd'), join(dir, 'secret.txt'));
  symlinkSync(join(home, 'outside'), join(dir, 'folder'));
  symlinkSync('index.html', join(dir, 'same.html'));
  execFileSync('mkfifo', [join(dir, 'pipe')]);
  const serve = await openStaticFiles(dir);
  const status = async (path: string): Promise<number> =>
    (await serve(new Request(`http://localhost${path}`), path)).status;
  expect(await status('/secret.txt')).toBe(404);
  expect(await status('/folder/passwd')).toBe(404);
  expect(await status('/pipe')).toBe(404);
  expect(await status('/same.html')).toBe(200);
});
