import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import {
  createMemoryStore,
  MetricsLogger,
  openRun,
  startRun,
  type MetricAggregate,
  type Store,
  type TrainingSession,
} from 'quark-sdk';
import { RunningMoments } from '../../../src/base/running-moments.ts';
import { exactMoments } from '../../support/exact-moments.ts';
import { drawn } from '../../support/hard-series.ts';
import { runs } from '../../support/property.ts';

const stores: Store[] = [];
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close();
});

async function start(): Promise<TrainingSession> {
  const storage = createMemoryStore();
  stores.push(storage);
  return startRun({ project: 'aggregates', storage });
}

type Sample = { readonly step: number; readonly value: number; readonly timestamp?: number };

/** What a run has of `loss` and of its statistics after these samples. */
async function recorded(
  aggregate: MetricAggregate,
  samples: readonly Sample[],
): Promise<Record<string, [step: number, value: number][]>> {
  const session = await start();
  const metrics = new MetricsLogger(session, { aggregate: { loss: aggregate } });
  for (const { value, ...position } of samples) metrics.log('loss', value, position);
  await session.endRun();
  const found: Record<string, [number, number][]> = {};
  const { store, runId } = session;
  for (const { metricKey, step, value } of await (await openRun(store, runId)).readMetrics())
    (found[metricKey] ??= []).push([step ?? -1, value]);
  return found;
}

const counting = (count: number): Sample[] =>
  Array.from({ length: count }, (_, step) => ({ step, value: step + 1 }));

describe('windows', () => {
  test('a mean has the position of its last sample, and the rest of the run is one more', async () => {
    expect(await recorded({ kind: 'mean', every: 3 }, counting(8))).toEqual({
      loss: [
        [2, 2],
        [5, 5],
        [7, 7.5],
      ],
    });
  });

  test('a window of n steps has all samples of n steps', async () => {
    const samples = [0, 0, 1, 1, 2, 5, 5, 6].map((step, i) => ({ step, value: i }));
    expect(await recorded({ kind: 'mean', everySteps: 2 }, samples)).toEqual({
      loss: [
        [1, 1.5],
        [2, 4],
        [6, 6],
      ],
    });
  });

  test('a window of time ends with the last sample before its end', async () => {
    const samples = [0, 400, 900, 1000, 1999, 2500].map((ms, step) => ({
      step,
      value: step,
      timestamp: 1_700_000_000_000 + ms,
    }));
    expect(await recorded({ kind: 'mean', everyMs: 1000 }, samples)).toEqual({
      loss: [
        [2, 1],
        [4, 3.5],
        [5, 5],
      ],
    });
  });

  test('statistics are five metrics, of the whole run unless a window is given', async () => {
    expect(await recorded({ kind: 'statistics', skip: 1 }, counting(5))).toEqual({
      'loss/mean': [[4, 3.5]],
      'loss/std': [[4, Math.sqrt(1.25)]],
      'loss/min': [[4, 2]],
      'loss/max': [[4, 5]],
      'loss/count': [[4, 4]],
    });
  });

  test('a mean with NaN is NaN, and the event of the first NaN is recorded', async () => {
    const session = await start();
    const metrics = new MetricsLogger(session, { aggregate: { loss: { kind: 'mean', every: 2 } } });
    [1, Number.NaN, 3, 5].forEach((value, step) => metrics.log('loss', value, { step }));
    await session.endRun();
    const reader = await openRun(session.store, session.runId);
    expect((await reader.readMetrics()).map(({ value }) => value)).toEqual([Number.NaN, 4]);
    expect(await reader.readEvents({ eventType: 'non_finite_metric' })).toHaveLength(1);
  });
});

describe('values and rings', () => {
  test('the first value, each n-th after it, and the last', async () => {
    const found = await recorded({ kind: 'value', every: 3 }, counting(9));
    expect(found['loss']).toEqual([
      [0, 1],
      [3, 4],
      [6, 7],
      [8, 9],
    ]);
  });

  test('a value that was recorded last is not recorded again', async () => {
    const found = await recorded({ kind: 'value', everySteps: 2 }, counting(5));
    expect(found['loss']?.map(([step]) => step)).toEqual([0, 2, 4]);
  });

  test.each([3, 8, 20])('a ring of %i has the last samples at their steps', async (size) => {
    const found = await recorded({ kind: 'ring', size }, counting(8));
    expect(found['loss']).toEqual(
      counting(8)
        .slice(-size)
        .map(({ step, value }) => [step, value]),
    );
  });

  test('columns are aggregated as single samples are, and other metrics are as they were', async () => {
    const session = await start();
    const metrics = new MetricsLogger(session, {
      aggregate: { 'train/loss': { kind: 'mean', every: 2 } },
    });
    metrics.logColumns('train/loss', [0, 1, 2, 3], [1, 3, 5, 7]);
    metrics.log('loss', 9, { step: 0, namespace: 'train' });
    metrics.log('acc', 1, { step: 4, namespace: 'train' });
    await session.endRun();
    const reader = await openRun(session.store, session.runId);
    expect((await reader.readMetrics()).map((one) => [one.metricKey, one.value])).toEqual([
      ['train/loss', 2],
      ['train/loss', 6],
      ['train/acc', 1],
      ['train/loss', 9],
    ]);
  });
});

