/** Steps in buffers that are transferred, with a worker that this thread plays. */
import { expect, test } from 'vitest';
import type { PoolRun } from '../../../src/kernel/workers/pool.ts';
import { JOB_CALL } from '../../../src/kernel/workers/ring/ring-memory.ts';
import type { RingAnswer } from '../../../src/kernel/workers/ring/serve-ring.ts';
import type { StepBatch, StepJob } from '../../../src/kernel/workers/step-crew.ts';
import { TransferCrew } from '../../../src/kernel/workers/transfer-crew.ts';
import { answerTransferred } from '../../../src/kernel/workers/transferred.ts';
import { TestClock } from '../../support/clock.ts';
import { random as generator } from '../../support/tensors.ts';

/** Twice the number of the job; a negative one cannot be done. */
const twice: RingAnswer = (job, _buffer, out) => {
  const number = job[JOB_CALL] ?? 0;
  if (number < 0) throw new Error('below zero');
  out[0] = 2 * number;
};

type Sent = {
  readonly jobs: number;
  readonly buffer: ArrayBuffer;
  /** The worker has the buffer: it cannot be taken back. */
  begin(): void;
  /** The worker does the jobs and sends the buffer back. */
  answer(): void;
  /** The worker dies. */
  die(): void;
  wasCancelled: boolean;
};

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function withResolvers<T>() {
  let resolve: (value: T) => void = () => undefined;
  let reject: (error: unknown) => void = () => undefined;
  const promise = new Promise<T>((fulfil, refuse) => {
    resolve = fulfil;
    reject = refuse;
  });
  return { promise, resolve, reject };
}

function crewOf(limitBytes = 64 << 20) {
  const sent: Sent[] = [];
  const told: unknown[] = [];
  const clock = new TestClock(0);
  const pool = {
    hasWorkers: true,
    runJobs(jobs: number, buffer: ArrayBuffer): PoolRun<unknown> {
      const result = withResolvers<unknown>();
      const done = withResolvers<ArrayBufferLike | undefined>();
      let isQueued = true;
      let isTaken = false;
      let away = buffer;
      const one: Sent = {
        jobs,
        buffer,
        begin() {
          isQueued = false;
          away = structuredClone(buffer, { transfer: [buffer] });
        },
        answer() {
          if (isTaken) return;
          if (isQueued) one.begin();
          answerTransferred({ transferredJobs: jobs }, away, twice);
          result.resolve(undefined);
          done.resolve(away);
        },
        die() {
          if (isTaken) return;
          if (isQueued) one.begin();
          result.reject(new Error('the worker exited'));
          done.resolve(undefined);
        },
        wasCancelled: false,
      };
      sent.push(one);
      return {
        result: result.promise,
        done: done.promise,
        cancel: (error) => {
          one.wasCancelled = true;
          result.reject(error);
        },
        takeBack: () => {
          if (!isQueued) return undefined;
          isQueued = false;
          isTaken = true;
          done.resolve(buffer);
          return buffer;
        },
      };
    },
  };
  const config = { limitBytes, answerHere: twice, clock, callTimeoutMs: 60_000 };
  const crew = new TransferCrew(config, pool);
  /** A crew whose first buffers have come back. */
  const warm = async (count = 1): Promise<void> => {
    for (let i = 0; i < count; i++) crew.prepare();
    for (const one of sent.splice(0)) one.answer();
    await turn();
  };
  const add = (batch: StepBatch | undefined, number: number, bytes = 16): StepJob => {
    const job = batch?.space(bytes, 1)?.offer({
      outLength: 1,
      describe: (numbers) => (numbers[JOB_CALL] = number),
      done: (out) => told.push(out[0]),
      failed: (error) => told.push(error),
    });
    if (job === undefined) throw new Error('no job');
    return job;
  };
  const step = (...numbers: readonly number[]): readonly StepJob[] => {
    const batch = crew.open();
    const jobs = numbers.map((number) => add(batch, number));
    batch?.publish();
    return jobs;
  };
  return { crew, pool, sent, told, clock, warm, add, step };
}

