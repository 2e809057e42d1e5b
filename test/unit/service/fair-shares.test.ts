import { describe, expect, test } from 'vitest';
import { FairQueue } from '../../../src/service/limits/fair-queue.ts';
import { FairShares } from '../../../src/service/limits/fair-shares.ts';

describe('a rate that keys of a user share', () => {
  const clock = { nowMs: 0, now: () => clock.nowMs };
  const sharesOf = (): FairShares => new FairShares(clock, 10, 100);
  const takeAll = (shares: FairShares, key: string): number => {
    let count = 0;
    while (shares.take('user', key) === 0) count += 1;
    return count;
  };

  test('is all of a key that is alone', () => {
    const shares = sharesOf();
    expect(takeAll(shares, 'a')).toBe(100);
    clock.nowMs += 1_000;
    expect(takeAll(shares, 'a')).toBe(10);
    expect(shares.take('user', 'a')).toBe(100);
    // Of another user nothing is taken.
    expect(shares.take('other', 'a')).toBe(0);
  });

  test('leaves half of it to a key that takes less', () => {
    const shares = sharesOf();
    expect(shares.take('user', 'small')).toBe(0);
    expect(takeAll(shares, 'greedy')).toBe(49);
    for (let second = 0; second < 60; second++) {
      clock.nowMs += 1_000;
      takeAll(shares, 'greedy');
      expect(shares.take('user', 'small')).toBe(0);
    }
  });

  test('is shared by any number of keys', () => {
    const shares = sharesOf();
    let count = 0;
    for (let key = 0; key < 30; key++) count += takeAll(shares, `key_${key}`);
    expect(count).toBe(100);
  });

  test('waits for what was used beforehand, and not for ever', () => {
    const shares = sharesOf();
    shares.charge('user', 'a', 1e9);
    expect(shares.wait('user', 'a')).toBe(20_100);
    clock.nowMs += 20_100;
    expect(shares.take('user', 'a')).toBe(0);
  });

  test('gives more than a burst out of a full bucket', () => {
    const shares = sharesOf();
    expect(shares.take('user', 'a', 150)).toBe(0);
    expect(shares.wait('user', 'a')).toBe(5_100);
  });
});

test('a queue serves one of each owner in turn', () => {
  const queue = new FairQueue<string>();
  for (let i = 0; i < 4; i++) queue.add('greedy', `g${i}`);
  queue.add('small', 's0');
  queue.add('third', 't0');
  queue.drop((item) => item === 'g1');
  const taken: (string | undefined)[] = [];
  while (queue.size > 0) taken.push(queue.take());
  expect(taken).toEqual(['g0', 's0', 't0', 'g2', 'g3']);
  expect(queue.take()).toBeUndefined();
});
