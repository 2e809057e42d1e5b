import { expect, test } from 'vitest';
import fc from 'fast-check';
import {
  analyzeColumns,
  createMetricSeries,
  createRunColumns,
  type DeclaredRule,
  type MetricSeries,
} from 'quark-sdk/analysis';
import { matchesName } from '../../../../src/analysis/own/name-pattern.ts';
import { farthestValue, largestChange, longestStall } from '../../../../src/analysis/own/spans.ts';

/** A metric logged once an epoch, ten steps and a minute each. */
function perEpoch(key: string, values: readonly number[]): MetricSeries {
  return createMetricSeries(key, {
    values,
    steps: values.map((_, i) => 10 * i),
    epochs: values.map((_, i) => i),
    timesMs: values.map((_, i) => 60_000 * i),
  });
}

function judge(rule: DeclaredRule, ...metrics: MetricSeries[]) {
  const { alerts, problems } = analyzeColumns(createRunColumns({ metrics }), { rules: [rule] });
  const own = alerts.filter(({ ruleId }) => ruleId === (rule.id ?? 'mine'));
  return { facts: own.map(({ fact }) => fact), own, problems };
}

const rule = (condition: Omit<DeclaredRule, 'metric' | 'id'>, name = 'm'): DeclaredRule => ({
  id: 'mine',
  metric: name,
  ...condition,
});

test('above and below hold for as long as the rule says, and the last time is named', () => {
  const series = perEpoch('m', [3, 1, 3, 4, 3, 1, 3, 3, 1]);
  expect(judge(rule({ above: 2, for: '3 epochs' }), series).facts).toEqual([
    'm is above 2 from step 20 to 40 (highest 4).',
  ]);
  expect(judge(rule({ above: 2, for: '2 epochs' }), series).facts).toEqual([
    'm is above 2 from step 60 to 70 (highest 3), the last of 2 times.',
  ]);
  expect(judge(rule({ above: 2, for: '4 epochs' }), series).facts).toEqual([]);
  expect(judge(rule({ above: 2, for: '21 steps' }), series).facts).toHaveLength(1);
  expect(judge(rule({ above: 2, for: '22 steps' }), series).facts).toHaveLength(0);
  expect(judge(rule({ above: 2, for: '2 minutes' }), series).facts).toHaveLength(1);
  expect(judge(rule({ above: 2, for: '3 minutes' }), series).facts).toHaveLength(0);
  expect(judge(rule({ below: 2 }), series).facts).toEqual([
    'm is below 2 at step 80 (lowest 1), the last of 3 times.',
  ]);
  expect(judge(rule({ above: 2 }), perEpoch('m', [Number.NaN, Infinity])).facts).toEqual([]);
});

test('title, advice, severity and category are those of the rule; without them they say the condition', () => {
  const series = perEpoch('m', [3]);
  const plain = judge(rule({ above: 2 }), series).own[0];
  expect(plain).toMatchObject({
    title: 'm: above 2',
    severity: 'warning',
    category: 'optimization',
    inference: 'That is the limit of the rule mine.',
    stepStart: 0,
  });
  const texts = {
    title: 'High',
    advice: 'Lower it.',
    severity: 'critical',
    category: 'runtime',
  } as const;
  expect(judge(rule({ above: 2, ...texts }), series).own[0]).toMatchObject({
    title: 'High',
    inference: 'Lower it.',
    severity: 'critical',
    category: 'runtime',
  });
});

test('changes count within a span, as numbers and as shares, in one direction or both', () => {
  const series = perEpoch('m', [10, 10, 12, 14, 14, 13]);
  expect(judge(rule({ changesBy: 2 }), series).facts).toEqual([
    'm rose by 2, from 10 to 12, from step 10 to 20.',
  ]);
  expect(judge(rule({ changesBy: 4 }), series).facts).toEqual([]);
  expect(judge(rule({ changesBy: 4, within: '2 epochs' }), series).facts).toHaveLength(1);
  expect(judge(rule({ changesBy: '40 %', within: '2 epochs' }), series).facts).toEqual([
    'm rose by 40 %, from 10 to 14, from step 10 to 30.',
  ]);
  expect(judge(rule({ changesBy: 1, direction: 'down' }), series).facts).toEqual([
    'm fell by 1, from 14 to 13, from step 40 to 50.',
  ]);
});

