/** Values of a formula, at the steps of its metrics. */
import type { Formula, FormulaFunction, FormulaNode } from './formula.ts';

/** Points of one metric, in any order of steps; the columns have one length. */
export type FormulaSeries = {
  /** NaN: no step, so that the point has no position in a formula. */
  readonly steps: Float64Array;
  readonly epochs: Float64Array;
  readonly timesMs: Float64Array;
  readonly values: Float64Array;
};

/**
 * The values of a formula.
 *
 * There is one at each step of the metric with the fewest points. Every other metric counts there with its last value at this step or
 * before; where one has none yet, there is no value. Of points at one step the last one counts. Where a metric is not finite, or the
 * result is not defined (`log` of a negative number, a division by 0), the value is what IEEE 754 says.
 *
 * @param seriesOf the points of a metric; undefined where there are none
 * @returns the points in the order of their steps, with epochs and times of the metric with the fewest points; undefined where one of the
 *   metrics has none
 * @example
 * ```js
 * import { evaluateFormula, parseFormula } from 'quark-sdk/workspace';
 *
 * const seriesOf = (values) => {
 *   const steps = Float64Array.from(values, (_, step) => step);
 *   return { steps, epochs: steps.map(() => NaN), timesMs: steps.map(() => NaN), values: Float64Array.from(values) };
 * };
 * const series = new Map([['train/loss', seriesOf([0.75, 0.5])], ['val/loss', seriesOf([1, 0.875])]]);
 * const gap = evaluateFormula(parseFormula('val/loss - train/loss'), (key) => series.get(key));
 * console.log(gap.steps, gap.values); // Float64Array(2) [ 0, 1 ] Float64Array(2) [ 0.25, 0.375 ]
 * ```
 */
export function evaluateFormula(
  formula: Formula,
  seriesOf: (key: string) => FormulaSeries | undefined,
): FormulaSeries | undefined {
  const ordered = new Map<string, FormulaSeries>();
  for (const key of formula.metrics) {
    const series = seriesOf(key);
    if (series === undefined) return undefined;
    ordered.set(key, byStep(series));
  }
  const all = [...ordered.values()];
  const base = all.reduce((fewest, one) => (one.steps.length < fewest.steps.length ? one : fewest));
  const cursors = new Map([...ordered].map(([key, series]) => [key, new Cursor(series)]));
  const rows: number[] = [];
  const values: number[] = [];
  const evaluate = compiled(formula.root, cursors);
  for (let row = 0; row < base.steps.length; row += 1) {
    const step = base.steps[row] ?? Number.NaN;
    let isWhole = true;
    for (const cursor of cursors.values()) isWhole = cursor.moveTo(step) && isWhole;
    if (!isWhole) continue;
    rows.push(row);
    values.push(evaluate());
  }
  const pick = (column: Float64Array): Float64Array =>
    Float64Array.from(rows, (row) => column[row] ?? Number.NaN);
  return {
    steps: pick(base.steps),
    epochs: pick(base.epochs),
    timesMs: pick(base.timesMs),
    values: Float64Array.from(values),
  };
}

/** The last value of a series at a step or before; steps only go on. */
class Cursor {
  readonly #series: FormulaSeries;
  #next = 0;

  constructor(series: FormulaSeries) {
    this.#series = series;
  }

  /** False: the series has not begun. */
  moveTo(step: number): boolean {
    const { steps } = this.#series;
    while (this.#next < steps.length && (steps[this.#next] ?? Number.NaN) <= step) this.#next += 1;
    return this.#next > 0;
  }

  get value(): number {
    return this.#series.values[this.#next - 1] ?? Number.NaN;
  }
}

const first = ([value = Number.NaN]: readonly number[]): number => value;

const FUNCTIONS: Readonly<Record<FormulaFunction, (values: readonly number[]) => number>> = {
  abs: (values) => Math.abs(first(values)),
  log: (values) => Math.log(first(values)),
  exp: (values) => Math.exp(first(values)),
  sqrt: (values) => Math.sqrt(first(values)),
  min: (values) => Math.min(...values),
  max: (values) => Math.max(...values),
};

function compiled(node: FormulaNode, cursors: ReadonlyMap<string, Cursor>): () => number {
  switch (node.kind) {
    case 'number':
      return () => node.value;
    case 'metric': {
      const cursor = cursors.get(node.key);
      return () => cursor?.value ?? Number.NaN;
    }
    case 'minus': {
      const of = compiled(node.of, cursors);
      return () => -of();
    }
    case 'operation':
      return operation(node.operator, compiled(node.left, cursors), compiled(node.right, cursors));
    case 'call': {
      const of = node.of.map((one) => compiled(one, cursors));
      const call = FUNCTIONS[node.name];
      return () => call(of.map((one) => one()));
    }
  }
}

function operation(
  operator: '+' | '-' | '*' | '/',
  left: () => number,
  right: () => number,
): () => number {
  switch (operator) {
    case '+':
      return () => left() + right();
    case '-':
      return () => left() - right();
    case '*':
      return () => left() * right();
    case '/':
      return () => left() / right();
  }
}

/** The points with a step, in the order of steps, the last one of each. */
function byStep(series: FormulaSeries): FormulaSeries {
  const { epochs, steps, timesMs, values } = series;
  if (isRising(steps)) return series;
  const rows = Array.from(steps.keys()).filter((row) => !Number.isNaN(steps[row]));
  rows.sort((a, b) => (steps[a] ?? 0) - (steps[b] ?? 0) || a - b);
  const last = rows.filter((row, at) => steps[row] !== steps[rows[at + 1] ?? -1]);
  const pick = (column: Float64Array): Float64Array =>
    Float64Array.from(last, (row) => column[row] ?? Number.NaN);
  return { steps: pick(steps), epochs: pick(epochs), timesMs: pick(timesMs), values: pick(values) };
}

/** A comparison with NaN is false. */
function isRising(steps: Float64Array): boolean {
  if (steps.length > 0 && Number.isNaN(steps[0])) return false;
  for (let at = 1; at < steps.length; at += 1)
    if (!((steps[at - 1] ?? Number.NaN) < (steps[at] ?? Number.NaN))) return false;
  return true;
}
