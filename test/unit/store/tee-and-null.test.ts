/** The locations `tee:`, `null:` and `socket:`. */
import { describe, expect, it, vi } from 'vitest';
import { MetricsLogger } from '../../../src/session/metrics-logger.ts';
import { TrainingSession } from '../../../src/session/training-session.ts';
import { openStorage } from '../../../src/location/open-storage.ts';
import { openRun } from '../../../src/read/run-reader.ts';
import { createMemoryStore } from '../../../src/store/memory/memory-store.ts';
import { teeStore } from '../../../src/store/tee/tee-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { FastClock } from '../../support/fast-clock.ts';
import { faultyStore } from '../../support/store-proxy.ts';
import { ArtifactStore } from '../../../src/instruments/artifacts/artifact-store.ts';

async function record(storage: Store | string, rows: number): Promise<string> {
  const session = await TrainingSession.startRun({
    project: 'digits',
    storage,
    handleSignals: false,
    clock: new FastClock(),
  });
  const metrics = new MetricsLogger(session, { batchSize: 3 });
  for (let step = 0; step < rows; step++) metrics.log('loss', step / 2, { step });
  await new ArtifactStore(session).store('text', 'notes', 'begun');
  await session.endRun();
  await session.close();
  return session.runId;
}

const stepsOf = async (store: Store, runId: string): Promise<readonly number[]> => [
  ...(await (await openRun(store, runId)).readMetricColumns()).steps,
];

describe('tee:', () => {
  it('has a run in both stores, with the same rows and status', async () => {
    const [first, second] = [createMemoryStore(), createMemoryStore()];
    const runId = await record(teeStore(first, second), 100);
    for (const store of [first, second]) {
      expect(await stepsOf(store, runId)).toEqual(Array.from({ length: 100 }, (_, i) => i));
      expect((await openRun(store, runId)).run.status).toBe('completed');
    }
  });

  it('has it in both after the second has failed for a while, row by row', async () => {
    vi.spyOn(console, 'warn').mockReturnValue();
    const [first, second] = [createMemoryStore(), createMemoryStore()];
    for (const every of [2, 3, 5]) {
      let calls = 0;
      const failing = faultyStore(second, () =>
        calls++ < 40 && calls % every !== 0
          ? { kind: calls % 2 === 0 ? 'after' : 'before', reason: 'full' }
          : { kind: 'none' },
      );
      const tee = teeStore(first, failing);
      const session = await TrainingSession.startRun({
        project: 'digits',
        storage: tee,
        handleSignals: false,
        clock: new FastClock(),
      });
      const metrics = new MetricsLogger(session, { batchSize: 2 });
      for (let step = 0; step < 20; step++) {
        metrics.log('loss', step, { step });
        if (step % 5 === 0) await session.flush();
      }
      await session.endRun();
      const { runId } = session;
      await expect.poll(async () => (await second.findRun(runId))?.status).toBe('completed');
      expect(await stepsOf(second, runId)).toEqual(await stepsOf(first, runId));
      expect(await stepsOf(second, runId)).toHaveLength(20);
    }
    vi.restoreAllMocks();
  });

  it('has two locations, and says so', async () => {
    for (const uri of ['tee:', 'tee:memory:a', 'tee:memory:a|', 'tee:memory:a|memory:b|memory:c'])
      await expect(openStorage(uri)).rejects.toMatchObject({
        code: 'invalid_input',
        message: expect.stringContaining('tee:FIRST|SECOND') as string,
      });
    await expect(openStorage('tee:memory:a|nowhere:b')).rejects.toMatchObject({
      reason: 'unknown_scheme',
    });
    const nested = await openStorage('tee:memory:a|tee:memory:b%7Cmemory:c');
    const again = await openStorage(nested.uri);
    expect(again.uri).toBe('tee:memory:a|tee:memory:b%7Cmemory:c');
  });
});

describe('null:', () => {
  it('takes a whole run, and has nothing of it', async () => {
    const store = await openStorage('null:');
    const runId = await record(store, 100);
    expect(await stepsOf(store, runId)).toEqual([]);
    expect(await store.listSegments({ runId, table: 'artifacts' })).toEqual([]);
    expect((await openRun(store, runId)).run.status).toBe('completed');
    expect(await (await openStorage('null:')).listRuns()).toEqual([]);
    await record('null:', 10);
  });
});

describe('socket:', () => {
  it('is refused with what stands for it', async () => {
    await expect(openStorage('socket://user:password@127.0.0.1:8123')).rejects.toMatchObject({
      code: 'invalid_input',
      message: expect.stringContaining('whose HTTP protocol stands for a socket') as string,
    });
  });

  it('does not repeat the password in its message', async () => {
    await expect(openStorage('socket://user:secret@127.0.0.1:8123')).rejects.not.toMatchObject({
      message: expect.stringContaining('secret') as string,
    });
  });
});
