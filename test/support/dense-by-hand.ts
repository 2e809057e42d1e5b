/**
 * A network of two dense layers (tanh, linear) and a mean squared error, forward and backward in plain float64: what
 * every adapter is compared with.
 */
import { random } from './tensors.ts';

export type Matrix = {
  readonly rows: number;
  readonly columns: number;
  readonly values: Float64Array;
};

export type Weights = { w1: Matrix; b1: Matrix; w2: Matrix; b2: Matrix };

/** Everything a step computes. */
export type Step = {
  readonly loss: number;
  readonly hidden: Matrix;
  readonly output: Matrix;
  readonly hiddenGradient: Matrix;
  readonly outputGradient: Matrix;
  readonly gradients: Weights;
};

export const SIZES = { batch: 5, inputs: 3, hidden: 4, outputs: 2 } as const;

export function matrix(rows: number, columns: number, seed: number): Matrix {
  const next = random(seed);
  // float32 values, so that a framework starts from the same numbers.
  const values = Float64Array.from({ length: rows * columns }, () => Math.fround(next() * 2 - 1));
  return { rows, columns, values };
}

export function startWeights(): Weights {
  const { inputs, hidden, outputs } = SIZES;
  return {
    w1: matrix(inputs, hidden, 11),
    b1: matrix(1, hidden, 12),
    w2: matrix(hidden, outputs, 13),
    b2: matrix(1, outputs, 14),
  };
}

export function batch(seed: number): { readonly x: Matrix; readonly y: Matrix } {
  return {
    x: matrix(SIZES.batch, SIZES.inputs, 100 + seed),
    y: matrix(SIZES.batch, SIZES.outputs, 200 + seed),
  };
}

/** Forward and backward. */
export function step(weights: Weights, x: Matrix, y: Matrix): Step {
  const hidden = map(addRow(multiply(x, weights.w1), weights.b1), Math.tanh);
  const output = addRow(multiply(hidden, weights.w2), weights.b2);
  const count = output.values.length;
  const loss = output.values.reduce((sum, value, i) => sum + (value - at(y, i)) ** 2, 0) / count;
  const outputGradient = {
    ...output,
    values: output.values.map((value, i) => (2 * (value - at(y, i))) / count),
  };
  const hiddenGradient = multiply(outputGradient, transpose(weights.w2));
  const before = {
    ...hiddenGradient,
    values: hiddenGradient.values.map((value, i) => value * (1 - at(hidden, i) ** 2)),
  };
  return {
    loss,
    hidden,
    output,
    hiddenGradient,
    outputGradient,
    gradients: {
      w1: multiply(transpose(x), before),
      b1: sumRows(before),
      w2: multiply(transpose(hidden), outputGradient),
      b2: sumRows(outputGradient),
    },
  };
}

/** What is recorded of a tensor, computed naively. */
export function statistics({ values }: Matrix): {
  mean: number;
  std: number;
  norm: number;
  min: number;
  max: number;
} {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length;
  return {
    mean,
    std: Math.sqrt(variance),
    norm: Math.hypot(...values),
    min: Math.min(...values),
    max: Math.max(...values),
  };
}

export function combine(a: Matrix, b: Matrix, f: (a: number, b: number) => number): Matrix {
  return { ...a, values: a.values.map((value, i) => f(value, at(b, i))) };
}

export function map(a: Matrix, f: (value: number) => number): Matrix {
  return { ...a, values: a.values.map((value) => f(value)) };
}

function at(a: Matrix, i: number): number {
  return a.values[i] ?? Number.NaN;
}

function multiply(a: Matrix, b: Matrix): Matrix {
  const values = new Float64Array(a.rows * b.columns);
  for (let i = 0; i < a.rows; i++)
    for (let j = 0; j < b.columns; j++)
      for (let k = 0; k < a.columns; k++)
        values[i * b.columns + j] =
          (values[i * b.columns + j] ?? 0) + at(a, i * a.columns + k) * at(b, k * b.columns + j);
  return { rows: a.rows, columns: b.columns, values };
}

function transpose(a: Matrix): Matrix {
  const values = Float64Array.from(a.values, (_, i) =>
    at(a, (i % a.rows) * a.columns + Math.floor(i / a.rows)),
  );
  return { rows: a.columns, columns: a.rows, values };
}

function addRow(a: Matrix, row: Matrix): Matrix {
  return { ...a, values: a.values.map((value, i) => value + at(row, i % a.columns)) };
}

function sumRows(a: Matrix): Matrix {
  const values = new Float64Array(a.columns);
  a.values.forEach((value, i) => {
    values[i % a.columns] = (values[i % a.columns] ?? 0) + value;
  });
  return { rows: 1, columns: a.columns, values };
}