test('a value far from those before it is found; constant values have no deviation', () => {
  const noise = Array.from({ length: 40 }, (_, i) => 1 + 0.1 * Math.sin(i * i));
  expect(judge(rule({ zScore: 6 }), perEpoch('m', noise)).facts).toEqual([]);
  expect(judge(rule({ zScore: 6 }), perEpoch('m', [...noise, 5])).facts[0]).toMatch(
    /^m is 5 at step 400, .* standard deviations above the mean of 0.99 before it\.$/,
  );
  const flat = Array.from({ length: 300 }, () => 0.1);
  expect(judge(rule({ zScore: 6 }), perEpoch('m', flat)).facts).toEqual([]);
  expect(judge(rule({ zScore: 6 }), perEpoch('m', [...flat, 0.2])).facts).toEqual([
    'm is 0.2 at step 3000, above 0.1, which all values before it are.',
  ]);
});

test('a stall is no movement, or no new best value', () => {
  const series = perEpoch('m', [5, 4, 4, 4, 3, 3.5, 3.2, 3.1, 3.4]);
  expect(judge(rule({ stallsFor: '3 epochs' }), series).facts).toEqual([
    'm moved by nothing from step 10 to 30.',
  ]);
  expect(judge(rule({ stallsFor: '4 epochs' }), series).facts).toEqual([]);
  expect(judge(rule({ stallsFor: '5 epochs', tolerance: 0.5 }), series).facts).toHaveLength(1);
  expect(judge(rule({ stallsFor: '5 epochs', direction: 'down' }), series).facts).toEqual([
    'm had no lower value than 3 from step 40 to 80.',
  ]);
});

test('a metric is absent at the end of the run, or always', () => {
  const loss = perEpoch('train/loss', [5, 4, 3, 2, 1, 1]);
  const val = perEpoch('val/loss', [5, 4, 3]);
  expect(judge(rule({ absentFor: '3 epochs' }, 'val/*'), loss, val).facts).toEqual([
    'No value of val/loss came after step 20, for 3 epochs.',
  ]);
  expect(judge(rule({ absentFor: '4 epochs' }, 'val/*'), loss, val).facts).toEqual([]);
  expect(judge(rule({ absentFor: '6 epochs' }, 'val/f1'), loss).facts).toEqual([
    'No value of val/f1 came, in 6 epochs of the run.',
  ]);
});

test('what cannot be judged is named: no such metric, no such unit', () => {
  const series = createMetricSeries('m', { values: [1, 2], steps: [1, 2] });
  expect(judge(rule({ above: 1 }, 'val/f1'), series).problems).toEqual([
    {
      ruleId: 'mine',
      reason: 'no_data',
      message: 'mine could not be judged: the run has no metric val/f1; it has m.',
    },
  ]);
  expect(judge(rule({ above: 1, for: '2 epochs' }), series).problems[0]?.message).toBe(
    'mine could not be judged: "2 epochs" cannot be counted: values of m have no epoch.',
  );
  const both = judge(rule({ above: 0, for: '2 epochs' }, '*'), series, perEpoch('n', [1, 2]));
  expect(both.facts).toHaveLength(1);
  expect(both.problems).toHaveLength(1);
});

test.each<[unknown, RegExp]>([
  [{ metric: 'm' }, /exactly one of above, below, changesBy, zScore, stallsFor, absentFor/],
  [{ metric: 'm', above: 1, below: 2 }, /exactly one of .* got "above and below"/],
  [{ metric: 'm', above: '2' }, /config\.rules\[0\]\.above must be a finite number; got "2"/],
  [{ metric: 'm', above: 2, for: '5 epoch s' }, /rules\[0\]\.for must be a number and a unit/],
  [{ metric: 'm', above: 2, within: '5 epochs' }, /rules\[0\]\.within must be one of the known/],
  [{ metric: 'a b', above: 2 }, /rules\[0\]\.metric must be the key of a metric/],
  [{ above: 2 }, /rules\[0\]\.metric must be the key of a metric/],
  [{ metric: 'm', zScore: 0 }, /rules\[0\]\.zScore must be a number above 0/],
  [
    { metric: 'm', zScore: 3, over: '5 values' },
    /rules\[0\]\.over must be a number of at least 10/,
  ],
  [{ metric: 'm', absentFor: '5 values' }, /rules\[0\]\.absentFor must be a number and a unit/],
  [{ metric: 'm', above: 2, severity: 'bad' }, /rules\[0\]\.severity must be one of "info"/],
  [{ metric: 'm', above: 2, id: 'plateau' }, /rules\[0\]\.id must be an id that no other rule has/],
  [7, /config\.rules\[0\] must be an object/],
])('%j is refused with field, value and rule', (given, sentence) => {
  const use = () => analyzeColumns(createRunColumns({}), { rules: [given as DeclaredRule] });
  expect(use).toThrow(sentence);
});

