/** Random sequences of operations of clients and sweeps, step by step. */
import fc from 'fast-check';
import { runs } from '../support/property.ts';
import { KEEP_MS, SweepWorld, type SweepCommand, type SweepLocation } from './blob-sweep-world.ts';

const pick = fc.nat({ max: 11 });
const blobs = fc.array(pick, { minLength: 1, maxLength: 2 });

const command: fc.Arbitrary<SweepCommand> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('record'), run: pick, blobs }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('record live'), blobs }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('put'), blob: pick }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('sweep') }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('empty'), run: pick }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constantFrom('delete', 'delete', 'restore', 'restore', 'purge'),
      run: pick,
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('step'),
      pick,
      count: fc.oneof(fc.nat({ max: 3 }), fc.nat({ max: 20 })),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('end'), pick }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('wait'),
      ms: fc.constantFrom(KEEP_MS / 2, KEEP_MS, 2 * KEEP_MS),
    }),
  },
) as fc.Arbitrary<SweepCommand>;

/** Tries `count` sequences; returns how many were tried. */
export async function trySweeps(
  makeLocation: (clock: { nowMs: number; now(): number }) => Promise<SweepLocation>,
  count: number,
): Promise<number> {
  let tried = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(command, { maxLength: 40, size: 'max' }), async (commands) => {
      const clock = { nowMs: 1_700_000_000_000, now: (): number => clock.nowMs };
      const world = await SweepWorld.make(await makeLocation(clock), clock);
      try {
        for (const one of commands) await world.execute(one);
        await world.finish();
        tried++;
      } finally {
        await world.close();
      }
    }),
    runs(count),
  );
  return tried;
}

/**
 * A sweep rests before each of its calls in turn while another sweep is completed and the same bytes are recorded again; then it goes
 * on, with deletions that it had decided on before.
 */
export async function tryLateSweeps(
  makeLocation: (clock: { nowMs: number; now(): number }) => Promise<SweepLocation>,
): Promise<number> {
  let tried = 0;
  const all = 1000;
  for (const blob of [0, 2])
    for (let count = 0; count < 14; count++)
      for (const hasSecond of [false, true]) {
        const clock = { nowMs: 1_700_000_000_000, now: (): number => clock.nowMs };
        const world = await SweepWorld.make(await makeLocation(clock), clock);
        try {
          await world.execute({ kind: 'end live' });
          await world.execute({ kind: 'put', blob });
          await world.execute({ kind: 'step', pick: 0, count: all });
          await world.execute({ kind: 'wait', ms: KEEP_MS });
          await world.execute({ kind: 'sweep' });
          await world.execute({ kind: 'step', pick: 0, count });
          if (hasSecond) {
            await world.execute({ kind: 'sweep' });
            await world.execute({ kind: 'step', pick: 1, count: 30 });
          }
          await world.execute({ kind: 'record', run: 0, blobs: [blob] });
          await world.execute({ kind: 'wait', ms: 0 });
          await world.finish();
          tried++;
        } finally {
          await world.close();
        }
      }
  return tried;
}
