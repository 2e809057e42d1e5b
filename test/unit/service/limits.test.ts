import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  checkLimits,
  DEFAULT_SERVICE_LIMITS,
  OpenCounter,
} from '../../../src/service/limits/limits.ts';
import { FairShares } from '../../../src/service/limits/fair-shares.ts';
import { MemoryBudget } from '../../../src/service/limits/memory-budget.ts';
import { runs } from '../../support/property.ts';

describe('a rate', () => {
  it('is never passed, however requests come, and whoever waits as long as told gets one', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 50 }),
        fc.integer({ min: 1, max: 20 }),
        fc.array(fc.integer({ min: -50, max: 300 }), { maxLength: 200 }),
        (perSecond, burst, pauses) => {
          let nowMs = 1_000_000;
          let latestMs = nowMs;
          const limiter = new FairShares({ now: () => nowMs }, perSecond, burst);
          let taken = 0;
          for (const pauseMs of pauses) {
            nowMs += pauseMs;
            latestMs = Math.max(latestMs, nowMs);
            const waitMs = limiter.take('a');
            if (waitMs === 0) taken += 1;
            else {
              nowMs += waitMs;
              latestMs = Math.max(latestMs, nowMs);
              expect(limiter.take('a')).toBe(0);
              taken += 1;
            }
            // A clock that is set back and forth may give the time twice.
            const back = pauses.reduce((sum, ms) => sum + Math.max(0, -ms), 0);
            const elapsed = latestMs - 1_000_000 + back;
            expect(taken).toBeLessThanOrEqual(burst + (elapsed * perSecond) / 1_000 + 1e-6);
          }
        },
      ),
      runs(300),
    );
  });

  it('is each name by itself, and names that rest are forgotten', () => {
    let nowMs = 0;
    const limiter = new FairShares({ now: () => nowMs }, 1, 1);
    for (let i = 0; i < 5_000; i++) expect(limiter.take(`name ${i}`)).toBe(0);
    expect(limiter.take('name 0')).toBe(1_000);
    nowMs += 2_000;
    for (let i = 0; i < 5_000; i++) expect(limiter.take(`other ${i}`)).toBe(0);
    expect(limiter.take('name 0')).toBe(0);
  });
});

describe('a budget of memory', () => {
  it('is never passed, and is whole again when all shares are closed', () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ share: fc.nat({ max: 4 }), bytes: fc.nat({ max: 60 }) })),
        (steps) => {
          const budget = new MemoryBudget(100, () => 0);
          const shares = Array.from({ length: 5 }, () => budget.open());
          for (const { share, bytes } of steps) {
            const before = budget.used;
            const isTaken = shares[share]?.take(bytes) ?? false;
            expect(isTaken).toBe(before + bytes <= 100);
            expect(budget.used).toBe(isTaken ? before + bytes : before);
          }
          for (const share of [...shares, ...shares]) share.close();
          expect(budget.used).toBe(0);
        },
      ),
      runs(100),
    );
  });
});

describe('what is open', () => {
  it('is counted for each name, and closing twice counts once', () => {
    const counter = new OpenCounter();
    const closes = [counter.open('a'), counter.open('a'), counter.open('b')];
    expect([counter.of('a'), counter.of('b'), counter.total]).toEqual([2, 1, 3]);
    closes[0]?.();
    closes[0]?.();
    expect([counter.of('a'), counter.total]).toEqual([1, 2]);
  });
});

describe('limits', () => {
  it('have defaults, and are refused by name', () => {
    expect(checkLimits()).toEqual(DEFAULT_SERVICE_LIMITS);
    expect(checkLimits({ requestBurst: 3 }).requestBurst).toBe(3);
    expect(() => checkLimits({ requestBurst: 0 })).toThrow(/limits\.requestBurst/);
    expect(() => checkLimits({ maxBytesInFlight: 1 })).toThrow(/maxUploadBytes/);
    const misspelt = { requestsPerHour: 1 } as Parameters<typeof checkLimits>[0];
    expect(() => checkLimits(misspelt)).toThrow(/requestsPerHour/);
  });
});
