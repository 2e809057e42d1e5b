/** What users take: who is ahead of others waits for the thread of the service before being refused. */
import { expect, it } from 'vitest';
import type { Principal } from '../../../src/service/access/principal.ts';
import { DEFAULT_SERVICE_LIMITS } from '../../../src/service/limits.ts';
import { Usage } from '../../../src/service/usage.ts';
import { TestClock } from '../../support/clock.ts';

const of = (name: string): Principal => ({
  userId: name,
  userName: name,
  keyId: `qk_${name}`,
  scope: 'write',
});

it('lets a user who is ahead wait while others work, and refuses only what waits too long or is too much', async () => {
  const clock = new TestClock();
  let workedMs = 0;
  const usage = new Usage({ limits: DEFAULT_SERVICE_LIMITS, clock, loopMs: () => workedMs });
  const work = (name: string, ms: number): void => {
    const leave = usage.enter(of(name));
    workedMs += ms;
    leave();
  };
  work('modest', 50);
  work('busy', 1_500);
  const states: string[] = [];
  const asked = Array.from({ length: 9 }, (_, i) =>
    usage.admit(of('busy')).then(
      () => states.push(`in ${i}`),
      () => states.push(`refused ${i}`),
    ),
  );
  // Who has taken little goes before them.
  await usage.admit(of('modest'));
  await asked[8];
  expect(states).toEqual(['refused 8']);
  clock.advance(6_000);
  await Promise.all(asked);
  expect(states.toSorted()).toEqual([
    ...Array.from({ length: 8 }, (_, i) => `in ${i}`),
    'refused 8',
  ]);
});
