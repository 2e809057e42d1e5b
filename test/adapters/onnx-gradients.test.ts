/** The gradient of every operator that can be trained through, on onnxruntime-web, against central differences. */
import * as ort from 'onnxruntime-web';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Attributes } from '../../src/adapters/onnx/file/onnx-writer.ts';
import { TRAINABLE_OPS } from '../../src/adapters/onnx/train/network.ts';
import { CASES } from '../support/onnx-gradient-cases.ts';
import { MORE_CASES } from '../support/onnx-gradient-cases-more.ts';
import { check, type Case } from '../support/onnx-gradient-check.ts';
import { runs } from '../support/property.ts';

beforeAll(() => {
  ort.env.wasm.numThreads = 1;
  ort.env.logLevel = 'error';
});

const ALL_CASES = [...CASES, ...MORE_CASES];

describe('gradients against central differences', () => {
  it('has a case for every operator', () => {
    expect(
      [
        ...new Set(
          ALL_CASES.flatMap(({ op, after = [] }) => [op, ...after.map((node) => node.op)]).filter(
            (op) => op !== 'Shape',
          ),
        ),
      ].sort(),
    ).toStrictEqual([...TRAINABLE_OPS]);
  });

  it.each(
    ALL_CASES.map(
      (test, i) =>
        [
          `${test.op} ${JSON.stringify(test.inputs.map((x) => (x !== null && 'length' in x ? x : '')))} #${i}`,
          test,
        ] as const,
    ),
  )('%s', async (_name, test) => check(test));

  it.each<readonly [string, Case]>([
    ['classes', { op: 'Identity', inputs: [[4, 5]], loss: { kind: 'softmaxCrossEntropy' } }],
    [
      'classes of sequences',
      { op: 'Identity', inputs: [[2, 3, 5]], loss: { kind: 'softmaxCrossEntropy' } },
    ],
    // Targets that do not add up to 1 either.
    [
      'probabilities',
      {
        op: 'Identity',
        inputs: [[4, 5]],
        loss: { kind: 'softmaxCrossEntropy', targets: 'probabilities' },
      },
    ],
  ])('softmax cross-entropy of %s', async (_name, test) => check(test));

  it('convolutions of any window', async () => {
    const dimension = fc.record({
      size: fc.integer({ min: 4, max: 8 }),
      kernel: fc.integer({ min: 1, max: 3 }),
      stride: fc.integer({ min: 1, max: 3 }),
      dilation: fc.integer({ min: 1, max: 2 }),
      before: fc.integer({ min: 0, max: 2 }),
      after: fc.integer({ min: 0, max: 2 }),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(dimension, { minLength: 1, maxLength: 2 }),
        fc.constantFrom(1, 2),
        fc.constantFrom('NOTSET', 'SAME_UPPER', 'SAME_LOWER', 'VALID'),
        fc.integer({ min: 1, max: 1000 }),
        async (dimensions, group, autoPad, seed) => {
          fc.pre(dimensions.every(({ size, kernel, dilation }) => (kernel - 1) * dilation < size));
          const all = (name: keyof (typeof dimensions)[number]): number[] =>
            dimensions.map((d) => d[name]);
          await check(
            {
              op: 'Conv',
              inputs: [
                [2, 2 * group, ...all('size')],
                [3 * group, 2, ...all('kernel')],
                [3 * group],
              ],
              attributes: {
                kernel_shape: all('kernel'),
                strides: all('stride'),
                dilations: all('dilation'),
                group,
                ...(autoPad === 'NOTSET'
                  ? { pads: [...all('before'), ...all('after')] }
                  : { auto_pad: autoPad }),
              },
            },
            seed,
          );
        },
      ),
      runs(25),
    );
  });

  it('pools of any window', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('MaxPool', 'AveragePool'),
        fc.tuple(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 3 })),
        fc.tuple(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 4 })),
        fc.constantFrom<Attributes>(
          { auto_pad: 'VALID' },
          { auto_pad: 'SAME_LOWER' },
          { pads: [0, 0, 0, 0] },
        ),
        fc.integer({ min: 1, max: 1000 }),
        async (op, kernel, strides, padding, seed) =>
          check(
            {
              op,
              inputs: [{ shape: [2, 2, 5, 7], draw: 'distinct' }],
              attributes: { kernel_shape: kernel, strides, ...padding },
            },
            seed,
          ),
      ),
      runs(12),
    );
  });
});
