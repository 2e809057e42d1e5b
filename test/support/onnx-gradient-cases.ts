/** A case of the operators that layers are made of, with what their attributes change. */
import type { Attributes } from '../../src/adapters/onnx/file/onnx-writer.ts';
import { int64s, scalar, type Case, type Draw } from './onnx-gradient-check.ts';

export const pointwise = (op: string, attributes: Attributes = {}, draw: Draw = 'any'): Case => ({
  op,
  inputs: [{ shape: [3, 40], draw }],
  attributes,
});

export const CASES: readonly Case[] = [
  ...[
    'Abs',
    'Elu',
    'Gelu',
    'HardSigmoid',
    'HardSwish',
    'Identity',
    'LeakyRelu',
    'Neg',
    'Relu',
    'Selu',
    'Sigmoid',
    'Silu',
    'Softplus',
    'Tanh',
    'Erf',
    'Exp',
  ].map((op) => pointwise(op)),
  ...['Log', 'Reciprocal', 'Sqrt'].map((op) => pointwise(op, {}, 'positive')),
  pointwise('Elu', { alpha: { float: 0.5 } }),
  pointwise('LeakyRelu', { alpha: { float: 0.25 } }),
  pointwise('Selu', { alpha: { float: 1.5 }, gamma: { float: 0.75 } }),
  pointwise('HardSigmoid', { alpha: { float: 0.25 }, beta: { float: 0.375 } }),
  { op: 'Pow', inputs: [{ shape: [3, 5], draw: 'positive' }, scalar('p', 2.5)] },
  { op: 'Pow', inputs: [[3, 5], scalar('p', 2)] },
  { op: 'Clip', inputs: [[3, 40], scalar('low', 0), scalar('high', 2)] },
  { op: 'Clip', inputs: [[3, 40], null, scalar('high', 1)] },
  { op: 'Clip', inputs: [[3, 40]], attributes: { min: { float: -1 }, max: { float: 1 } } },
  ...['Add', 'Sub', 'Mul'].flatMap((op): Case[] => [
    {
      op,
      inputs: [
        [3, 4],
        [3, 4],
      ],
    },
    { op, inputs: [[2, 3, 4], [4]] },
    {
      op,
      inputs: [
        [3, 1],
        [2, 1, 4],
      ],
    },
  ]),
  { op: 'Div', inputs: [[2, 3, 4], { shape: [3, 1], draw: 'positive' }] },
  { op: 'Gemm', inputs: [[3, 5], [5, 4], [4]] },
  {
    op: 'Gemm',
    inputs: [
      [3, 5],
      [5, 4],
    ],
  },
  {
    op: 'Gemm',
    inputs: [
      [5, 3],
      [5, 4],
      [3, 1],
    ],
    attributes: { transA: 1, alpha: { float: 0.5 }, beta: { float: 2 } },
  },
  { op: 'Gemm', inputs: [[3, 5], [4, 5], [1]], attributes: { transB: 1, alpha: { float: 2 } } },
  {
    op: 'Gemm',
    inputs: [
      [5, 3],
      [4, 5],
      [3, 4],
    ],
    attributes: { transA: 1, transB: 1 },
  },
  {
    op: 'MatMul',
    inputs: [
      [3, 5],
      [5, 4],
    ],
  },
  {
    op: 'MatMul',
    inputs: [
      [2, 3, 5],
      [5, 4],
    ],
  },
  {
    op: 'MatMul',
    inputs: [
      [2, 3, 5],
      [2, 5, 4],
    ],
  },
  {
    op: 'MatMul',
    inputs: [
      [2, 1, 3, 5],
      [3, 5, 4],
    ],
  },
  { op: 'Softmax', inputs: [[3, 5]] },
  { op: 'LogSoftmax', inputs: [[2, 3, 5]] },
  { op: 'ReduceSum', inputs: [[2, 3, 4], int64s('axes', [1])] },
  { op: 'ReduceMean', inputs: [[2, 3, 4]], attributes: { axes: [0, -1], keepdims: 0 } },
  { op: 'ReduceMean', inputs: [[2, 3, 4]], attributes: { keepdims: 0 } },
  { op: 'Flatten', inputs: [[2, 3, 4]], attributes: { axis: 2 } },
  { op: 'Reshape', inputs: [[2, 3, 4], int64s('shape', [0, -1, 2])] },
  { op: 'Squeeze', inputs: [[2, 1, 4], int64s('axes', [1])] },
  { op: 'Unsqueeze', inputs: [[2, 4], int64s('axes', [0, -1])] },
  { op: 'Transpose', inputs: [[2, 3, 4]], attributes: { perm: [2, 0, 1] } },
  { op: 'Transpose', inputs: [[2, 3, 4]] },
  // The same row three times: its gradients add up.
  {
    op: 'Gather',
    inputs: [[5, 3], { indices: [1, 4, 1, 1], shape: [2, 2] }],
    attributes: { axis: 0 },
  },
  { op: 'Conv', inputs: [[2, 2, 6, 5], [3, 2, 3, 2], [3]] },
  {
    op: 'MaxPool',
    inputs: [{ shape: [2, 2, 5, 5], draw: 'distinct' }],
    attributes: { kernel_shape: [2, 2], strides: [2, 2] },
  },
  // Padding is larger than every element, and still never the largest.
  {
    op: 'MaxPool',
    inputs: [{ shape: [1, 2, 4, 4], draw: 'negative' }],
    attributes: { kernel_shape: [2, 3], pads: [1, 1, 0, 1] },
  },
  {
    op: 'MaxPool',
    inputs: [{ shape: [2, 1, 6, 5], draw: 'distinct' }],
    attributes: { kernel_shape: [2, 2], dilations: [2, 3], strides: [2, 1] },
  },
  // Windows that overlap, with padding: one element is the largest of several.
  {
    op: 'MaxPool',
    inputs: [{ shape: [2, 2, 5, 5], draw: 'distinct' }],
    attributes: { kernel_shape: [3, 3], strides: [1, 2], pads: [1, 1, 1, 0] },
  },
  {
    op: 'AveragePool',
    inputs: [[2, 2, 5, 6]],
    attributes: { kernel_shape: [2, 3], strides: [2, 2] },
  },
  {
    op: 'AveragePool',
    inputs: [[2, 2, 5, 6]],
    attributes: { kernel_shape: [3, 3], strides: [2, 1], auto_pad: 'SAME_UPPER' },
  },
  {
    op: 'AveragePool',
    inputs: [[2, 2, 5, 6]],
    attributes: { kernel_shape: [3, 3], pads: [1, 0, 1, 1], count_include_pad: 1 },
  },
  { op: 'GlobalAveragePool', inputs: [[2, 3, 4, 5]] },
  { op: 'BatchNormalization', inputs: [[4, 3], [3], [3], [3], [3]] },
  {
    op: 'BatchNormalization',
    inputs: [[3, 2, 4, 2], [2], [2], [2], [2]],
    attributes: { epsilon: { float: 1e-3 } },
  },
  {
    op: 'LayerNormalization',
    inputs: [[3, 6], [6], [6]],
    attributes: { epsilon: { float: 1e-3 } },
  },
  {
    op: 'LayerNormalization',
    inputs: [
      [2, 3, 4],
      [3, 4],
    ],
    attributes: { axis: 1 },
  },
];
