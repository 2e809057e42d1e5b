import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { createMemoryStore, MetricsLogger, openRun, startRun, type Store } from 'quark-sdk';
import { progressOf, readProgress, trainingTotalOf, type ProgressPoint } from 'quark-sdk/profiler';
import type { JsonObject } from '../../../src/base/json.ts';
import { runs } from '../../support/property.ts';

const stores: Store[] = [];
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close();
});

/** Steps of `stepMs`, with pauses after some of them. */
function points(
  count: number,
  stepMs: number,
  pauseAfter: (step: number) => number = () => 0,
  stepsPerEpoch = 100,
): ProgressPoint[] {
  const made: ProgressPoint[] = [];
  let at = 1_700_000_000_000;
  for (let step = 0; step < count; step++) {
    at += stepMs;
    made.push({ step, epoch: Math.floor(step / stepsPerEpoch), timeMs: Math.round(at) });
    at += pauseAfter(step);
  }
  return made;
}

const total = { epochs: 10, stepsPerEpoch: 100, steps: 1000 };

describe('what is left', () => {
  test('the remaining steps at the rate of the steps so far', () => {
    expect(progressOf(points(250, 40), total)).toMatchObject({
      steps: 250,
      totalSteps: 1000,
      epoch: 2,
      totalEpochs: 10,
      share: 0.25,
      stepMs: 40,
      remainingMs: 750 * 40,
    });
  });

  test.each([0, 1, 249])('one long pause, after step %i, changes nothing', (at) => {
    const paused = points(250, 40, (step) => (step === at ? 3_600_000 : 0));
    expect(progressOf(paused, total).remainingMs).toBe(750 * 40);
  });

  test('evaluations that come back after each epoch are added for the epochs to come', () => {
    const evaluated = points(450, 40, (step) => (step % 100 === 99 ? 8000 : 0));
    const { remainingMs, stepMs } = progressOf(evaluated, total);
    expect(stepMs).toBe(40);
    // 550 steps, and 550 / 449 of the four evaluations that came.
    expect(remainingMs).toBeCloseTo(550 * (40 + (4 * 8000) / 449), 6);
  });

  test('a pause beside evaluations is not one of them', () => {
    const slept = points(450, 40, (step) =>
      step === 230 ? 7_200_000 : step % 100 === 99 ? 8000 : 0,
    );
    expect(progressOf(slept, total).remainingMs).toBeCloseTo(550 * (40 + (4 * 8000) / 449), 6);
  });

  test('steps quicker than the clock are timed together', () => {
    const { remainingMs } = progressOf(points(500, 0.3), total);
    expect(Math.abs((remainingMs ?? 0) - 150)).toBeLessThan(10);
  });

  test('every tenth step recorded is as good', () => {
    const sparse = points(400, 40).filter(({ step }) => step % 10 === 9);
    expect(progressOf(sparse, total)).toMatchObject({ stepMs: 40, remainingMs: 600 * 40 });
  });

  test('a resumed run that goes back some steps', () => {
    const first = points(200, 40);
    const again = points(300, 40).slice(150);
    const later = again.map((one) => ({ ...one, timeMs: one.timeMs + 9_999_999 }));
    expect(progressOf([...first, ...later], total).remainingMs).toBe(700 * 40);
  });

  test('by epochs where steps are not known', () => {
    const epochs = points(300, 40, () => 0, 60);
    const { remainingMs, share } = progressOf(epochs, {
      epochs: 10,
      stepsPerEpoch: null,
      steps: null,
    });
    expect(share).toBe(0.4);
    expect(remainingMs).toBe(6 * 60 * 40);
  });

  test('a training that is done, or goes on for longer than it said', () => {
    expect(progressOf(points(1000, 40), total)).toMatchObject({ share: 1, remainingMs: 0 });
    expect(progressOf(points(1200, 40), total)).toMatchObject({ share: 1, remainingMs: 0 });
  });

  test('what is not known is null', () => {
    const nothing = { epochs: null, stepsPerEpoch: null, steps: null };
    expect(progressOf([], nothing)).toEqual({
      steps: null,
      totalSteps: null,
      epoch: null,
      totalEpochs: null,
      share: null,
      stepMs: null,
      remainingMs: null,
      lastTimeMs: null,
    });
    expect(progressOf(points(1, 40), total).remainingMs).toBeNull();
  });

  test('never negative and never not a number, whatever was recorded', () => {
    const point = fc.record({
      step: fc.nat(50),
      epoch: fc.oneof(fc.nat(5), fc.constant(Number.NaN)),
      timeMs: fc.nat(10_000),
    });
    fc.assert(
      fc.property(fc.array(point), fc.nat(100), (recorded, steps) => {
        const { remainingMs, share } = progressOf(recorded, { ...total, steps });
        expect(remainingMs ?? 0).toBeGreaterThanOrEqual(0);
        expect(share ?? 0).toBeGreaterThanOrEqual(0);
        expect(share ?? 0).toBeLessThanOrEqual(1);
      }),
      runs(200),
    );
  });
});

