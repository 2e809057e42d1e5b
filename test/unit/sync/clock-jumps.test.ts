/** A clock here that jumps by hours: nothing waits for hours because of it. */
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createMemoryStore, openMemoryStorage } from '../../../src/store/memory/memory-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { OutboxStore } from '../../../src/sync/outbox-store.ts';
import { FastClock } from '../../support/fast-clock.ts';
import { runOf, segmentOf } from '../../support/segments.ts';
import { faultyStore, mortalStore, type Fault } from '../../support/store-proxy.ts';

const JUMPS_MS = [-26, 5].map((hours) => hours * 3_600_000);
/** Rows of a segment of the tests. */
const ROWS = 10;
const PATIENCE = { timeout: 60_000, interval: 10 };

let clock: FastClock;
let local: Store;
let service: Store;
let fault: (call: string, args: readonly unknown[]) => Fault;
const opened: OutboxStore[] = [];

beforeEach(async () => {
  clock = new FastClock(100);
  local = await openMemoryStorage(`memory:${randomUUID()}`);
  service = createMemoryStore();
  fault = () => ({ kind: 'none' });
});

afterEach(async () => {
  for (const outbox of opened.splice(0)) await outbox.close();
  await local.close();
});

function open(over: Store): OutboxStore {
  return new OutboxStore({
    local: over,
    ownsLocal: false,
    openRemote: async () => faultyStore(service, (call, args) => fault(call, args)),
    remoteUri: 'https://service.test/',
    space: 'default',
    clock,
    random: () => 1,
  });
}

function openHere(over: Store = local): OutboxStore {
  const outbox = open(over);
  opened.push(outbox);
  return outbox;
}

async function rowsThere(runId = 'run_1'): Promise<number> {
  const kept = await service.listSegments({ runId, table: 'metrics' });
  return kept.reduce((sum, { rowCount }) => sum + rowCount, 0);
}

describe.each(JUMPS_MS)('a jump of %d ms', (jumpMs) => {
  test.each(['failed', 'unreachable'] as const)(
    'while a run waits for another attempt (%s)',
    async (reason) => {
      let failures = 0;
      fault = (call, args) => {
        const isOfRun = call === 'appendSegments' && JSON.stringify(args).includes('"run_1"');
        if (!isOfRun) return { kind: 'none' };
        failures++;
        return { kind: 'before', reason };
      };
      const outbox = openHere();
      // Another run, so that one is put off alone where that is what the failure means.
      for (const id of ['run_1', 'run_2']) await outbox.createRun(runOf({ id }));
      const segment = segmentOf(0);
      await outbox.appendSegments([segment, segmentOf(0, { runId: 'run_2' })]);
      await expect.poll(() => failures, PATIENCE).toBeGreaterThan(4);
      clock.jump(jumpMs);
      fault = () => ({ kind: 'none' });
      await expect.poll(() => rowsThere(), PATIENCE).toBe(ROWS);
      // What comes later goes the same way.
      clock.jump(-jumpMs);
      await outbox.appendSegments([segmentOf(1)]);
      await expect.poll(() => rowsThere(), PATIENCE).toBe(2 * ROWS);
    },
  );

  test('after the process that sends has died: the next one takes over', async () => {
    const life = mortalStore(local);
    const dead = open(life.store);
    await dead.createRun(runOf());
    const segment = segmentOf(0);
    await dead.appendSegments([segment]);
    await expect.poll(() => rowsThere(), PATIENCE).toBe(ROWS);
    life.kill();
    clock.jump(jumpMs);
    const next = openHere();
    await next.appendSegments([segmentOf(1)]);
    await expect.poll(() => rowsThere(), PATIENCE).toBe(2 * ROWS);
  });

  test('while two hold the store and renew: each record arrives once', async () => {
    const pair = [openHere(), openHere()];
    await pair[0]?.createRun(runOf());

    for (let i = 0; i < 10; i++) {
      await pair[i & 1]?.appendSegments([segmentOf(i)]);
      clock.jump((i & 1) === 0 ? jumpMs : -jumpMs);
      // Three renewals of the lease, by the clock of the outboxes.
      await new Promise((resolve) => {
        clock.after(15_000, () => resolve(undefined));
      });
    }
    await expect.poll(() => rowsThere(), PATIENCE).toBe(10 * ROWS);
    expect(await service.listSegments({ runId: 'run_1', table: 'metrics' })).toHaveLength(10);
  });
});
