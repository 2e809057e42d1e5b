/** A session that was frozen while another one took its run over and completed it, thaws and goes on, over every kind of store. */
import 'fake-indexeddb/auto';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  createMemoryStore,
  isQuarkError,
  MetricsLogger,
  openRun,
  openStorage,
  TrainingSession,
  type Store,
} from '../../../src/index.ts';
import { openFileStorage } from '../../../src/store/sql/node/file-storage.ts';
import { createStoreHandler } from '../../../src/service/routes/handler.ts';
import { openHttpStorage } from '../../../src/wire/http-store.ts';
import { TestClock } from '../../support/clock.ts';

const TTL_MS = 30_000;

const stores: Readonly<Record<string, (clock: TestClock) => Promise<Store>>> = {
  memory: async (clock) => createMemoryStore({ clock }),
  SQLite: async (clock) => {
    const folder = await mkdtemp(join(tmpdir(), 'quark-fence-'));
    cleanups.push(() => rm(folder, { recursive: true, force: true }));
    return openFileStorage(folder, { clock });
  },
  IndexedDB: (clock) => openStorage(`idb:fence-${randomUUID()}`, { clock }),
  HTTP: async (clock) => {
    const store = createMemoryStore({ clock });
    const handler = createStoreHandler({ writable: true });
    return openHttpStorage('http://quark.example', {
      fetch: (request) => handler.handle(request, { store }),
    });
  },
};
const cleanups: (() => Promise<void>)[] = [];

