/** What a sentence says of a span is so at every point of it. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { rangeWithin, say, sayOption } from '../../../../src/analysis/text/sentences.ts';
import { runs } from '../../../support/property.ts';

test('a range as it is said contains every value, and hardly more', () => {
  const values = fc.array(fc.double({ min: -1e12, max: 1e12, noNaN: true }), {
    minLength: 1,
    maxLength: 20,
  });
  fc.assert(
    fc.property(values, fc.constantFrom(1, 1e-4, 1e-9), (list, unit) => {
      const scaled = Float64Array.from(list, (value) => value * unit);
      const { high, low } = rangeWithin(scaled, [0, scaled.length - 1]);
      const [least, most] = [Number(say(low)), Number(say(high))];
      for (const value of scaled) {
        expect(value).toBeGreaterThanOrEqual(least);
        expect(value).toBeLessThanOrEqual(most);
      }
      const room = (value: number): number => 0.2 * Math.abs(value) + Number.MIN_VALUE;
      expect(Math.min(...scaled) - least).toBeLessThanOrEqual(room(Math.min(...scaled)));
      expect(most - Math.max(...scaled)).toBeLessThanOrEqual(room(Math.max(...scaled)));
    }),
    runs(1000),
  );
  expect(rangeWithin(Float64Array.of(Number.NaN, 0.0349999, 0.0377), [0, 2])).toEqual({
    low: 0.0349,
    high: 0.0377,
  });
});

test('an option is quoted where a shell needs that', () => {
  expect(sayOption('--loss', 'train/loss_1')).toBe('--loss train/loss_1');
  expect(sayOption('--loss', 'my loss')).toBe("--loss 'my loss'");
  expect(sayOption('--loss', "it's")).toBe(String.raw`--loss 'it'\''s'`);
});
