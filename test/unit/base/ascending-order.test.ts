import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ascendingOrder } from '../../../src/base/ascending-order.ts';
import { runs } from '../../support/property.ts';

/** Numbers of rows with gaps and without, twice in some cases, and some that are not whole. */
const numbers = fc.oneof(
  fc.uniqueArray(fc.integer({ min: 1000, max: 1200 }), { maxLength: 150 }),
  fc.array(fc.integer({ min: 0, max: 60 }), { maxLength: 150 }),
  fc.uniqueArray(
    fc.integer({ min: -50, max: 400 }).map((at) => at / 2),
    { maxLength: 150 },
  ),
  fc.array(fc.double({ noNaN: true }), { maxLength: 40 }),
);

test('rows are in ascending order, equal ones as they were, all or some of them', () => {
  fc.assert(
    fc.property(numbers, fc.integer({ min: 1, max: 3 }), (list, every) => {
      const values = Float64Array.from(list);
      const rows = Int32Array.from(list.keys()).filter((row) => row % every === 0);
      const expected = [...rows].toSorted((a, b) => (list[a] ?? 0) - (list[b] ?? 0) || a - b);
      expect([...ascendingOrder(values, rows)]).toEqual(expected);
      if (every === 1) expect([...ascendingOrder(values)]).toEqual(expected);
    }),
    runs(200),
  );
});

test('rows of metrics that took turns, one metric after the other', () => {
  const metrics = 7;
  const count = 700;
  const values = Float64Array.from(
    { length: count },
    (_, i) => (i % (count / metrics)) * metrics + Math.floor(i / (count / metrics)),
  );
  const order = ascendingOrder(values);
  expect(Array.from(order, (row) => values[row])).toEqual(Array.from(values.keys()));
});
