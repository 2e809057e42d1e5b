/** The budget of a training thread, on a clock that the test turns. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { measured, sampled, spentMs, threadTime } from '../../../src/base/thread/thread-time.ts';
import { OverheadBudget } from '../../../src/instruments/probes/overhead-budget.ts';
import { ThreadBudget } from '../../../src/instruments/probes/thread-budget.ts';
import { overheadOf } from '../../../src/profile/overhead.ts';
import { OVERHEAD_EVENT, overheadPayload } from '../../../src/records/overhead.ts';
import { runs } from '../../support/property.ts';

type Account = typeof threadTime;
type Costs = {
  /** Milliseconds: a step of the training, what Quark does in each, a telemetry record, a probe. */
  readonly step: number;
  readonly basic: number;
  readonly telemetry: number;
  readonly probe: number;
};

/** A thread on which every step takes what it is said to take. */
function simulated(budget: number) {
  const time: Account = { spentMs: {}, totalMs: 0, readers: 0 };
  let now = 0;
  const spend = (part: keyof Account['spentMs'], ms: number): void => {
    time.spentMs[part] = (time.spentMs[part] ?? 0) + ms;
    time.totalMs += ms;
    now += ms;
  };
  const governor = new ThreadBudget(budget, () => now, time);
  const probes = new OverheadBudget(() => governor.probeShare, 10);
  let done = 0;
  const counts = { telemetry: 0, probes: 0 };
  return {
    governor,
    time,
    counts,
    spend,
    wait: (ms: number) => (now += ms),
    steps(count: number, costs: Costs, noise: () => number = () => 1): void {
      for (let i = 0; i < count; i++, done++) {
        const began = now;
        now += costs.step * noise();
        spend('callback', costs.basic * noise());
        if (done % (10 * governor.telemetrySlowdown) === 0) {
          counts.telemetry++;
          spend('telemetry', costs.telemetry * noise());
        }
        if (done % (10 * probes.slowdown) === 0) {
          counts.probes++;
          const ms = costs.probe * noise();
          spend('probes', ms);
          probes.probedStep(now - began, ms);
        } else probes.plainStep(now - began);
        governor.step();
      }
    },
  };
}

describe('the budget of a thread', () => {
  it('leaves probes what the rest does not need, and keeps telemetry as it is', () => {
    const thread = simulated(0.03);
    thread.governor.begin();
    thread.steps(20_000, { step: 1, basic: 0.01, telemetry: 0.05, probe: 0.5 });
    thread.governor.end();
    const { share, spentMs: spent, telemetrySlowdown } = thread.governor.report;
    // 1 % is basic, 0.5 % telemetry: 1.5 % are left, of which a probe of half a step takes one step in 34.
    expect(telemetrySlowdown).toBe(1);
    expect(thread.governor.probeShare).toBeCloseTo(0.015, 3);
    expect(share).toBeGreaterThan(0.02);
    expect(share).toBeLessThanOrEqual(0.031);
    expect(spent.callback).toBeCloseTo(200, 6);
    expect(thread.counts.telemetry).toBe(2000);
  });

  it('never says that a part took less than nothing', () => {
    const thread = simulated(0.03);
    thread.governor.begin();
    thread.wait(100);
    thread.spend('log', 17); // one call of a millisecond that stands for 17
    thread.spend('callback', -14); // three milliseconds, less what the calls in it stand for
    const { spentMs: spent, share } = thread.governor.report;
    expect(spent).toMatchObject({ log: 17, callback: 0 });
    expect(share).toBeCloseTo(0.03, 6);
  });

  it('thins telemetry once probes have a third of it only, and goes back when there is room', () => {
    const thread = simulated(0.03);
    thread.governor.begin();
    thread.steps(20_000, { step: 1, basic: 0.01, telemetry: 1, probe: 0.5 });
    expect(thread.governor.telemetrySlowdown).toBeGreaterThanOrEqual(5);
    expect(thread.governor.probeShare).toBeLessThan(0.012);
    thread.steps(40_000, { step: 1, basic: 0.01, telemetry: 0.01, probe: 0.5 });
    expect(thread.governor.telemetrySlowdown).toBe(1);
    expect(thread.governor.probeShare).toBeGreaterThan(0.015);
    thread.governor.end();
  });

  it('counts the time of fits only, and adds them up', () => {
    const thread = simulated(0.03);
    for (let fit = 0; fit < 3; fit++) {
      thread.governor.begin();
      expect(thread.time.readers).toBe(1);
      expect(thread.time.flushShare).toBeCloseTo(0.001, 9);
      thread.wait(100);
      thread.spend('flush', 2);
      thread.governor.end();
      thread.governor.end();
      thread.spend('flush', 50);
      expect(thread.time.readers).toBe(0);
      expect(thread.time.flushShare).toBe(undefined);
    }
    const { report } = thread.governor;
    expect(report.trainingMs).toBeCloseTo(300, 9);
    expect(report.spentMs.flush).toBeCloseTo(6, 9);
    expect(report.share).toBeCloseTo(0.02, 9);
  });

  it('lets a flush that nobody waits for happen as often as its share of the budget allows', () => {
    const thread = simulated(0.03);
    expect(thread.governor.isFlushDue()).toBe(true);
    thread.governor.flushed(3);
    thread.wait(499);
    expect(thread.governor.isFlushDue()).toBe(false);
    thread.wait(2);
    expect(thread.governor.isFlushDue()).toBe(true);
  });

  it('is kept whatever things cost, as long as logging alone does not need it', () => {
    fc.assert(
      fc.property(
        fc.record({
          step: fc.double({ min: 0.3, max: 50, noNaN: true }),
          basic: fc.double({ min: 0, max: 0.5, noNaN: true }),
          telemetry: fc.double({ min: 0, max: 2, noNaN: true }),
          probe: fc.double({ min: 0.01, max: 5, noNaN: true }),
          seed: fc.integer({ min: 1, max: 2 ** 30 }),
        }),
        ({ step, seed, ...parts }) => {
          // Costs in units of the step: the budget is a share of it.
          const costs = {
            step,
            basic: 0.03 * parts.basic * step,
            telemetry: parts.telemetry * step,
            probe: parts.probe * step,
          };
          let state = seed;
          const noise = (): number => {
            state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
            return 0.7 + (0.6 * state) / 2 ** 32;
          };
          const thread = simulated(0.03);
          thread.governor.begin();
          thread.steps(20_000, costs, noise);
          const before = thread.governor.report;
          thread.steps(30_000, costs, noise);
          const after = thread.governor.report;
          thread.governor.end();
          const spent = sum(after.spentMs) - sum(before.spentMs);
          expect(spent / (after.trainingMs - before.trainingMs)).toBeLessThan(0.03 * 1.35);
          // Thinned, not given up.
          expect(thread.counts.telemetry).toBeGreaterThan(1);
          expect(thread.counts.probes).toBeGreaterThan(1);
        },
      ),
      runs(50),
    );
  });
});

