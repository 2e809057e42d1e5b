/** A run that was taken over, at a service that is put back to before that: what was superseded does not count again. */
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createMemoryStore, openMemoryStorage } from '../../../src/store/memory/memory-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { OutboxStore } from '../../../src/sync/outbox-store.ts';
import { FastClock } from '../../support/fast-clock.ts';
import { RUN_ID, runOf, segmentOf } from '../../support/segments.ts';

const PATIENCE = { timeout: 20_000, interval: 10 };
const METRICS = { runId: RUN_ID, table: 'metrics' };

let service: Store;
const locals = new Map<string, Store>();
const open = new Map<string, OutboxStore>();

beforeEach(async () => {
  service = createMemoryStore();
  for (const name of ['first', 'second'])
    locals.set(name, await openMemoryStorage(`memory:${randomUUID()}`));
});

afterEach(async () => {
  for (const name of ['first', 'second']) await close(name);
  for (const local of locals.values()) await local.close();
  locals.clear();
});

function start(name: string): OutboxStore {
  const local = locals.get(name);
  if (local === undefined) throw new Error(`no machine ${name}`);
  const outbox = new OutboxStore({
    local,
    ownsLocal: false,
    openRemote: async () => service,
    remoteUri: 'https://service.test/',
    space: 'default',
    clock: new FastClock(100),
    random: () => 1,
    compareEveryMs: 500,
  });
  open.set(name, outbox);
  return outbox;
}

async function close(name: string): Promise<void> {
  await open.get(name)?.close();
  open.delete(name);
}

async function arrived(outbox: OutboxStore): Promise<void> {
  await expect.poll(async () => (await outbox.sync.status()).pendingRuns, PATIENCE).toBe(0);
}

const own = (machine: string, batch: number) => segmentOf(batch, { writerId: `writer_${machine}` });

/** The second machine has taken the run over; the first has a row more, which it could not see. */
async function takeOver(): Promise<void> {
  const first = start('first');
  await first.createRun(runOf());
  await first.appendSegments([own('first', 0)]);
  await arrived(first);
  await close('first');
  await locals.get('first')?.appendSegments([own('first', 1)]);
  const second = start('second');
  await second.renewLease(RUN_ID, 'holder', 1_000_000);
  const found = await second.findRun(RUN_ID);
  if (found === undefined) throw new Error('it was sent');
  await second.updateRun({ ...found, generation: 2, tags: ['taken'] });
  await second.appendSegments([
    { ...own('second', 0), manifest: { ...own('second', 0).manifest, generation: 2 } },
  ]);
  await arrived(second);
  await arrived(start('first'));
  for (const name of ['first', 'second']) await close(name);
}

async function expectTakenOver(): Promise<void> {
  expect((await service.findRun(RUN_ID))?.generation).toBe(2);
  const writers = (await service.listSegments(METRICS)).map(
    ({ batchNumber, writerId }) => `${writerId}/${batchNumber}`,
  );
  expect(writers.sort()).toEqual(['writer_first/0', 'writer_second/0']);
  expect(await service.listSegments({ ...METRICS, superseded: true })).toHaveLength(3);
}

describe.each([
  ['before the run was there', false],
  ['before it was taken over', true],
])('a service that is put back to %s', (_name, hasRun) => {
  test.each([
    ['first', 'second'],
    ['second', 'first'],
  ])(
    'has what was superseded as superseded, when the %s machine is there first',
    async (...order) => {
      await takeOver();
      await expectTakenOver();
      service = createMemoryStore();
      await service.ensureProject({ id: 'project_1', name: 'digits', createdAtMs: 1 });
      if (hasRun) {
        await service.createRun(runOf());
        await service.appendSegments([own('first', 0)]);
      }
      for (const name of order) {
        const outbox = start(name);
        await outbox.compareSent();
        await arrived(outbox);
        await close(name);
      }
      for (const name of order) {
        await arrived(start(name));
        await close(name);
      }
      await expectTakenOver();
    },
  );
});
