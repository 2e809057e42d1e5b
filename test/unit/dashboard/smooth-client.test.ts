/** Long curves are smoothed in a worker: the same values, nothing twice, and on the page where there is no worker. */
import { describe, expect, it } from 'vitest';
import { cachedOnAxis } from '../../../dashboard/charts/chart-data.ts';
import {
  CurveSmoother,
  smoothedNow,
  type SmoothQuery,
} from '../../../dashboard/charts/smoothing/smooth-client.ts';
import {
  hostSmoothing,
  type SmoothRequest,
} from '../../../dashboard/charts/smoothing/smooth-host.ts';
import { SampleSeries } from '../../../dashboard/series/series.ts';
import type { Line } from '../../../dashboard/parts/line.ts';

const NO_EPOCHS = { firstStep: new Map<number, number>(), stepsPerEpoch: 1 };
const LENGTH = 20_000;

function wavy(length: number, key = 'loss'): SampleSeries {
  const series = new SampleSeries(key);
  grow(series, 0, length);
  return series;
}

function grow(series: SampleSeries, from: number, to: number): void {
  for (let at = from; at < to; at += 1)
    series.push(Math.sin(at / 50) + ((at * 7919) % 13) / 13, at, Number.NaN, 1e12 + at);
}

const query = (series: SampleSeries, amount = 0.8): SmoothQuery => ({
  series,
  axis: 'step',
  points: cachedOnAxis(series, 'step', 0, NO_EPOCHS),
  smoothing: { kind: 'exponential', amount },
  extent: series.length,
});

/** A page and its worker, with what the page sent. Messages are copied and arrive later, as between threads. */
function pageAndWorker(): {
  readonly sent: SmoothRequest[];
  readonly start: () => Line;
  isSilent: boolean;
} {
  const sent: SmoothRequest[] = [];
  const end = (): { heard: ((event: MessageEvent) => void)[] } => ({ heard: [] });
  const page = end();
  const worker = end();
  const state = { sent, start: () => pageLine, isSilent: false };
  const line = (
    from: typeof page,
    to: typeof page,
    onSent: (event: MessageEvent) => void = () => undefined,
  ): Line => ({
    postMessage: (message, options) => {
      const event = new MessageEvent('message', { data: structuredClone(message, options) });
      onSent(event);
      if (from === page && state.isSilent) return;
      setTimeout(() => {
        for (const hear of to.heard) hear(event);
      }, 0);
    },
    addEventListener: (_type, listener) => from.heard.push(listener),
  });
  const pageLine = line(page, worker, ({ data }) => sent.push(data));
  hostSmoothing(line(worker, page));
  return state;
}

const ready = (): {
  readonly asker: { owner: object; onReady: () => void };
  readonly next: () => Promise<void>;
} => {
  let wake: () => void = () => undefined;
  return {
    asker: { owner: {}, onReady: () => wake() },
    next: () =>
      new Promise((resolve) => {
        wake = resolve;
      }),
  };
};

describe('the smoothing of a page', () => {
  it('is at once for short curves, without a worker', () => {
    const smoother = new CurveSmoother(() => {
      throw new Error('no worker was needed');
    });
    const asked = query(wavy(100));
    const { asker } = ready();
    expect(smoother.smoothed(asked, asker)?.values).toEqual(smoothedNow(asked).values);
    expect(smoother.isBusy(asker.owner)).toBe(false);
  });

  it('comes from the worker for long ones, with the same values and the same shape', async () => {
    const { sent, start } = pageAndWorker();
    const smoother = new CurveSmoother(start);
    const asked = query(wavy(LENGTH));
    const { asker, next } = ready();
    expect(smoother.smoothed(asked, asker)).toBeUndefined();
    expect(smoother.isBusy(asker.owner)).toBe(true);
    await next();
    expect(smoother.isBusy(asker.owner)).toBe(false);
    const found = smoother.smoothed(asked, asker);
    const expected = smoothedNow(asked);
    expect(found?.values).toEqual(expected.values);
    const parts = { from: 100, to: 19_000, buckets: 300 };
    expect(found?.shape.query(parts)).toEqual(expected.shape.query(parts));
    expect(sent.map(({ kind }) => kind)).toEqual(['points', 'smooth']);
  });

  it('shows what there was while a curve grows, sends only what is new, and answers the last question', async () => {
    const { sent, start } = pageAndWorker();
    const smoother = new CurveSmoother(start);
    const series = wavy(LENGTH);
    const { asker, next } = ready();
    smoother.smoothed(query(series), asker);
    await next();
    const first = smoother.smoothed(query(series), asker);
    expect(first?.values.length).toBe(LENGTH);
    grow(series, LENGTH, LENGTH + 500);
    const done = next();
    for (const amount of [0.81, 0.9, 0.95])
      expect(smoother.smoothed(query(series, amount), asker)?.values.length).toBe(LENGTH);
    await done;
    while (smoother.isBusy(asker.owner)) await next();
    const last = query(series, 0.95);
    expect(smoother.smoothed(last, asker)?.values).toEqual(smoothedNow(last).values);
    const points = sent.flatMap((one) =>
      one.kind === 'points' ? [[one.from, one.xs.length]] : [],
    );
    expect(points.slice(0, 2)).toEqual([
      [0, LENGTH],
      [LENGTH, 500],
    ]);
    // The questions between the first of the three and the last are never asked.
    const amounts = sent.flatMap((one) => (one.kind === 'smooth' ? [one.smoothing.amount] : []));
    expect(amounts).toEqual([0.8, 0.81, 0.95]);
  });

  it('is on the page where the worker cannot be started, or fails', async () => {
    const without = new CurveSmoother(() => {
      throw new Error('workers are not allowed here');
    });
    const asked = query(wavy(LENGTH));
    const one = ready();
    without.smoothed(asked, one.asker);
    await one.next();
    expect(without.smoothed(asked, one.asker)?.values).toEqual(smoothedNow(asked).values);

    const pair = pageAndWorker();
    pair.isSilent = true;
    const smoother = new CurveSmoother(pair.start);
    const other = ready();
    smoother.smoothed(asked, other.asker);
    const done = other.next();
    smoother.fail();
    await done;
    expect(smoother.smoothed(asked, other.asker)?.values).toEqual(smoothedNow(asked).values);
    expect(smoother.isBusy(other.asker.owner)).toBe(false);
  });

  it('lets the worker forget the curves that were asked for longest ago', async () => {
    const { sent, start } = pageAndWorker();
    const smoother = new CurveSmoother(start, 2.5 * LENGTH);
    const { asker, next } = ready();
    const many = Array.from({ length: 3 }, (_, at) => query(wavy(LENGTH, `loss/${at}`)));
    for (const asked of many) {
      smoother.smoothed(asked, asker);
      await next();
    }
    expect(sent.filter(({ kind }) => kind === 'forget').map(({ kind }) => kind)).toEqual([
      'forget',
    ]);
    const again = query(many[0]?.series ?? wavy(1), 0.5);
    smoother.smoothed(again, asker);
    await next();
    expect(smoother.smoothed(again, asker)?.values).toEqual(smoothedNow(again).values);
  });

  it('has no curve without an amount', () => {
    const { asker } = ready();
    const smoother = new CurveSmoother(pageAndWorker().start);
    expect(smoother.smoothed(query(wavy(LENGTH), 0), asker)).toBeUndefined();
    expect(smoother.isBusy(asker.owner)).toBe(false);
  });
});
