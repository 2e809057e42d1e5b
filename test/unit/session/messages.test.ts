/** What people are told who use a session wrongly: each as its user would do it. */
import { expect, test, vi } from 'vitest';
import {
  createMemoryStore,
  isQuarkError,
  MetricsLogger,
  startRun,
  type Store,
  type TrainingSession,
} from 'quark-sdk';
import { browserPlatform } from '../../../src/session/platforms/platform.ts';
import { watchNvidia } from '../../../src/instruments/telemetry/nvidia-watch.ts';
import type { NodeProcess } from '../../../src/instruments/telemetry/node-watch.ts';
import { bytesStream } from '../../../src/base/runtime.ts';

const started = (storage: Store = createMemoryStore()): Promise<TrainingSession> =>
  startRun({ project: 'digits', storage, handleSignals: false });

test('a session that was closed without an end says so, and what opens the run again', async () => {
  const session = await started();
  await session.close();
  for (const use of [() => session.endRun(), async () => new MetricsLogger(session)])
    await expect(use()).rejects.toMatchObject({
      code: 'invalid_run_state',
      message: expect.stringMatching(/is closed, and the run has not ended.*resumeRun\(\)/u),
    });
});

test('a run that has ended is continued by a new one', async () => {
  const session = await started();
  await session.endRun();
  await expect(session.endRun()).rejects.toThrow(/ended as "completed".*parentRunId/u);
  expect(() => new MetricsLogger(session)).toThrow(/ended as "completed".*parentRunId/u);
  await session.close();
  await expect(session.endRun()).rejects.toThrow(/ended as "completed".*parentRunId/u);
});

test('an object of metrics is sent to logMany', async () => {
  const session = await started();
  const metrics = new MetricsLogger(session);
  expect(() => metrics.log({ loss: 1, acc: 2 } as unknown as string, 1)).toThrow(/logMany\(\)/u);
  await session.endRun();
});

test('metrics of one moment are read once, and have its time, step and texts', async () => {
  const session = await started();
  const metrics = new MetricsLogger(session);
  let reads = 0;
  const values = {
    get loss() {
      reads += 1;
      return reads === 1 ? 0.5 : ('gone' as unknown as number);
    },
    accuracy: 0.25,
  };
  metrics.logMany(values, { step: 3, namespace: 'val', description: 'of one moment' });
  await metrics.flush();
  const read = await metrics.read();
  expect(read.map(({ metricKey, step, value }) => [metricKey, step, value])).toStrictEqual([
    ['val/loss', 3, 0.5],
    ['val/accuracy', 3, 0.25],
  ]);
  expect(read.map(({ description }) => description)).toStrictEqual(Array(2).fill('of one moment'));
  expect(new Set(read.map(({ timestamp }) => timestamp)).size).toBe(1);
  await session.endRun();
});

test('an incomplete store is refused before anything is written, with the names of what it lacks', async () => {
  const { ...whole } = createMemoryStore();
  const writes = vi.fn();
  const incomplete = { ...whole, createRun: writes, close: undefined, getBlob: undefined };
  const refused = started(incomplete as unknown as Store);
  await expect(refused).rejects.toThrow(/it lacks getBlob\(\), close\(\)\./u);
  expect(writes).not.toHaveBeenCalled();
});

test('details of an error have types by its code', async () => {
  const error: unknown = await startRun({ project: '' }).catch((thrown: unknown) => thrown);
  if (!isQuarkError(error, 'invalid_input')) throw error;
  const { code, details } = error;
  expect<'invalid_input'>(code).toBe('invalid_input');
  expect<string | undefined>(details.field).toContain('project');
});

test('an engine without cross-origin isolation and navigator starts runs, as workerd', async () => {
  vi.stubGlobal('crossOriginIsolated', undefined);
  vi.stubGlobal('navigator', undefined);
  try {
    const environment = await browserPlatform.environment();
    expect(environment).toMatchObject({ is_cross_origin_isolated: false, user_agent: null });
    expect(Object.values(environment)).not.toContain(undefined);
  } finally {
    vi.unstubAllGlobals();
  }
});

test('bytes are a stream where Blob has none, as in jsdom', async () => {
  const parts = [200_000, 0, 1, 65_536].map((length) =>
    Uint8Array.from({ length }, (_, at) => (at * 7) % 251),
  );
  const all = Buffer.concat(parts);
  const own = Object.getOwnPropertyDescriptor(Blob.prototype, 'stream') ?? {};
  Reflect.deleteProperty(Blob.prototype, 'stream');
  try {
    const read = Buffer.from(await new Response(bytesStream(parts)).arrayBuffer());
    expect(read.equals(all)).toBe(true);
    expect((await new Response(bytesStream([])).arrayBuffer()).byteLength).toBe(0);
  } finally {
    Object.defineProperty(Blob.prototype, 'stream', own);
  }
});

test('a program that is not there has a listener before anything else is asked of it, for Deno', () => {
  const asked: string[] = [];
  const child = {
    pid: undefined,
    stdout: { setEncoding: () => asked.push('encoding'), on: () => asked.push('data') },
    on: (event: string) => asked.push(event),
    unref: () => {
      throw new TypeError('There is no process.');
    },
    kill: () => true,
  };
  const process = { getBuiltinModule: () => ({ spawn: () => child }) };
  const watch = watchNvidia(process as unknown as NodeProcess, null);
  expect(asked[0]).toBe('error');
  expect(watch.read()).toEqual({});
});