describe('bad input is refused before anything is written', () => {
  test.each<[unknown, string]>([
    [{ loss: { kind: 'median' } }, 'options.aggregate.loss.kind'],
    [{ loss: { kind: 'mean', every: 0 } }, 'options.aggregate.loss.every'],
    [{ loss: { kind: 'mean', size: 3 } }, 'options.aggregate.loss.size'],
    [{ loss: { kind: 'ring', every: 3 } }, 'options.aggregate.loss.kind'],
    [{ loss: { kind: 'ring', size: 1e9 } }, 'options.aggregate.loss.size'],
    [{ loss: { kind: 'mean', evry: 3 } }, 'options.aggregate.loss.evry'],
    [{ loss: undefined }, 'options.aggregate.loss'],
    [{ 'no key': { kind: 'mean' } }, 'options.aggregate'],
    [new Map(), 'options.aggregate'],
  ])('%j', async (aggregate, field) => {
    const session = await start();
    // What a program in JavaScript may hand in.
    const options = { aggregate } as ConstructorParameters<typeof MetricsLogger>[1];
    expect(() => new MetricsLogger(session, options)).toThrow(
      expect.objectContaining({ details: expect.objectContaining({ field }) }),
    );
    await session.close();
  });
});

test('moments are those of exact arithmetic, and so are those of streams that were merged', () => {
  fc.assert(
    fc.property(
      fc.constantFrom('uniform', 'normal around 0', 'mean 1e6, deviation 1e-3', 'ten integers'),
      fc.integer({ min: 1, max: 300 }),
      fc.nat(),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (name, length, seed, share) => {
        const values = [...drawn(name, length, seed)];
        const cut = Math.floor(share * length);
        const [all, left, right] = [
          new RunningMoments(),
          new RunningMoments(),
          new RunningMoments(),
        ];
        values.forEach((value, i) => {
          all.add(value);
          (i < cut ? left : right).add(value);
        });
        left.merge(right);
        const { mean, std } = exactMoments(values);
        const size = Math.max(...values.map(Math.abs));
        for (const moments of [all, left]) {
          expect(Math.abs(moments.mean - mean)).toBeLessThanOrEqual(length * 2 ** -52 * size);
          expect(Math.abs(moments.std - std)).toBeLessThanOrEqual(length * 2 ** -50 * size);
          expect([moments.count, moments.min, moments.max]).toEqual([
            length,
            Math.min(...values),
            Math.max(...values),
          ]);
        }
      },
    ),
    runs(200),
  );
});

describe('as Track has it', () => {
  const vectors = (name: string): unknown =>
    JSON.parse(
      readFileSync(join(import.meta.dirname, `../../fixtures/track/${name}_vectors.json`), 'utf8'),
    );
  type Stream = { drop: number; observations: number[]; state: Record<string, number> };

  test.each(vectors('statstream') as Stream[])(
    'drop $drop of $observations',
    async ({ drop, observations, state }) => {
      const samples = observations.map((value, step) => ({ step, value }));
      // Track leaves out one less than `drop` says, and counts the one before the first in the extremes.
      const found = await recorded({ kind: 'statistics', skip: drop }, samples);
      const last = (name: string): number | undefined => found[`loss/${name}`]?.at(-1)?.[1];
      const taken = observations.slice(drop);
      if (taken.length === 0) {
        // Track gives the one value it has, or 0 where it has none; here there are no statistics.
        expect(found).toEqual({});
        return;
      }
      const near = (value: number | undefined, expected: number | undefined): void =>
        expect(Math.abs((value ?? 0) - (expected ?? 1))).toBeLessThanOrEqual(
          4 * Number.EPSILON * Math.abs(expected ?? 0),
        );
      expect(last('count')).toBe(state['count']);
      near(last('mean'), state['avg']);
      near((last('std') ?? 0) ** 2, state['var']);
      expect([last('min'), last('max')]).toEqual([Math.min(...taken), Math.max(...taken)]);
      if (drop === 0) expect([last('min'), last('max')]).toEqual([state['min'], state['max']]);
    },
  );

  test.each(Object.entries(vectors('throttle') as Record<string, boolean[]>))(
    '%s',
    async (name, calls) => {
      const every = Number(name.replace('throttle=', ''));
      const samples = calls.map((_, step) => ({ step, value: 0 }));
      const found = await recorded({ kind: 'value', every }, samples);
      // The last sample is recorded at the end, where Track loses it. And of 1 Track makes 2.
      const expected = calls.flatMap((isCalled, step) =>
        isCalled || every === 1 || step === calls.length - 1 ? [step] : [],
      );
      expect(found['loss']?.map(([step]) => step)).toEqual(expected);
    },
  );
});
