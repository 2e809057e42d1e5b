/** Phases, alerts and health of made trainings: none of the three says what another denies, and what is said is so. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { COURSES, madeRun } from '../support/made-curves.ts';
import { runs } from '../support/property.ts';
import { contradictions, mistakes, told, untruths } from '../support/stories.ts';

const TRIES = runs(600);
/** A long form has its share of the time more. */
const TIMEOUT_MS = Math.max(60_000, 300 * TRIES.numRuns);

test(
  'phases, alerts and health never contradict each other, and say what is so',
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...COURSES),
        fc.integer({ min: 1, max: 2 ** 31 - 1 }),
        async (course, seed) => {
          const story = await told(madeRun(course, seed));
          expect([contradictions(story), untruths(story), mistakes(story)]).toEqual([[], [], []]);
        },
      ),
      TRIES,
    );
  },
  TIMEOUT_MS,
);
