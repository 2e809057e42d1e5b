/** `quark console` and `quark compare --code`: what a program printed and what it was; what is no number. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { casesOf } from '../support/long.ts';
import { openStorage, startRun } from 'quark-sdk';
import { captureConsole } from 'quark-sdk/console';
import { MediaLogger } from 'quark-sdk/media';
import { serveStore } from 'quark-sdk/node';
import { runCli } from '../../src/cli/cli.ts';
import { FakeIo, quark, type Ran } from './fake-io.ts';

let cwd = '';
let runId = '';

beforeAll(async () => {
  cwd = mkdtempSync(join(tmpdir(), 'quark-console-'));
  const storage = await openStorage(cwd);
  const session = await startRun({ project: 'printed', storage });
  const { port1, port2 } = new MessageChannel();
  const capture = captureConsole(session, { own: false, from: [port1] });
  const send = (text: string, source: string, level: string | null = null): void =>
    port2.postMessage({ kind: 'quark-console', prints: [{ text, source, level }] });
  send('\u001b[32mgreen\u001b[0m \u001b]0;title\u0007 and \u202eleft\b\n', 'stdout');
  send('a warning\n', 'console', 'warn');
  send('password=hunter22 on stderr\n', 'stderr');
  await vi.waitFor(() => expect(capture.status.lines).toBe(3));
  await session.endRun();
  port1.close();
  await session.close();
  await storage.close();
  runId = session.runId;
});

const run = (...args: string[]): Promise<Ran> => quark(args, { cwd });
const run80 = (...args: string[]): Promise<Ran> => quark(args, { cwd, columns: 80 });

afterAll(() => rmSync(cwd, { recursive: true, force: true }));

test('lines are printed without what would control a terminal', async () => {
  const plain = await run('console', runId);
  expect(plain).toMatchObject({ code: 0, stderr: '' });
  expect(plain.stdout).toBe(
    'green  and \\u202eleft\\u0008\na warning\npassword=[secret] on stderr\n',
  );
  const terminal = await run80('console', 'latest');
  expect(terminal.stdout).toContain('\u001b[32mgreen\u001b[0m');
  expect(terminal.stdout).toContain('\u001b[33ma warning\u001b[39m');
  expect(terminal.stdout).not.toContain('\u202e');
  expect(terminal.stdout).not.toContain('\u001b]');
});

test('levels, sources and a limit choose lines', async () => {
  const ask = async (...args: string[]): Promise<string> =>
    (await run('console', runId, ...args)).stdout;
  expect(await ask('--level', 'warn')).toBe('a warning\n');
  expect(await ask('--source', 'stderr', '--source', 'console', '--limit', '1')).toContain(
    'stderr',
  );
  expect(await ask('--times', '--level', 'warn')).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z a warning\n$/);
  const json = JSON.parse(await ask('--json')) as { lines: unknown[] };
  expect(json).toMatchObject({ stored_lines: 3, dropped_lines: 0 });
  expect(json.lines[0]).toMatchObject({
    source: 'stdout',
    level: null,
    spans: [{ start: 0, end: 5, color: 'green' }],
  });
  expect(await run('console', runId, '--level', 'loud')).toMatchObject({
    code: 2,
  });
});

test.each(casesOf([false, true], 1))(
  '--follow goes on until the run ends; as JSON: %s',
  async (isJson) => {
    const storage = await openStorage(cwd);
    const session = await startRun({ project: 'followed', storage, handleSignals: false });
    const { port1, port2 } = new MessageChannel();
    const capture = captureConsole(session, { own: false, from: [port1] });
    let sent = 0;
    const send = async (text: string, level: string | null = null): Promise<void> => {
      port2.postMessage({
        kind: 'quark-console',
        prints: [{ text: `${text}\n`, source: 'stdout', level }],
      });
      sent++;
      await vi.waitFor(() => expect(capture.status.lines).toBe(sent));
    };
    await send('first');
    await send('loud', 'error');
    await session.flush();
    const io = new FakeIo({ cwd });
    const args = ['console', session.runId, '--follow', ...(isJson ? ['--json'] : [])];
    const following = runCli(args, io);
    await io.sees(/loud/);
    await send('second');
    await session.flush();
    await io.sees(/second/);
    await send('last');
    await session.endRun();
    expect(await following).toBe(0);
    const lines = io.out.trimEnd().split('\n');
    expect(
      isJson ? lines.map((line) => (JSON.parse(line) as { text: string }).text) : lines,
    ).toEqual(['first', 'loud', 'second', 'last']);
    const again = new FakeIo({ cwd });
    expect(await runCli([...args, '--level', 'error'], again)).toBe(0);
    expect(again.out.trimEnd().split('\n')).toHaveLength(1);
    port1.close();
    await session.close();
    await storage.close();
  },
);

test('a program that ends by itself has stored all lines', async () => {
  const program = `
    const { TrainingSession } = await import('./dist/index.js');
    const { captureConsole } = await import('./dist/console.js');
    await TrainingSession.run({ project: 'own', storageDir: ${JSON.stringify(cwd)} }, (session) => {
      captureConsole(session);
      for (let i = 0; i < 1000; i++) console.log('line %d', i);
      process.stderr.write('no line end');
    });`;
  const printed = execFileSync(process.execPath, ['--input-type=module', '-e', program], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  expect(printed.split('\n')).toHaveLength(1001);
  const { stdout } = await run('console', 'latest');
  const lines = stdout.trimEnd().split('\n');
  expect(lines).toHaveLength(1001);
  expect(lines).toContain('no line end');
  expect(lines.filter((line) => line.startsWith('line '))[999]).toBe('line 999');
});

test('two runs are compared by their code', async () => {
  const ids: string[] = [];
  for (const config of [{ a: 1 }, { a: 2 }]) {
    const session = await startRun({ project: 'code', storageDir: cwd, config });
    await new MediaLogger(session).logCode();
    await session.endRun();
    await session.close();
    ids.push(session.runId);
  }
  expect(await run('compare', ...ids, '--code')).toMatchObject({
    code: 0,
    stdout: 'Nothing differs.\n',
  });
  const older = await run('compare', ids[0] ?? '', runId, '--code', '--json');
  expect(JSON.parse(older.stdout)).toMatchObject({ is_recorded: false, packages: [] });
});

test('media are listed with what they are, shown and saved', async () => {
  const session = await startRun({ project: 'media', storageDir: cwd });
  const media = new MediaLogger(session);
  await media.logImage('samples/a', { data: new Uint8Array(6), width: 3, height: 2 }, { step: 7 });
  await media.logTable('rows', { columns: ['x\u202e'], rows: [[1]] });
  await media.logText('note', 'first\nsecond\u001b[2J');
  await media.logAudio('beep', new Float32Array(8), { sampleRate: 8000 });
  await media.logModel('net', Uint8Array.of(8, 7));
  await session.endRun();
  await session.close();
  const listed = await run('artifacts', session.runId);
  for (const detail of [
    '3 x 2 image/png',
    '1 rows of 1 columns',
    '16 characters',
    '8000 Hz',
    'onnx',
  ])
    expect(listed.stdout).toContain(detail);
  const shown = await run('artifacts', session.runId, '--show');
  expect(shown.stdout).toContain('note (text)\nfirst\nsecond\\u001b[2J\n');
  expect(shown.stdout).toContain('"x\\u202e"');
  expect(shown.stdout).toContain('samples/a at step 7 (image)\n3 x 2 image/png; ');
  const saved = await run('artifacts', session.runId, '--save', 'out', '--type', 'image');
  expect(saved.stdout).toMatch(/out.samples.a.step-7-art_\w+\.png\n$/);
  expect(readFileSync(saved.stdout.trim()).subarray(1, 4).toString()).toBe('PNG');
  expect(await run('artifacts', session.runId, '--save', 'out')).toMatchObject({ code: 1 });
  expect(await run('artifacts', session.runId, '--save', 'out', '--force')).toMatchObject({
    code: 0,
  });
  expect(await run('artifacts', session.runId, '--force')).toMatchObject({ code: 2 });
  expect((await run('show', session.runId)).stdout).toMatch(/Artifacts\n +audio +1\n +image +1\n/);
});

test('a program that is killed loses at most what was not flushed; a server shows the same', async () => {
  const program = `
    const { TrainingSession } = await import('./dist/index.js');
    const { captureConsole } = await import('./dist/console.js');
    const session = await TrainingSession.startRun({ project: 'killed', storageDir: ${JSON.stringify(cwd)} });
    captureConsole(session, { flushIntervalMs: 3_600_000 });
    for (let i = 0; i < 500; i++) console.log('flushed %d', i);
    await session.flush();
    console.log('not flushed');
    process.kill(process.pid, 'SIGKILL');`;
  const ended = spawnSync(process.execPath, ['--input-type=module', '-e', program]);
  expect(ended.signal).toBe('SIGKILL');
  const local = await run('console', 'latest');
  expect(local).toMatchObject({ code: 0, stderr: '' });
  expect(local.stdout).toBe(Array.from({ length: 500 }, (_, i) => `flushed ${i}\n`).join(''));
  const store = await openStorage(cwd);
  const server = await serveStore({ store });
  try {
    expect(await run('console', 'latest', '--storage', server.url)).toStrictEqual(local);
  } finally {
    await server.close();
    await store.close();
  }
});
