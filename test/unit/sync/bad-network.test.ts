/** A network on which some requests never get through: the others do. */
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createMemoryStore, openMemoryStorage } from '../../../src/store/memory/memory-store.ts';
import type { NewSegment, Store } from '../../../src/store/store.ts';
import { OutboxStore } from '../../../src/sync/outbox-store.ts';
import { FastClock } from '../../support/fast-clock.ts';
import { runOf, segmentOf } from '../../support/segments.ts';
import { faultyStore, type Fault } from '../../support/store-proxy.ts';

const ROWS = 10;
const PATIENCE = { timeout: 20_000, interval: 10 };
const LOST: Fault = { kind: 'before', reason: 'unreachable' };

let service: Store;
let outbox: OutboxStore;
let fault: (call: string, args: readonly unknown[]) => Fault;

beforeEach(async () => {
  service = createMemoryStore();
  fault = () => ({ kind: 'none' });
  outbox = new OutboxStore({
    local: await openMemoryStorage(`memory:${randomUUID()}`),
    ownsLocal: true,
    openRemote: async () => faultyStore(service, (call, args) => fault(call, args)),
    remoteUri: 'https://service.test/',
    space: 'default',
    clock: new FastClock(100),
    random: () => 1,
  });
});

afterEach(() => outbox.close());

async function record(id: string, segments: number, sizeBytes = 64): Promise<void> {
  await outbox.createRun(runOf({ id }));
  const all = Array.from({ length: segments }, (_, i) => segmentOf(i, { runId: id }, sizeBytes));
  await outbox.appendSegments(all);
}

async function rowsThere(runId: string): Promise<number> {
  const kept = await service.listSegments({ runId, table: 'metrics' });
  return kept.reduce((sum, { rowCount }) => sum + rowCount, 0);
}

function segmentsIn(args: readonly unknown[]): readonly NewSegment[] {
  return args[0] as readonly NewSegment[];
}

test.each([
  ['one run does', ['run_a']],
  ['more than make a service count as away do', ['run_a', 'run_b', 'run_c', 'run_d']],
])('%s not get through: the others arrive, and theirs when it gets better', async (_what, lost) => {
  fault = (call, args) =>
    call === 'appendSegments' && lost.includes(segmentsIn(args)[0]?.manifest.runId ?? '')
      ? LOST
      : { kind: 'none' };
  const others = ['run_e', 'run_f', 'run_g'];
  for (const id of [...lost, ...others]) await record(id, 3);
  for (const id of others) await expect.poll(() => rowsThere(id), PATIENCE).toBe(3 * ROWS);
  // Also what is recorded from now on.
  await outbox.appendSegments([segmentOf(3, { runId: 'run_e' })]);
  await expect.poll(() => rowsThere('run_e'), PATIENCE).toBe(4 * ROWS);
  for (const id of lost) expect(await rowsThere(id)).toBe(0);
  fault = () => ({ kind: 'none' });
  for (const id of lost) await expect.poll(() => rowsThere(id), PATIENCE).toBe(3 * ROWS);
});

test('large requests do not get through: smaller ones are sent', async () => {
  const mostBytes = 20_000;
  const sizes: number[] = [];
  fault = (call, args) => {
    if (call !== 'appendSegments') return { kind: 'none' };
    const bytes = segmentsIn(args).reduce((sum, segment) => sum + segment.bytes.byteLength, 0);
    sizes.push(bytes);
    return bytes > mostBytes ? LOST : { kind: 'none' };
  };
  await record('run_a', 64, 4_000);
  await expect.poll(() => rowsThere('run_a'), PATIENCE).toBe(64 * ROWS);
  expect(sizes[0]).toBe(64 * 4_000);
  // Larger ones are tried again all the time.
  expect(sizes.filter((bytes) => bytes > mostBytes).length).toBeGreaterThan(3);
});

test.each([
  { what: 'is larger than a service takes', count: 3, sizeBytes: 12 << 20, mostBytes: 32 << 20 },
  { what: 'is more than a line lets through', count: 64, sizeBytes: 4_000, mostBytes: 20_000 },
])('a table computed anew $what: it goes in parts', async ({ count, mostBytes, sizeBytes }) => {
  const reason = mostBytes === 20_000 ? 'unreachable' : 'too_large';
  await record('run_a', 2);
  await expect.poll(() => rowsThere('run_a'), PATIENCE).toBe(2 * ROWS);
  const calls: string[] = [];
  fault = (call, args) => {
    if (call !== 'appendSegments' && call !== 'replaceTable') return { kind: 'none' };
    const segments = args[call === 'replaceTable' ? 2 : 0] as readonly NewSegment[];
    const bytes = segments.reduce((sum, segment) => sum + segment.bytes.byteLength, 0);
    if (bytes > mostBytes) return { kind: 'before', reason };
    calls.push(call);
    return { kind: 'none' };
  };
  const all = Array.from({ length: count }, (_, i) =>
    segmentOf(i, { runId: 'run_a', writerId: 'writer_b' }, sizeBytes),
  );
  await outbox.replaceTable('run_a', 'metrics', all);
  await expect.poll(() => rowsThere('run_a'), PATIENCE).toBe(count * ROWS);
  const kept = await service.listSegments({ runId: 'run_a', table: 'metrics' });
  expect(new Set(kept.map(({ writerId }) => writerId))).toEqual(new Set(['writer_b']));
  expect(new Set(calls)).toEqual(new Set(['replaceTable', 'appendSegments']));
});

test('every other step is lost, and each is kept: a run of many steps arrives without long pauses', async () => {
  let calls = 0;
  fault = () => (++calls % 2 === 0 ? { kind: 'none' } : LOST);
  for (let i = 0; i < 10; i++) await record(`run_${i}`, 3);
  for (let i = 0; i < 10; i++)
    await expect.poll(() => rowsThere(`run_${i}`), PATIENCE).toBe(3 * ROWS);
});
