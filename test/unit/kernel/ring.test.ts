import { expect, test, vi } from 'vitest';
import { StepHandOver } from '../../../src/kernel/tensor/step-hand-over.ts';
import { HandOverCosts } from '../../../src/kernel/workers/hand-over-costs.ts';
import {
  JOB_CALL,
  RING_CLAIMED,
  RING_PUBLISHED,
  RING_SLOTS,
  ringViews,
  SLOT_AT_WORKER,
  SLOT_DONE,
  SLOT_FAILED,
  SLOT_FREE,
} from '../../../src/kernel/workers/ring/ring-memory.ts';
import { Ring, type RingJob, type RingRoom } from '../../../src/kernel/workers/ring/ring.ts';
import {
  claimJob,
  serveRing,
  type RingAnswer,
} from '../../../src/kernel/workers/ring/serve-ring.ts';
import type { StepBatch, StepCrew } from '../../../src/kernel/workers/step-crew.ts';
import { random as generator } from '../../support/tensors.ts';

/** Twice the number of the job; a negative one cannot be done. */
const twice: RingAnswer = (job, _buffer, out) => {
  const number = job[JOB_CALL] ?? 0;
  if (number < 0) throw new Error('below zero');
  out[0] = 2 * number;
};

/** A ring of so many bytes whose answers are collected, and its workers, which this thread plays. */
function ringOf(sizeBytes: number) {
  const ring = new Ring({ sizeBytes, answerHere: twice, now: () => 0 });
  const views = ringViews(ring.buffer);
  const { header, states, jobs, buffer } = views;
  const told: unknown[] = [];
  const add = (number: number, room = take()): RingJob | undefined =>
    ring.post({
      room,
      describe: (numbers) => (numbers[JOB_CALL] = number),
      done: (out) => told.push(out[0]),
      failed: (error) => told.push(error),
    });
  const take = (bytes = 0): RingRoom => {
    const room = ring.acquire(bytes, 1);
    if (room === undefined) throw new Error('no room');
    return room;
  };
  const claim = (worker: number): number | undefined => claimJob(views, worker);
  /** Ends a job that was claimed; false when it had been taken from the worker. */
  const finish = (slot: number, worker: number): boolean => {
    const job = jobs[slot] ?? new Float64Array(2);
    const [at = 0, length = 0] = job;
    let end = SLOT_DONE;
    try {
      twice(job, buffer, new Float64Array(buffer, at, length));
    } catch {
      end = SLOT_FAILED;
    }
    const mine = SLOT_AT_WORKER + worker;
    if (Atomics.compareExchange(states, slot, mine, end) === mine) return true;
    Atomics.store(states, slot, SLOT_FREE);
    return false;
  };
  return { ring, told, add, take, claim, finish, header };
}

test('answers are told when the training thread passes by, each once', () => {
  const { ring, told, add, claim, finish } = ringOf(4096);
  add(1);
  add(2);
  const first = claim(0) ?? -1;
  const second = claim(1) ?? -1;
  finish(second, 1);
  ring.poll();
  expect(told).toEqual([4]);
  finish(first, 0);
  ring.poll();
  ring.poll();
  expect(told).toEqual([4, 2]);
  expect(ring.open).toEqual([]);
});

test('a job that nobody has begun is taken back, and no worker finds it', () => {
  const { ring, told, add, claim } = ringOf(4096);
  const job = add(3);
  if (job === undefined) throw new Error('no job');
  expect(ring.takeBack(job)).toBe(true);
  expect(told).toEqual([6]);
  expect(claim(0)).toBeUndefined();
  expect(ring.takeBack(job)).toBe(false);
});

test('a job that a worker is at is done here when it is late, and its memory is free when the worker is done', () => {
  const { ring, told, add, take, claim, finish } = ringOf(4096);
  const room = take(1024);
  const job = add(5, room);
  if (job === undefined) throw new Error('no job');
  const slot = claim(0) ?? -1;
  expect(ring.takeBack(job)).toBe(false);
  ring.takeOver(job);
  ring.release(room);
  expect(told).toEqual([10]);
  expect(ring.isLate(job)).toBe(true);
  expect(ring.usedBytes).toBeGreaterThan(1024);
  expect(finish(slot, 0)).toBe(false);
  ring.poll();
  expect(told).toEqual([10]);
  expect(ring.usedBytes).toBe(0);
});

test('a worker that is gone costs nothing: what it was at is done here, and what it held is free', () => {
  const { ring, told, add, claim } = ringOf(4096);
  const held = add(1);
  if (held === undefined) throw new Error('no job');
  claim(4);
  ring.takeOver(held);
  add(2);
  claim(4);
  add(3);
  ring.lost(4);
  expect(told).toEqual([2, 4]);
  expect(ring.isLate(held)).toBe(false);
  expect(ring.open).toHaveLength(1);
  expect(claim(5)).toBeDefined();
});

