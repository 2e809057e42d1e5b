/** What a case is fed, and how it is trained. */
import * as ort from 'onnxruntime-web';
import type { OnnxTrainingConfig } from '../../src/onnx.ts';
import { numbersOf } from './file-builder.ts';
import type { Feed, ModelCase } from './model-case.ts';

/** Numbers of a feed that follow from its name. */
export function feedNumbers(name: string, { shape, below, value }: Feed): number[] {
  const count = shape.reduce((all, n) => all * n, 1);
  if (value !== undefined) return Array<number>(count).fill(value);
  return Array.from(numbersOf(`feed ${name}`, count), (x) =>
    below === undefined ? x : Math.min(below - 1, Math.floor(((x + 1) / 2) * below)),
  );
}

/** The tensor of a feed, of the type of the feed or another. */
export function tensorOf(name: string, feed: Feed, type: string = feed.type): ort.Tensor {
  const numbers = feedNumbers(name, feed);
  if (type === 'int64')
    return new ort.Tensor('int64', BigInt64Array.from(numbers, BigInt), [...feed.shape]);
  if (type === 'int32') return new ort.Tensor('int32', Int32Array.from(numbers), [...feed.shape]);
  return new ort.Tensor('float32', Float32Array.from(numbers), [...feed.shape]);
}

/** The targets of a case. */
export const targetFeed = (test: ModelCase): Feed =>
  test.loss === 'classes'
    ? { type: 'int32', shape: test.targets, below: test.classes ?? 2 }
    : { type: 'float32', shape: test.targets };

/** How a case is trained. */
export const configOf = (test: ModelCase): OnnxTrainingConfig => ({
  loss: { kind: test.loss === 'classes' ? 'softmaxCrossEntropy' : 'meanSquaredError' },
  optimizer: { kind: 'adam', learningRate: test.learningRate ?? 0.01 },
  ...(test.output === undefined ? {} : { output: test.output }),
  ...(test.isTrainable === undefined ? {} : { isTrainable: test.isTrainable }),
});
