/** A service whose clock is two hours off: a live run is taken over by nobody, over HTTP and by an outbox, and a dead one is. */
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { casesOf, longTest } from '../support/long.ts';
import { TrainingSession, type Store } from '../../src/index.ts';
import type { ServedService } from '../../src/service/node/serve-service.ts';
import { FastClock } from '../support/fast-clock.ts';
import { mortalStore } from '../support/store-proxy.ts';
import { RunningServices, storeOf } from './running-service.ts';

const HOUR_MS = 3_600_000;
/** How much faster than in the world time passes for the services and the sessions. */
const SPEED = 20;
const LEASE = { leaseTtlMs: 60_000, handleSignals: false } as const;

/** The name of the outbox's folder, and so of its space at the service. */
const SPACE = 'runs';

const services = new RunningServices();
const stores: Store[] = [];
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close();
  await services.clear();
});

async function openAt(service: ServedService): Promise<Store> {
  const store = await storeOf(service, undefined, SPACE);
  stores.push(store);
  return store;
}

/** A session at the service, which dies when it is told to. */
async function live(service: ServedService, clock: FastClock) {
  const life = mortalStore(await openAt(service));
  const session = await TrainingSession.startRun({
    ...LEASE,
    project: 'p',
    storage: life.store,
    clock,
  });
  return { session, life, runId: session.runId };
}

/** Tries until the run is resumed, and gives the session. */
async function eventually(resume: () => Promise<TrainingSession>): Promise<TrainingSession> {
  let found: TrainingSession | undefined;
  await expect
    .poll(
      async () => {
        found ??= await resume().catch(() => undefined);
        return found !== undefined;
      },
      { timeout: 60_000 },
    )
    .toBe(true);
  if (found === undefined) throw new Error('The run was not resumed.');
  return found;
}

test.each(casesOf([2, -2], 1))('the clock of the service jumps by %d hours', async (hours) => {
  const [clock, wrong] = [new FastClock(SPEED), new FastClock(SPEED)];
  const service = await services.start({ clock: wrong });
  const { session, life, runId } = await live(service, clock);
  const other = await openAt(service);
  const resume = (): Promise<TrainingSession> =>
    TrainingSession.resumeRun({ ...LEASE, runId, storage: other, clock });
  wrong.jump(hours * HOUR_MS);
  // Until the live session renews it, the service takes its lease for lapsed.
  expect(await other.listLeases([runId])).toEqual([]);
  await expect(resume()).rejects.toMatchObject({
    code: 'invalid_run_state',
    details: { reason: 'live' },
  });
  expect(session.signal.aborted).toBe(false);
  expect((await other.findRun(runId))?.generation).toBeUndefined();
  life.kill();
  const resumed = await eventually(resume);
  expect((await other.findRun(runId))?.generation).toBe(2);
  await resumed.endRun();
  await resumed.close();
});

longTest(
  'of two services over one database, one is two hours ahead: a session there takes no live run over',
  async () => {
    const [clock, ahead] = [new FastClock(SPEED), new FastClock(SPEED)];
    ahead.jump(2 * HOUR_MS);
    const storage = services.folder();
    const right = await services.start({ storage, clock });
    const wrong = await services.start({ storage, clock: ahead });
    const { session, life, runId } = await live(right, clock);
    const other = await openAt(wrong);
    const resume = (): Promise<TrainingSession> =>
      TrainingSession.resumeRun({ ...LEASE, runId, storage: other, clock });
    // Not for a moment only: to the one that is ahead, each lease of the other has always lapsed.
    for (let attempt = 0; attempt < 2; attempt++)
      await expect(resume()).rejects.toMatchObject({ details: { reason: 'live' } });
    expect(session.signal.aborted).toBe(false);
    life.kill();
    const resumed = await eventually(resume);
    await resumed.endRun();
    await resumed.close();
  },
);

test('a session with an outbox on another machine takes no live run over', async () => {
  const [clock, wrong] = [new FastClock(SPEED), new FastClock(SPEED)];
  const service = await services.start({ clock: wrong });
  const { session, runId } = await live(service, clock);
  wrong.jump(2 * HOUR_MS);
  const resume = (): Promise<TrainingSession> =>
    TrainingSession.resumeRun({
      ...LEASE,
      runId,
      clock,
      storageDir: join(services.folder(), SPACE),
      persistenceUrl: service.url,
    });
  await expect(resume()).rejects.toMatchObject({ details: { reason: 'live' } });
  expect(session.signal.aborted).toBe(false);
  await session.endRun();
  await session.close();
});