beforeEach(() => void vi.spyOn(console, 'warn').mockReturnValue(undefined));
afterEach(async () => {
  vi.restoreAllMocks();
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

/** Steps of the metrics of a run: those that readers see, and those that are stored apart. */
async function stepsOf(store: Store, runId: string): Promise<[number[], number]> {
  const read = await (await openRun(store, runId)).readMetrics();
  const all = await store.listSegments({ runId, table: 'metrics', superseded: true });
  const apart = all.filter(({ superseded }) => superseded === true);
  return [
    read.map(({ step }) => step ?? -1),
    apart.reduce((sum, { rowCount }) => sum + rowCount, 0),
  ];
}

describe.each(Object.entries(stores))('over %s', (_name, open) => {
  let clock: TestClock;
  let store: Store;
  beforeEach(async () => {
    clock = new TestClock(1_700_000_000_000);
    store = await open(clock);
  });
  afterEach(() => store.close());

  /** A session that has logged five steps and freezes; another one goes on from step 3 and completes the run. */
  async function freezeAndResume(strictMode = false) {
    const options = { storage: store, clock, leaseTtlMs: TTL_MS, handleSignals: false };
    const problems: string[] = [];
    const frozen = await TrainingSession.startRun({
      ...options,
      project: 'p',
      strictMode,
      onRecordingProblem: ({ kind }) => void problems.push(kind),
    });
    const { runId } = frozen;
    const metrics = new MetricsLogger(frozen);
    for (let step = 0; step < 3; step++) metrics.log('loss', step, { step });
    await metrics.flush();
    // Logged and not stored yet.
    for (let step = 3; step < 5; step++) metrics.log('loss', step, { step });
    clock.jump(TTL_MS + 1_000);
    const winner = await TrainingSession.resumeRun({ ...options, runId });
    const resumed = new MetricsLogger(winner);
    for (let step = 3; step < 6; step++) resumed.log('loss', step, { step });
    return { frozen, metrics, winner, resumed, runId, problems };
  }

  test('it writes nothing into the completed run, and is told', async () => {
    const { frozen, metrics, winner, runId, problems } = await freezeAndResume();
    await winner.endRun();
    metrics.log('loss', 5, { step: 5 });
    await metrics.flush();
    expect(frozen.signal.aborted).toBe(true);
    expect(frozen.status).toBe('interrupted');
    expect(problems).toEqual(['fenced']);
    expect(frozen.recordingStatus()).toMatchObject({
      state: 'fenced',
      error: { reason: 'fenced' },
    });
    // Training goes on; what it logs is counted.
    metrics.log('loss', 6, { step: 6 });
    await frozen.addTag('late');
    await frozen.endRun('failed');
    expect(frozen.recordingStatus().droppedRows).toBe(1);
    await frozen.close();
    expect(await stepsOf(store, runId)).toEqual([[0, 1, 2, 3, 4, 5], 3]);
    const reader = await openRun(store, runId);
    expect(reader.run).toMatchObject({ status: 'completed', tags: [], resumeCount: 1 });
    expect((await store.findRun(runId))?.generation).toBe(2);
    expect(await reader.supersededRows()).toBe(3);
    const events = (await reader.readEvents()).map(({ eventType }) => eventType);
    expect(events.filter((type) => type === 'session_fenced')).toHaveLength(1);
    expect(events.filter((type) => type === 'run_ended')).toHaveLength(1);
    await winner.close();
  });

  test('an end is no end of the run that the other one goes on with', async () => {
    const { frozen, winner, resumed, runId } = await freezeAndResume();
    await frozen.endRun();
    expect((await openRun(store, runId)).run.status).toBe('running');
    await frozen.close();
    await resumed.flush();
    expect(winner.signal.aborted).toBe(false);
    await winner.endRun();
    await winner.close();
    expect(await stepsOf(store, runId)).toEqual([[0, 1, 2, 3, 4, 5], 2]);
  });

  test('it finds out by itself when it renews its lease', async () => {
    const { frozen, winner } = await freezeAndResume();
    clock.advance(1);
    await vi.waitFor(() => {
      expect(frozen.signal.aborted).toBe(true);
    });
    const leases = await store.listLeases([frozen.runId]);
    expect(leases).toHaveLength(1);
    await frozen.close();
    await winner.endRun();
    await winner.close();
  });

  test('in strict mode the calls throw', async () => {
    const { frozen, metrics, winner, runId } = await freezeAndResume(true);
    await metrics.flush();
    const isFenced = (error: unknown): boolean =>
      isQuarkError(error, 'store_failed') && error.details['reason'] === 'fenced';
    await expect(frozen.addTag('late')).rejects.toSatisfy(isFenced);
    expect(() => metrics.log('loss', 9, { step: 9 })).toThrow(/has taken over run/);
    await frozen.close().catch(() => undefined);
    await winner.endRun();
    await winner.close();
    expect(await stepsOf(store, runId)).toEqual([[0, 1, 2, 3, 4, 5], 2]);
  });

  test('attached sessions share the generation, and are fenced together', async () => {
    const options = { storage: store, clock, leaseTtlMs: TTL_MS, handleSignals: false };
    const first = await TrainingSession.startRun({ ...options, project: 'p' });
    const { runId } = first;
    const second = await TrainingSession.attachRun({ ...options, runId });
    const loggers = [new MetricsLogger(first), new MetricsLogger(second)];
    loggers.forEach((logger, i) => logger.log(`m${i}`, 0, { step: 0 }));
    for (const logger of loggers) await logger.flush();
    clock.jump(TTL_MS + 1_000);
    const winner = await TrainingSession.resumeRun({ ...options, runId });
    const helper = await TrainingSession.attachRun({ ...options, runId });
    const later = new MetricsLogger(helper);
    later.log('m2', 1, { step: 1 });
    await later.flush();
    loggers.forEach((logger, i) => logger.log(`m${i}`, 1, { step: 1 }));
    for (const logger of loggers) await logger.flush();
    expect([first, second, winner, helper].map(({ signal }) => signal.aborted)).toEqual([
      true,
      true,
      false,
      false,
    ]);
    for (const session of [first, second, helper]) await session.close();
    await winner.endRun();
    await winner.close();
    expect(await stepsOf(store, runId)).toEqual([[0, 0, 1], 2]);
  });

  test('of eight that resume at once, exactly one does', async () => {
    const { frozen, winner, runId } = await freezeAndResume();
    await winner.endRun('interrupted');
    const options = { storage: store, clock, leaseTtlMs: TTL_MS, handleSignals: false, runId };
    for (let round = 2; round < 6; round++) {
      const results = await Promise.allSettled(
        Array.from({ length: 8 }, () => TrainingSession.resumeRun(options)),
      );
      const won = results.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
      expect(won).toHaveLength(1);
      for (const one of results)
        if (one.status === 'rejected')
          expect(one.reason).toMatchObject({ code: 'invalid_run_state' });
      expect((await store.findRun(runId))?.generation).toBe(round + 1);
      expect(await store.listLeases([runId])).toHaveLength(1);
      // Every second time nobody ends it.
      if (round % 2 === 0) await won[0]?.endRun('interrupted');
      else clock.jump(TTL_MS + 1_000);
      await won[0]?.close();
    }
    for (const session of [frozen, winner]) await session.close();
  });
});