test('without an id the metric and the condition are the name', () => {
  const metrics = [perEpoch('Val/Loss', [3])];
  const { alerts } = analyzeColumns(createRunColumns({ metrics }), {
    rules: [{ metric: 'Val/*', above: 2 }],
  });
  expect(alerts.map(({ ruleId }) => ruleId)).toContain('val/any.above');
});

test('patterns fit what their regular expressions fit', () => {
  const text = (of: string) =>
    fc.string({ unit: fc.constantFrom(...Array.from(of)), maxLength: 12 });
  fc.assert(
    fc.property(text('ab*?'), text('ab'), (pattern, name) => {
      const source = pattern.replaceAll('*', '.*').replaceAll('?', '.');
      expect(matchesName(pattern, name)).toBe(new RegExp(`^${source}$`).test(name));
    }),
    { seed: 17, numRuns: 2000 },
  );
});

const VALUES = fc.array(fc.constantFrom(0, 1, 2, 3, 5, Number.NaN), { maxLength: 14 });
const DIRECTION = fc.constantFrom('up', 'down', undefined);

test('changes, stalls and outliers are those that every pair of rows would give', () => {
  fc.assert(
    fc.property(VALUES, DIRECTION, fc.integer({ min: 1, max: 4 }), (list, direction, size) => {
      const values = Float64Array.from(list);
      const at = values.map((_, i) => i);
      let change = 0;
      let stall = -1;
      for (const [i, a] of list.entries()) {
        for (const [j, b] of list.entries()) {
          if (j < i || Number.isNaN(a) || Number.isNaN(b)) continue;
          const by = b - a;
          const counts = direction === undefined || (direction === 'up' ? by > 0 : by < 0);
          if (counts && j - i <= size) change = Math.max(change, Math.abs(by));
          const span = list.slice(i, j + 1).filter((value) => !Number.isNaN(value));
          const isStall =
            direction === undefined
              ? Math.max(...span) - Math.min(...span) <= 1
              : span.every((value) => (direction === 'up' ? value <= a : value >= a)) &&
                list
                  .slice(0, i)
                  .every(
                    (value) => Number.isNaN(value) || (direction === 'up' ? value < a : value > a),
                  );
          if (isStall) stall = Math.max(stall, j - i);
        }
      }
      const found = largestChange(values, at, size, { direction, isShare: false });
      expect(Math.abs(found?.by ?? 0)).toBe(change);
      const longest = longestStall(values, at, direction === undefined ? 1 : 0, direction);
      expect(longest === undefined ? -1 : longest.last - longest.first).toBe(stall);
    }),
    { seed: 18, numRuns: 2000 },
  );
});

test('a score is the distance from the mean in standard deviations', () => {
  const values = Float64Array.from({ length: 200 }, (_, i) => Math.sin(i * i) + i / 50);
  let best = 0;
  for (let row = 10; row < values.length; row++) {
    const base = values.slice(Math.max(0, row - 30), row);
    const mean = base.reduce((a, b) => a + b, 0) / base.length;
    const spread = Math.sqrt(base.reduce((sum, v) => sum + (v - mean) ** 2, 0) / (base.length - 1));
    best = Math.max(best, Math.abs(((values[row] ?? 0) - mean) / spread));
  }
  expect(Math.abs(farthestValue(values, 30, undefined)?.score ?? 0)).toBeCloseTo(best, 9);
});