test('what a worker cannot do is done here, and says what is wrong', () => {
  const { ring, told, add, claim, finish } = ringOf(4096);
  add(-1);
  finish(claim(0) ?? -1, 0);
  ring.poll();
  expect(told).toEqual([new Error('below zero')]);
  expect(ring.open).toEqual([]);
});

test('a dropped job reports no answer, whether it is queued, running or done', () => {
  const { ring, told, add, claim, finish } = ringOf(4096);
  const [waiting, begun, done] = [add(1), add(2), add(3)];
  if (waiting === undefined || begun === undefined || done === undefined) throw new Error('no job');
  ring.drop(waiting);
  const second = claim(0) ?? -1;
  finish(claim(0) ?? -1, 0);
  ring.drop(begun);
  ring.drop(done);
  finish(second, 0);
  ring.poll();
  expect(told).toEqual([]);
  expect(ring.open).toEqual([]);
});

test('memory goes around, begins anew when it is empty, and is refused when it is full', () => {
  const { ring } = ringOf(3 * 1040);
  const rooms = [1, 2, 3].map(() => ring.acquire(1024, 2));
  expect(ring.acquire(16, 1)).toBeUndefined();
  const [first, second, third] = rooms;
  if (first === undefined || second === undefined || third === undefined)
    throw new Error('no room');
  ring.release(second);
  expect(ring.acquire(16, 1)).toBeUndefined();
  ring.release(first);
  const again = ring.acquire(1024, 2);
  expect(again?.byteOffset).toBe(first.byteOffset);
  ring.release(third);
  if (again !== undefined) ring.release(again);
  expect(ring.usedBytes).toBe(0);
  expect(ring.acquire(2000, 1)?.byteOffset).toBe(first.byteOffset);
});

test('more jobs than there are slots are refused, and none is lost when the numbers wrap around', () => {
  const { ring, told, add, claim, finish, header } = ringOf(1 << 16);
  Atomics.store(header, RING_PUBLISHED, 2 ** 31 - 8);
  Atomics.store(header, RING_CLAIMED, 2 ** 31 - 8);
  const room = ring.acquire(16, 1);
  if (room === undefined) throw new Error('no room');
  for (let i = 0; i < RING_SLOTS; i++) expect(add(i, room)).toBeDefined();
  expect(add(0, room)).toBeUndefined();
  for (let i = 0; i < RING_SLOTS; i++) {
    finish(claim(i % 3) ?? -1, i % 3);
    ring.poll();
  }
  expect(told).toEqual(Array.from({ length: RING_SLOTS }, (_, i) => 2 * i));
});

test('whatever workers and the training thread do, in any order, each job is told once', () => {
  const random = generator(20);
  const { ring, told, add, claim, finish } = ringOf(1 << 16);
  const open: RingJob[] = [];
  const claimed: [number, number][] = [];
  let posted = 0;
  const pick = <T>(list: T[]): T | undefined =>
    list.splice(Math.floor(random() * list.length), 1)[0];
  for (let step = 0; step < 20_000; step++) {
    const what = random();
    const room = what < 0.3 ? ring.acquire(Math.floor(random() * 2000), 1) : undefined;
    if (room !== undefined) {
      const job = add(posted, room);
      ring.release(room);
      if (job !== undefined) {
        open.push(job);
        posted += 1;
      }
    } else if (what < 0.5) {
      const worker = Math.floor(random() * 3);
      // A worker looks before it claims.
      const slot = ring.queuedCount > 0 ? claim(worker) : undefined;
      if (slot !== undefined) claimed.push([slot, worker]);
    } else if (what < 0.75) {
      const next = pick(claimed);
      if (next !== undefined) finish(...next);
    } else if (what < 0.9) ring.poll();
    else if (what < 0.95) {
      const job = pick(open);
      if (job !== undefined) ring.takeOver(job);
    } else if (what < 0.96) {
      const worker = Math.floor(random() * 3);
      for (let i = claimed.length - 1; i >= 0; i--)
        if (claimed[i]?.[1] === worker) claimed.splice(i, 1);
      ring.lost(worker);
    }
  }
  for (const job of ring.open) ring.takeOver(job);
  expect(told.toSorted((a, b) => Number(a) - Number(b))).toEqual(
    Array.from({ length: posted }, (_, i) => 2 * i),
  );
  expect(posted).toBeGreaterThan(1000);
});