const sum = (spent: Readonly<Record<string, number>>): number =>
  Object.values(spent).reduce((all, ms) => all + ms, 0);

describe('the account of a thread', () => {
  it('counts work for one part at a time, and a sample for the calls around it', () => {
    const before = { flush: spentMs('flush'), log: spentMs('log'), total: threadTime.totalMs };
    const wait = (ms: number): void => {
      for (const until = performance.now() + ms; performance.now() < until;);
    };
    measured('flush', () => {
      wait(2);
      measured('log', () => wait(3));
    });
    const flush = spentMs('flush') - before.flush;
    const log = spentMs('log') - before.log;
    expect(log).toBeGreaterThanOrEqual(3);
    expect(flush).toBeGreaterThanOrEqual(2);
    expect(threadTime.totalMs - before.total).toBeCloseTo(flush + log, 6);
    let calls = 0;
    for (let i = 0; i < 34; i++)
      sampled('log', () => {
        calls++;
        wait(0.05);
      });
    expect(calls).toBe(34);
    expect(spentMs('log') - before.log - log).toBeGreaterThanOrEqual(34 * 0.05);
  });

  it('is counted when work throws', () => {
    const before = spentMs('batches');
    expect(() =>
      measured('batches', () => {
        throw new Error('no');
      }),
    ).toThrow('no');
    expect(spentMs('batches')).toBeGreaterThanOrEqual(before);
  });
});

describe('overheadOf', () => {
  it('reads the last measurement, and nothing from other events', () => {
    const report = {
      budget: 0.03,
      share: 0.0213,
      trainingMs: 10_000,
      telemetrySlowdown: 2,
      spentMs: { callback: 50, log: 20, flush: 30, batches: 3, telemetry: 10, probes: 100 },
    };
    const event = (payload: ReturnType<typeof overheadPayload>) => ({
      eventType: OVERHEAD_EVENT,
      payload,
    });
    const first = event(overheadPayload({ ...report, share: 0.5 }));
    const last = event(overheadPayload(report));
    expect(overheadOf([first, last, { eventType: 'epoch_ended', payload: {} }])).toStrictEqual(
      report,
    );
    expect(overheadOf([{ eventType: 'epoch_ended', payload: {} }])).toBe(undefined);
    expect(overheadOf([{ eventType: OVERHEAD_EVENT, payload: { spent_ms: 'x' } }])).toMatchObject({
      share: 0,
      spentMs: { probes: 0 },
    });
  });
});
