/** A budget of memory: what is closed takes nothing, what is lost comes back, and a budget that is stuck says so. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it, vi } from 'vitest';
import { MemoryBudget } from '../../../src/service/limits/memory-budget.ts';

describe('a budget of memory', () => {
  it('gives a share that was closed nothing more', () => {
    const budget = new MemoryBudget(100, () => 0);
    const share = budget.open();
    expect(share.take(60)).toBe(true);
    share.close();
    expect([share.take(10), share.take(-10), budget.used, budget.openShares]).toEqual([
      false,
      true,
      0,
      0,
    ]);
  });

  it('takes back from nobody more than they hold', () => {
    const budget = new MemoryBudget(100, () => 0);
    const [a, b] = [budget.open(), budget.open()];
    a.take(30);
    b.take(20);
    b.take(-1_000);
    expect(budget.used).toBe(30);
  });

  it('says for how long it has been used up with nothing given back', () => {
    let nowMs = 1_000;
    const budget = new MemoryBudget(100, () => nowMs);
    const [a, b] = [budget.open(), budget.open()];
    a.take(90);
    expect(budget.stuckMs).toBe(0);
    expect(b.take(20)).toBe(false);
    nowMs += 40_000;
    expect(b.take(20)).toBe(false);
    expect(budget.stuckMs).toBe(40_000);
    // Something comes back: it is only busy.
    a.take(-1);
    expect(budget.stuckMs).toBe(0);
    expect(b.take(20)).toBe(false);
    a.close();
    nowMs += 40_000;
    expect(budget.stuckMs).toBe(0);
  });

  it('does not take one large request for a budget that is used up', () => {
    let nowMs = 0;
    const budget = new MemoryBudget(100, () => nowMs);
    const small = budget.open();
    small.take(10);
    expect(budget.open().take(95)).toBe(false);
    nowMs += 60_000;
    expect(budget.stuckMs).toBe(0);
  });

  it('leaves room for others, whatever one owner asks for', () => {
    const budget = new MemoryBudget(100, () => 0, 50);
    const [first, second, other] = [budget.open(), budget.open(), budget.open()];
    // What was taken before it was known whose it is counts as well.
    first.take(30);
    for (const share of [first, second]) share.giveTo('greedy');
    other.giveTo('modest');
    expect([second.take(30), second.isOwnerFull()]).toEqual([false, true]);
    expect(second.take(20)).toBe(true);
    expect([other.take(50), budget.used]).toEqual([true, 100]);
    expect([other.take(1), other.isOwnerFull()]).toEqual([false, false]);
    first.close();
    second.close();
    expect(budget.open().take(50)).toBe(true);
    expect([budget.used, budget.stuckMs]).toEqual([100, 0]);
  });

  it('gets back what a share holds that was lost without being closed', async () => {
    setFlagsFromString('--expose_gc');
    const collect = runInNewContext('gc') as () => void;
    const budget = new MemoryBudget(100, () => 0);
    (() => budget.open().take(70))();
    expect(budget.used).toBe(70);
    await vi.waitFor(
      () => {
        collect();
        expect(budget.used).toBe(0);
      },
      { timeout: 30_000, interval: 20 },
    );
  });
});