test('a step is one message, and its answers are told when the training thread passes by, each once', async () => {
  const { crew, sent, told, warm, step } = crewOf();
  await warm();
  const jobs = step(1, 2, -3, 4);
  expect(sent.map((one) => one.jobs)).toEqual([4]);
  sent[0]?.answer();
  expect(told).toEqual([]);
  await turn();
  expect(told).toEqual([]);
  crew.poll();
  crew.poll();
  // What the worker could not do is done here, and says what is wrong.
  expect(told).toEqual([2, 4, new Error('below zero'), 8]);
  expect(jobs.every(({ isSettled }) => isSettled)).toBe(true);
  expect(crew.counts).toMatchObject({ usedBytes: 0, lost: 0 });
  // The buffer is used again.
  expect(crew.open()).toBeDefined();
});

test('a step is computed here until a buffer has visited a worker, and while all of them are under way', async () => {
  const { crew, sent, warm, step } = crewOf();
  expect(crew.open()).toBeUndefined();
  expect(sent.map(({ jobs }) => jobs)).toEqual([0]);
  await warm(3);
  for (let i = 0; i < 3; i++) {
    expect(step(i)).toHaveLength(1);
    await turn(); // oxlint-disable-line no-await-in-loop -- a step after the other
  }
  expect(crew.open()).toBeUndefined();
  expect(sent).toHaveLength(3);
});

test('a loop that gives the event loop no turn hands nothing more over', async () => {
  const { crew, told, warm, step } = crewOf();
  await warm(3);
  step(1);
  step(2);
  expect(crew.open()).toBeUndefined();
  await turn();
  expect(crew.open()).toBeDefined();
  expect(told).toEqual([]);
});

test('a queued step is computed on this thread for a caller that cannot wait', async () => {
  const { crew, told, warm, step } = crewOf();
  await warm();
  const [job] = step(5, 6);
  job?.takeOver(false);
  expect(told).toEqual([10, 12]);
  await turn();
  expect(crew.counts).toMatchObject({ usedBytes: 0, lost: 0 });
});

test('what is away is waited for, and fails when the process ends, counted', async () => {
  const { crew, sent, told, warm, step } = crewOf();
  await warm();
  const [job] = step(5);
  sent[0]?.begin();
  await turn();
  for (let i = 0; i < 100; i++) job?.takeOver(false);
  expect(told).toEqual([]);
  job?.takeOver(true);
  expect(told).toEqual([expect.objectContaining({ code: 'kernel_failed' })]);
  expect(crew.counts.lost).toBe(1);
  // Its answer is told to nobody, its buffer is used again.
  sent[0]?.answer();
  await turn();
  expect(told).toHaveLength(1);
  expect(crew.counts.usedBytes).toBe(0);
  expect(crew.open()).toBeDefined();
});

test('what is away is given up in a loop without turns, and its worker stays', async () => {
  const { crew, sent, told, warm, step } = crewOf();
  await warm();
  const [job] = step(5);
  sent[0]?.begin();
  for (let i = 0; i < 15; i++) job?.takeOver(false);
  expect(told).toEqual([]);
  job?.takeOver(false);
  expect(told).toHaveLength(1);
  expect(sent[0]?.wasCancelled).toBe(false);
  expect(crew.counts.lost).toBe(1);
});

test('a caller that waits for a hung worker gets an error after five seconds, and the worker is ended', async () => {
  const { crew, sent, told, clock, warm, step } = crewOf();
  await warm();
  const jobs = step(5);
  sent[0]?.begin();
  const settled = crew.settle(jobs);
  clock.advance(4900);
  expect(told).toEqual([]);
  clock.advance(200);
  await settled;
  expect(told).toEqual([expect.objectContaining({ code: 'kernel_failed' })]);
  expect(sent[0]?.wasCancelled).toBe(true);
});