describe('of a run', () => {
  test('the total that was said last counts, and one of the program before one of fit', async () => {
    const storage = createMemoryStore();
    stores.push(storage);
    const session = await startRun({ project: 'progress', storage });
    const reader = await openRun(storage, session.runId);
    expect(await readProgress(reader)).toBeUndefined();
    await session.setTotal({ epochs: 3, stepsPerEpoch: 10 });
    await session.setTotal({ epochs: 5, stepsPerEpoch: 10 });
    await session.addLog('fit', {
      eventType: 'training_total',
      payload: { epochs: 1, steps_per_epoch: 10, steps: 10, by: 'fit' },
    });
    const metrics = new MetricsLogger(session);
    for (let step = 0; step < 20; step++) {
      const timestamp = 1_700_000_000_000 + 30 * step;
      metrics.log('train/loss', 1, { step, epoch: Math.floor(step / 10), timestamp });
      if (step % 5 === 0) metrics.log('val/loss', 1, { step, timestamp: timestamp + 7 });
    }
    await session.endRun();
    expect(await readProgress(reader)).toMatchObject({
      steps: 20,
      totalSteps: 50,
      totalEpochs: 5,
      epoch: 1,
      share: 0.4,
      stepMs: 30,
      remainingMs: 900,
    });
  });

  test.each<[object, string]>([
    [{}, 'total'],
    [{ epochs: 0 }, 'total.epochs'],
    [{ epochs: 1.5, stepsPerEpoch: 3 }, 'total.epochs'],
    [{ stepsPerEpoch: 3 }, 'total'],
    [{ epochs: 3, stepsPerEpoch: 3, steps: 9 }, 'total.steps'],
    [{ epoch: 3 }, 'total.epoch'],
  ])('%j is refused, and nothing is written', async (given, field) => {
    const storage = createMemoryStore();
    stores.push(storage);
    const session = await startRun({ project: 'progress', storage });
    await expect(session.setTotal(given)).rejects.toMatchObject({ details: { field } });
    const reader = await openRun(storage, session.runId);
    expect(await reader.readEvents({ eventType: 'training_total' })).toEqual([]);
    await session.endRun();
  });
});

test('as Track has it, where its steps are one number', () => {
  type Vector = {
    avg: number;
    total: number | number[];
    start: number;
    step: number | number[];
    minutes: number;
  };
  const vectors = JSON.parse(
    readFileSync(join(import.meta.dirname, '../../fixtures/track/eta_vectors.json'), 'utf8'),
  ) as Vector[];
  let compared = 0;
  for (const { avg, minutes, start, step, total: all } of vectors) {
    // Track multiplies nested steps where they are to be added; and a bare number lacks the step that is done.
    if (typeof all !== 'number' || !Array.isArray(step)) continue;
    compared++;
    const done = (step[0] ?? 0) + 1 - start;
    const { remainingMs } = progressOf(points(done, 1000 * avg), {
      epochs: null,
      stepsPerEpoch: null,
      steps: all,
    });
    expect((remainingMs ?? 0) / 60_000).toBeCloseTo(minutes, 12);
  }
  expect(compared).toBe(2);
});

test('what the program says of the length has priority over what fit was told, and other events say nothing', () => {
  const of = (epochs: unknown, by: string): { eventType: string; payload: JsonObject } => ({
    eventType: 'training_total',
    payload: { epochs: epochs as number, steps_per_epoch: null, steps: null, by },
  });
  const other = { eventType: 'user_log', payload: { epochs: 9 } };
  expect(trainingTotalOf([other])).toBeUndefined();
  expect(trainingTotalOf([of(3, 'fit'), of(4, 'fit'), other])?.epochs).toBe(4);
  expect(trainingTotalOf([of(3, 'program'), of(4, 'fit')])?.epochs).toBe(3);
  expect(trainingTotalOf([of('many', 'program')])).toEqual({
    epochs: null,
    stepsPerEpoch: null,
    steps: null,
  });
});