test('steps are computed on the spot for a while when wake-ups take longer than what they are about', () => {
  const costs = new HandOverCosts({ compute: () => undefined, isShared: true });
  const ring = new Ring({ sizeBytes: 1 << 22, answerHere: twice, now: () => 0 });
  let wakeMs = 0;
  const job = {
    isSettled: true,
    postedMs: 0,
    takeOver: () => undefined,
    drop: () => undefined,
  };
  const batch: StepBatch = {
    space(bytes, length) {
      const room = ring.acquire(bytes, length);
      if (room === undefined) return undefined;
      const { memory } = ring;
      const { numbers } = memory;
      const copy = memory.copy.bind(memory);
      return { ...room, numbers, copy, release: () => undefined, offer: () => job };
    },
    publish: () => {
      for (const until = performance.now() + wakeMs; performance.now() < until;);
    },
  };
  const crew: StepCrew = {
    way: 'ring',
    messages: 1,
    prepare: () => undefined,
    open: () => batch,
    poll: () => undefined,
    settle: () => Promise.resolve(),
  };
  vi.spyOn(costs, 'savedInStep').mockReturnValue(0.5);
  const steps = new StepHandOver(crew, costs, 0);
  const data = new Float32Array(8);
  /** Whether a part of a step is handed over. */
  const hand = (wake: number): boolean => {
    wakeMs = wake;
    const parts = steps.open(() => undefined);
    const isHanded = parts.cosine({ data, source: data }, { data, source: [] }, () => undefined);
    parts.publish();
    return isHanded;
  };
  // One that is slow says nothing.
  expect([0, 0, 1, 0, 0].map(hand)).toEqual([true, true, true, true, true]);
  expect([1, 1, 1, 1, 1].map(hand)).toEqual([true, true, true, true, true]);
  const parts = steps.open(() => undefined);
  const again = (): boolean =>
    parts.cosine({ data, source: data }, { data, source: [] }, () => undefined);
  for (let i = 0; i < 2000; i++) expect(again()).toBe(false);
  expect(again()).toBe(true);
});

test('a call is handed over where that has blocked less, and tried again after it has not', () => {
  const costs = new HandOverCosts({ compute: () => undefined, isShared: true });
  const bytes = 1 << 20;
  for (let i = 0; i < 9; i++) {
    costs.computed(bytes, 1);
    costs.handedOver(bytes, 0.5);
  }
  expect(costs.staysHere(bytes, bytes)).toBe(false);
  // Of many calls that are handed over, some are computed here, to be compared with.
  const stays = Array.from({ length: 320 }, () => costs.staysHere(bytes, bytes));
  expect(stays.filter(Boolean)).toHaveLength(10);
  // Of a size that nothing is known of, all are computed here until something is.
  expect(costs.staysHere(64 * bytes, 64 * bytes)).toBe(true);
  // One pause changes nothing.
  costs.handedOver(bytes, 500);
  expect(costs.staysHere(bytes, bytes)).toBe(false);
  expect(costs.diagnostics().fromBytes).toBeLessThanOrEqual(bytes);
  for (let i = 0; i < 9; i++) costs.handedOver(bytes, 2);
  expect(costs.staysHere(bytes, bytes)).toBe(true);
  let stayed = 0;
  while (costs.staysHere(bytes, bytes) && stayed < 10_000) stayed += 1;
  expect(stayed).toBeGreaterThan(100);
  expect(stayed).toBeLessThan(10_000);
});

test('a worker with nothing to do touches the memory that comes next, page by page, and changes none of it', () => {
  const { ring } = ringOf(20 << 20);
  const room = ring.acquire(1 << 20, 1);
  const usedBytes = (room?.end ?? 0) & ~1023;
  const words = new Int32Array(ring.buffer);
  words[(room?.byteOffset ?? 0) >> 2] = 7;
  const or = vi.spyOn(Atomics, 'or');
  // Instead of sleeping it is sent away.
  const wait = vi.spyOn(Atomics, 'wait').mockImplementation(() => {
    ring.sendAway(true);
    return 'ok';
  });
  try {
    serveRing(ring.buffer, 0, twice, () => undefined);
    const pages = or.mock.calls.flatMap(([array, at, bits]) =>
      array.length === words.length && Number(bits) === 0 ? [at >> 10] : [],
    );
    const most = usedBytes + (8 << 20);
    expect(pages).toStrictEqual(Array.from({ length: pages.length }, (_, i) => i));
    expect(pages.length * 4096).toBeGreaterThanOrEqual(most);
    // At most one stride of 256 KiB beyond.
    expect(pages.length * 4096).toBeLessThan(most + (1 << 18));
    expect(words[(room?.byteOffset ?? 0) >> 2]).toBe(7);
    expect(wait).toHaveBeenCalledTimes(1);
  } finally {
    or.mockRestore();
    wait.mockRestore();
  }
});