test('a worker that dies costs its step, which says so, and no other', async () => {
  const { crew, sent, told, warm, step } = crewOf();
  await warm(2);
  step(1);
  step(2);
  sent[0]?.die();
  sent[1]?.answer();
  await turn();
  crew.poll();
  expect(told).toEqual([new Error('the worker exited'), 4]);
  expect(crew.counts).toMatchObject({ usedBytes: 0, lost: 1 });
});

test('who waits is told as soon as the answer has come; a step that is closed fails', async () => {
  const { crew, sent, told, warm, step } = crewOf();
  await warm(2);
  const settled = crew.settle(step(7));
  sent[0]?.answer();
  await settled;
  expect(told).toEqual([14]);
  const late = crew.settle(step(8));
  crew.close();
  await late;
  expect(told[1]).toMatchObject({ code: 'kernel_failed' });
  expect(crew.open()).toBeUndefined();
});

test('buffers grow until a step has room, and never beyond the limit', async () => {
  const { crew, warm, add } = crewOf(48 << 20);
  await warm();
  const small = crew.open();
  expect(small?.space(5 << 20, 1)).toBeUndefined();
  // What fits is handed over all the same.
  add(small, 1);
  small?.publish();
  await warm(3);
  crew.poll();
  const large = crew.open();
  expect(large?.space(5 << 20, 1)).toBeDefined();
  expect(large?.space(40 << 20, 1)).toBeUndefined();
  large?.publish();
  await warm(3);
  const most = crew.open();
  expect(most?.space(15 << 20, 1)).toBeDefined();
  expect(most?.space(2 << 20, 1)).toBeUndefined();
  expect(crewOf(100_000).crew.open()).toBeUndefined();
});

test('a step that is given up holds nothing', async () => {
  const { crew, sent, told, warm, add } = crewOf();
  await warm();
  const batch = crew.open();
  add(batch, 1).drop();
  batch?.space(16, 1)?.release();
  batch?.publish();
  expect(sent).toEqual([]);
  expect(crew.counts.usedBytes).toBe(0);
  const away = crew.open();
  const job = add(away, 2);
  away?.publish();
  job.drop();
  sent[0]?.answer();
  await turn();
  expect(told).toEqual([]);
  expect(crew.counts.usedBytes).toBe(0);
});

test('whatever workers and the training thread do, in any order, each job is told once', async () => {
  const random = generator(41);
  const { crew, sent, told, clock, warm, add } = crewOf();
  await warm(3);
  let posted = 0;
  let dropped = 0;
  let open: StepJob[] = [];
  const kept = new Map<number, StepJob>();
  for (let i = 0; i < 3000; i++) {
    const what = random();
    if (what < 0.4) {
      const batch = crew.open();
      const count = batch === undefined ? 0 : Math.ceil(random() * 3);
      for (let n = 0; n < count; n++) {
        const job = add(batch, posted);
        kept.set(posted++, job);
        open.push(job);
      }
      batch?.publish();
    } else if (what < 0.7) {
      const at = Math.floor(random() * sent.length);
      const [one] = sent.splice(at, 1);
      if (random() < 0.1) one?.die();
      else one?.answer();
    } else if (what < 0.8) crew.poll();
    else if (what < 0.9) await turn(); // oxlint-disable-line no-await-in-loop -- a turn now and then
    else if (what < 0.95) open[Math.floor(random() * open.length)]?.takeOver(random() < 0.1);
    else if (what < 0.97) {
      const job = open[Math.floor(random() * open.length)];
      if (job !== undefined && !job.isSettled) dropped += 1;
      job?.drop();
    } else clock.advance(random() * 4000);
    open = open.filter(({ isSettled }) => !isSettled);
  }
  const settled = crew.settle(open);
  for (const one of sent.splice(0)) one.answer();
  await settled;
  await turn();
  expect([...kept.values()].every(({ isSettled }) => isSettled)).toBe(true);
  expect(told).toHaveLength(posted - dropped);
  const numbers = told.filter((one) => typeof one === 'number');
  expect(new Set(numbers).size).toBe(numbers.length);
  expect(numbers.length).toBeGreaterThan(200);
  crew.poll();
  expect(crew.counts.usedBytes).toBe(0);
});
