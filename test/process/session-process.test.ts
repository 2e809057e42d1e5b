/** Sessions in processes of their own: signals, exits, two writers. Needs the build (`npm run build:lib`). */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  MetricsLogger,
  openRun,
  openStorage,
  resumeRun,
  startRun,
  type RunReader,
  type Store,
} from 'quark-sdk';
import { readConsole } from 'quark-sdk/console';

const CHILD = fileURLToPath(new URL('child.mjs', import.meta.url));
let directory: string;
let store: Store | undefined;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'quark-process-'));
});
afterEach(async () => {
  await store?.close();
  await rm(directory, { recursive: true, force: true });
});

function start(...args: string[]): ChildProcess {
  return spawn(process.execPath, [CHILD, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
}

/** Null where the tests run outside of a repository, or without Git. */
function currentCommit(): string | null {
  try {
    const stdio = ['ignore', 'pipe', 'ignore'] as const;
    return execFileSync('git', ['rev-parse', 'HEAD'], { stdio: [...stdio] })
      .toString()
      .trim();
  } catch {
    return null;
  }
}

async function firstLine(child: ChildProcess): Promise<string> {
  const [data] = (await once(child.stdout ?? child, 'data')) as [Buffer];
  return data.toString().trim();
}

async function ended(child: ChildProcess): Promise<{ code: unknown; signal: unknown }> {
  const [code, signal] =
    child.exitCode === null && child.signalCode === null
      ? ((await once(child, 'exit')) as unknown[])
      : [child.exitCode, child.signalCode];
  return { code, signal };
}

async function read(runId: string): Promise<RunReader> {
  store = await openStorage(directory);
  return openRun(store, runId);
}

test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
  '%s ends the run as interrupted, flushed, and then the process',
  async (signal) => {
    const child = start('run', directory);
    const runId = await firstLine(child);
    child.kill(signal);
    expect(await ended(child)).toEqual({ code: null, signal });
    const reader = await read(runId);
    expect(reader.run.status).toBe('interrupted');
    expect((await reader.readMetrics()).map((record) => record.value)).toEqual([1]);
    const events = await reader.readEvents();
    expect(events.map((event) => event.eventType)).toEqual([
      'run_started',
      'runtime_interruption',
      'run_ended',
    ]);
    expect(events[1]).toMatchObject({
      severity: 'warning',
      payload: { identifier: 'Warning', reason: signal },
    });
  },
);

test('process.exit loses nothing that was logged, says how the run was left, and the run can be resumed', async () => {
  const child = start('exit', directory);
  const runId = await firstLine(child);
  expect(await ended(child)).toEqual({ code: 3, signal: null });
  const reader = await read(runId);
  expect(reader.run.gitCommit).toBe(currentCommit());
  expect((await reader.readMetricColumns()).rowCount).toBe(501);
  expect(await reader.readEvents({ eventType: 'non_finite_metric' })).toHaveLength(1);
  // At once, and not when the lease has lapsed, which lasts for a minute here.
  const reason = 'the process ended with exit code 3 before endRun()';
  expect(reader.run).toMatchObject({
    status: 'interrupted',
    statusReason: `Interrupted: ${reason}.`,
    metricSummaries: { a: { last_step: 500, max: 499 } },
  });
  const events = await reader.readEvents();
  expect(events.slice(-2).map((event) => event.eventType)).toEqual([
    'runtime_interruption',
    'run_ended',
  ]);
  expect(events.at(-2)).toMatchObject({ severity: 'warning', payload: { reason } });
  const resumed = await resumeRun({ runId, storageDir: directory });
  new MetricsLogger(resumed).log('a', 1, { step: 501 });
  await resumed.endRun();
  await resumed.close();
  await reader.reload();
  expect(reader.run).toMatchObject({ status: 'completed', statusReason: null });
  expect((await reader.readMetricColumns()).rowCount).toBe(502);
});

test('a process that ends by itself with an open session loses nothing', async () => {
  const child = start('drain', directory);
  const runId = await firstLine(child);
  expect(await ended(child)).toEqual({ code: 0, signal: null });
  const reader = await read(runId);
  expect((await reader.readMetrics()).map((record) => record.value)).toEqual([7]);
  // What is printed is compressed, which takes turns of the event loop: it gets them.
  const { lines } = await readConsole(reader);
  expect(lines.map(({ text }) => text)).toEqual([runId]);
});

test.each([
  ['process.exit()', 'exit', 3],
  ['an error that nobody catches', 'throw', 1],
  ['a rejection that nobody handles', 'reject', 1],
])('%s loses no line that was printed', async (_name, way, code) => {
  const child = spawn(process.execPath, [CHILD, 'print', directory, way], { stdio: 'pipe' });
  let printed = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (data: Buffer) => (printed += data.toString()));
  const [status] = (await once(child, 'close')) as unknown[];
  expect(status).toBe(code);
  const reader = await read(printed.split('\n', 1)[0] ?? '');
  const { droppedLines, lines, problems, storedLines } = await readConsole(reader, { limit: 1e6 });
  expect({ droppedLines, problems }).toEqual({ droppedLines: 0, problems: [] });
  const ofProgram = lines.filter(({ source }) => source === 'stdout').map(({ text }) => text);
  expect(ofProgram).toHaveLength(20_002);
  expect(ofProgram.slice(1, -1)).toEqual(
    Array.from({ length: 20_000 }, (_, i) => expect.stringMatching(`^line ${i} .*(?<!hunter2)$`)),
  );
  expect(ofProgram.at(-1)).toBe('no end');
  expect(storedLines).toBe(lines.length);
  const errors = lines.filter(({ level }) => level === 'error').map(({ text }) => text);
  if (way === 'exit') expect(errors).toEqual([]);
  else
    expect(errors.join('\n')).toMatch(/^Uncaught Error: nobody catches this\n +at .*child\.mjs/s);
  // The run says the same, at once.
  if (way === 'exit') {
    expect(reader.run.status).toBe('interrupted');
    return;
  }
  expect(reader.run).toMatchObject({ status: 'failed', statusReason: 'nobody catches this' });
  expect(await reader.readEvents({ eventType: 'runtime_error' })).toMatchObject([
    {
      severity: 'error',
      payload: { error_type: 'Error', stack: expect.stringMatching('child.mjs') },
    },
  ]);
});

test('three processes write to one run at the same time and nothing is lost', async () => {
  const session = await startRun({ project: 'p', storageDir: directory });
  const count = 3000;
  const children = [1, 2].map(() => start('attach', directory, session.runId, String(count)));
  const metrics = new MetricsLogger(session, { batchSize: 50 });
  for (let step = 0; step < count; step++) {
    metrics.log('own', step, { step });
    if (step % 50 === 0) await session.flush();
  }
  expect(await Promise.all(children.map(ended))).toEqual([
    { code: 0, signal: null },
    { code: 0, signal: null },
  ]);
  await session.endRun();
  await session.close();
  const reader = await read(session.runId);
  const keys = ['own', ...children.map((child) => `from_${child.pid}`)];
  expect(new Set(await reader.metricKeys())).toEqual(new Set(keys));
  for (const metricKey of keys) {
    const columns = await reader.readMetricColumns({ metricKey });
    expect(Array.from(columns.values)).toEqual(Array.from({ length: count }, (_, i) => i));
  }
  expect(Array.from((await reader.readMetricColumns()).sequences)).toEqual(
    Array.from({ length: 3 * count }, (_, i) => i),
  );
  expect(reader.run.tags).toHaveLength(12);
});
