/** A session whose clock is hours ahead or behind resumes no live run, and still resumes one whose session has died. */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { casesOf } from '../../support/long.ts';
import { openStorage, TrainingSession, type Store } from '../../../src/index.ts';
import { openFileStorage } from '../../../src/store/sql/node/file-storage.ts';
import { FastClock } from '../../support/fast-clock.ts';
import { mortalStore } from '../../support/store-proxy.ts';

const HOUR_MS = 3_600_000;
const cleanups: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** Opens one location several times, each time with the clock of the session that opens it. */
const places: Readonly<Record<string, () => Promise<(clock: FastClock) => Promise<Store>>>> = {
  memory: async () => {
    const uri = `memory:${randomUUID()}`;
    return (clock) => openStorage(uri, { clock });
  },
  SQLite: async () => {
    const folder = await mkdtemp(join(tmpdir(), 'quark-clock-'));
    cleanups.push(() => rm(folder, { recursive: true, force: true }));
    return (clock) => openFileStorage(folder, { clock });
  },
};

describe.each(Object.entries(places))('over %s', (_name, makePlace) => {
  test.each(casesOf([2, -2, 30], 1))('with a clock %d hours ahead', async (hours) => {
    const open = await makePlace();
    const [clock, wrong] = [new FastClock(20), new FastClock(20)];
    wrong.jump(hours * HOUR_MS);
    const own = await open(clock);
    const other = await open(wrong);
    cleanups.push(
      () => own.close(),
      () => other.close(),
    );
    const life = mortalStore(own);
    const options = { leaseTtlMs: 60_000, handleSignals: false };
    const session = await TrainingSession.startRun({
      ...options,
      project: 'p',
      storage: life.store,
      clock,
    });
    const { runId } = session;
    const resume = (): Promise<TrainingSession> =>
      TrainingSession.resumeRun({ ...options, runId, storage: other, clock: wrong });
    await expect(resume()).rejects.toMatchObject({ code: 'invalid_run_state' });
    expect(session.signal.aborted).toBe(false);
    expect((await own.findRun(runId))?.generation).toBeUndefined();
    // Now it dies: nobody renews its lease.
    life.kill();
    const deadline = performance.now() + 60_000;
    let resumed: TrainingSession | undefined;
    while (resumed === undefined && performance.now() < deadline)
      resumed = await resume().catch(() => undefined);
    expect((await own.findRun(runId))?.generation).toBe(2);
    await resumed?.endRun();
    await resumed?.close();
  });
});
