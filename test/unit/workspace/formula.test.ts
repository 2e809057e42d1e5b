/** Formulas of metrics: what is read, what is refused and where, and the values at the steps. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isQuarkError } from '../../../src/base/errors.ts';
import { evaluateFormula, type FormulaSeries } from '../../../src/workspace/evaluate-formula.ts';
import { formulaKey, parseFormula, type FormulaNode } from '../../../src/workspace/formula.ts';
import { runs } from '../../support/property.ts';

function series(points: readonly (readonly [step: number, value: number])[]): FormulaSeries {
  return {
    steps: Float64Array.from(points, ([step]) => step),
    epochs: Float64Array.from(points, ([step]) => Math.floor(step / 10)),
    timesMs: Float64Array.from(points, ([step]) => 1000 * step),
    values: Float64Array.from(points, ([, value]) => value),
  };
}

function valueOf(text: string, values: Readonly<Record<string, number>>): number | undefined {
  const found = evaluateFormula(parseFormula(text), (key) =>
    key in values ? series([[1, values[key] ?? 0]]) : undefined,
  );
  return found?.values[0];
}

describe('a formula', () => {
  test.each([
    ['val/loss - train/loss', 3],
    ['a - b - c', 1 - 2 - 4],
    ['a / b / c', 1 / 2 / 4],
    ['a + b * c', 9],
    ['(a + b) * c', 12],
    ['-a - -b', 1],
    ['2 * -a', -2],
    ['max(a, b, c) - min(a, b)', 3],
    ['exp(log(c)) + abs(-b) + sqrt(c)', 8],
    ['"top-1 accuracy" * 1e2', 50],
    ['"a\\"b"', 7],
    ['  a\n+\t.5 ', 1.5],
    ['a / 0', Infinity],
    ['log', 6],
  ])('%s is %d', (text, expected) => {
    const values = { a: 1, b: 2, c: 4, 'val/loss': 5, 'train/loss': 2, log: 6 };
    expect(valueOf(text, { ...values, 'top-1 accuracy': 0.5, 'a"b': 7 })).toBeCloseTo(expected, 12);
  });

  test.each([
    ['', 0, 0],
    ['a +', 3, 3],
    ['a b', 2, 3],
    ['a + )', 4, 5],
    ['(a', 2, 2],
    ['sin(a)', 0, 3],
    ['abs(a, b)', 0, 9],
    ['max(a)', 0, 6],
    ['a $ b', 2, 3],
    ['"a', 0, 2],
    ['""', 0, 2],
    ['1 + 2', 0, 5],
    ['constructor(a)', 0, 11],
    ['a + тест', 4, 5],
  ])('%j is refused at its characters %i to %i', (text, from, to) => {
    try {
      parseFormula(text);
      expect.unreachable();
    } catch (error) {
      if (!isQuarkError(error, 'invalid_input')) throw error;
      if (text !== '') expect(error.details).toMatchObject({ field: 'formula', from, to });
    }
  });

  test('is bounded in length, depth and metrics', () => {
    const refused = expect.objectContaining({ code: 'invalid_input' });
    expect(() => parseFormula(`a${' '.repeat(1000)}`)).toThrow(refused);
    expect(() => parseFormula(`${'('.repeat(65)}a${')'.repeat(65)}`)).toThrow(refused);
    expect(() => parseFormula(`${'-'.repeat(65)}a`)).toThrow(refused);
    const many = Array.from({ length: 33 }, (_, i) => `m${i}`).join('+');
    expect(() => parseFormula(many)).toThrow(refused);
    expect(parseFormula(`${'('.repeat(64)}a${')'.repeat(64)}`).metrics).toEqual(['a']);
  });

  test('names each metric as its key is, whatever is in it', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', minLength: 1, maxLength: 40 }), (key) => {
        fc.pre(!key.includes('\0') && !/\p{Surrogate}/u.test(key));
        expect(parseFormula(`1 + ${formulaKey(key)}`).metrics).toEqual([key]);
      }),
      runs(300),
    );
  });

  test('has the value of the same operations in JavaScript', () => {
    const operators = ['+', '-', '*', '/'] as const;
    type Made = { readonly text: string; readonly value: number };
    const made = fc.letrec<{ node: Made }>((tie) => ({
      node: fc.oneof(
        { depthSize: 'small', withCrossShrink: true },
        fc
          .constantFrom(...(['x', 'y'] as const))
          .map((key) => ({ text: key, value: key === 'x' ? 3 : 0.5 })),
        fc.integer({ min: 0, max: 99 }).map((value) => ({ text: String(value), value })),
        fc
          .tuple(tie('node'), fc.constantFrom(...operators), tie('node'))
          .map(([left, operator, right]) => ({
            text: `(${left.text}) ${operator} (${right.text})`,
            value: applied(operator, left.value, right.value),
          })),
        tie('node').map(({ text, value }) => ({ text: `-(${text})`, value: -value })),
      ),
    })).node;
    fc.assert(
      fc.property(made, ({ text, value }) => {
        fc.pre(text.length < 900 && !/\({60}/.test(text));
        expect(valueOf(`x - x + ${text}`, { x: 3, y: 0.5 })).toBe(3 - 3 + value);
      }),
      runs(300),
    );
  });

  test('has the values of IEEE 754 where nothing is defined', () => {
    expect(valueOf('log(-a)', { a: 1 })).toBeNaN();
    expect(valueOf('(a - a) / (a - a)', { a: 1 })).toBeNaN();
  });

  test('reads a tree that says what comes first', () => {
    const { root } = parseFormula('a - b * c');
    const of = (node: FormulaNode): string =>
      node.kind === 'operation' ? `(${of(node.left)}${node.operator}${of(node.right)})` : 'm';
    expect(of(root)).toBe('(m-(m*m))');
  });
});

function applied(operator: '+' | '-' | '*' | '/', left: number, right: number): number {
  if (operator === '+') return left + right;
  if (operator === '-') return left - right;
  return operator === '*' ? left * right : left / right;
}

describe('values at steps', () => {
  const difference = parseFormula('val - train');

  test('are at the steps of the metric with the fewest points, with the last value of the others', () => {
    const train = series(Array.from({ length: 10 }, (_, step) => [step, step] as const));
    const val = series([
      [2.5, 10],
      [7, 20],
    ]);
    const found = evaluateFormula(difference, (key) => (key === 'val' ? val : train));
    expect([...(found?.steps ?? [])]).toEqual([2.5, 7]);
    expect([...(found?.values ?? [])]).toEqual([8, 13]);
    expect([...(found?.timesMs ?? [])]).toEqual([2500, 7000]);
  });

  test('begin where every metric has begun, and of a step written twice the last counts', () => {
    const train = series([
      [0, 1],
      [5, 2],
      [5, 3],
      [3, 9],
    ]);
    const val = series([
      [1, 10],
      [4, 11],
      [6, Number.NaN],
    ]);
    const found = evaluateFormula(difference, (key) => (key === 'val' ? val : train));
    expect([...(found?.steps ?? [])]).toEqual([1, 4, 6]);
    expect([...(found?.values ?? [])]).toEqual([9, 2, Number.NaN]);
  });

  test('need every metric, and steps', () => {
    expect(
      evaluateFormula(difference, (key) => (key === 'val' ? series([[1, 1]]) : undefined)),
    ).toBe(undefined);
    const without = series([[Number.NaN, 1]]);
    expect(evaluateFormula(difference, () => without)?.values).toHaveLength(0);
  });

  test('are those of looking back from each step', () => {
    const points = fc.array(fc.tuple(fc.integer({ min: 0, max: 30 }), fc.integer()), {
      minLength: 1,
      maxLength: 20,
    });
    fc.assert(
      fc.property(points, points, (first, second) => {
        const last = (all: typeof first, step: number): number | undefined => {
          const at = Math.max(...all.map(([one]) => one).filter((one) => one <= step));
          return all.findLast(([one]) => one === at)?.[1];
        };
        const stepsOf = (all: typeof first): readonly number[] =>
          [...new Set(all.map(([step]) => step))].toSorted((a, b) => a - b);
        const [val, train] = [stepsOf(first), stepsOf(second)];
        const base = train.length < val.length ? train : val;
        const expected = base.flatMap((step) => {
          const [a, b] = [last(first, step), last(second, step)];
          return a === undefined || b === undefined ? [] : [[step, a - b]];
        });
        const found = evaluateFormula(difference, (key) => series(key === 'val' ? first : second));
        expect(Array.from(found?.steps ?? [], (step, at) => [step, found?.values[at]])).toEqual(
          expected,
        );
      }),
      runs(200),
    );
  });
});
