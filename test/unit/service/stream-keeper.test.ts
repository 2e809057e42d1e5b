/** The access checks of open answers: one chain of them, whatever opens and closes meanwhile. */
import { expect, test } from 'vitest';
import type { Principal } from '../../../src/service/access/principal.ts';
import { CHECK_INTERVAL_MS, StreamKeeper } from '../../../src/service/live/stream-keeper.ts';
import { TestClock } from '../../support/clock.ts';

const PRINCIPAL: Principal = { userId: 'u_1', userName: 'alice', keyId: 'k_1', scope: 'read' };

/** A body that never ends by itself. */
const endless = (): Response => new Response(new ReadableStream({}));

/** All that waits for promises only has gone on. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('an answer that opens while access is checked starts no second chain of checks', async () => {
  const clock = new TestClock();
  const keeper = new StreamKeeper(clock);
  const answers: (() => void)[] = [];
  let checks = 0;
  const holder = {
    principal: PRINCIPAL,
    grant: 'g',
    mayGoOn: () => {
      checks += 1;
      return new Promise<boolean>((resolve) => answers.push(() => resolve(true)));
    },
  };
  let open = keeper.keepLong(endless(), holder);
  for (let round = 0; round < 4; round++) {
    clock.advance(CHECK_INTERVAL_MS);
    expect(checks).toBe(round + 1);
    // The only answer ends, and another opens, before the check has been answered.
    await open.body?.cancel();
    open = keeper.keepLong(endless(), holder);
    answers.shift()?.();
    await settle();
  }
});
