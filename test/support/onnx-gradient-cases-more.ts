/** A case of the operators that files have between and beside their layers, with what exporters set. */
import type { ForwardNode } from '../../src/adapters/onnx/train/graph/op-rule.ts';
import type { Attributes } from '../../src/adapters/onnx/file/onnx-writer.ts';
import { pointwise } from './onnx-gradient-cases.ts';
import { int64s, scalar, type Case, type Draw } from './onnx-gradient-check.ts';

const node = (
  op: string,
  inputs: readonly string[],
  output = 'out',
  attributes: Attributes = {},
): ForwardNode => ({
  op,
  inputs,
  output,
  attributes,
});

/** The sum of several outputs, each flattened, so that all of them have gradients. */
const joined = (count: number): readonly ForwardNode[] => [
  ...Array.from({ length: count }, (_, i) =>
    node('Flatten', [i === 0 ? 'first' : `first_${i}`], `flat${i}`, { axis: 0 }),
  ),
  node(
    'Concat',
    Array.from({ length: count }, (_, i) => `flat${i}`),
    'out',
    { axis: 1 },
  ),
];

/** What has no gradient decides where another value goes. */
const deciding = (op: string, inputs: Case['inputs'], attributes: Attributes = {}): Case => ({
  op,
  inputs,
  attributes,
  after: [node('Where', ['first', 'in0', 'in1'])],
});

const floats = (
  name: string,
  shape: readonly number[],
  data: readonly number[],
): Case['inputs'][number] => ({
  constant: { name, type: 'float32', shape, data },
});
const longs = (
  name: string,
  shape: readonly number[],
  data: readonly number[],
): Case['inputs'][number] => ({
  constant: { name, type: 'int64', shape, data },
});
const f = (value: number): { readonly float: number } => ({ float: value });
const drawn = (shape: readonly number[], draw: Draw): Case['inputs'][number] => ({ shape, draw });
const pair: readonly number[] = [3, 4];

const ACTIVATIONS: readonly Case[] = [
  ...[
    'Atan',
    'Ceil',
    'Celu',
    'Cos',
    'Floor',
    'Mish',
    'Round',
    'Sign',
    'Sin',
    'Sinh',
    'Cosh',
    'Softsign',
    'ThresholdedRelu',
  ].map((op): Case => ({
    op,
    inputs: [[3, 20]],
    // A step has no slope: what is added to it has.
    after: [node('Add', ['first', 'in0'])],
  })),
  { op: 'Tan', inputs: [drawn([3, 5], 'small')] },
  { op: 'Asin', inputs: [drawn([3, 5], 'small')] },
  { op: 'Acos', inputs: [drawn([3, 5], 'small')] },
  pointwise('Celu', { alpha: f(0.5) }),
  pointwise('ThresholdedRelu', { alpha: f(0.5) }),
  pointwise('Shrink', { lambd: f(1), bias: f(0.5) }),
  { ...pointwise('Gelu', { approximate: 'tanh' }), tolerance: 3e-5 },
  {
    op: 'PRelu',
    inputs: [
      [2, 3, 4],
      [3, 1],
    ],
  },
  { op: 'PRelu', inputs: [[2, 3, 4], [1]] },
];

const CHOICES: readonly Case[] = [
  ...['Equal', 'Greater', 'GreaterOrEqual', 'Less', 'LessOrEqual'].map((op) =>
    deciding(op, [pair, pair]),
  ),
  ...['And', 'Or', 'Xor'].map((op): Case => ({
    op: 'Greater',
    inputs: [pair, pair],
    after: [
      node('Less', ['in0', 'in1'], 'second'),
      node(op, ['first', 'second'], 'both'),
      node('Where', ['both', 'in0', 'in1']),
    ],
  })),
  {
    op: 'Greater',
    inputs: [pair, pair],
    after: [node('Not', ['first'], 'no'), node('Where', ['no', 'in0', 'in1'])],
  },
  deciding('IsNaN', [pair, pair]),
  deciding('IsInf', [pair, pair]),
  {
    op: 'Where',
    inputs: [
      { constant: { name: 'c', type: 'bool', shape: [3, 1], data: [1, 0, 1] } },
      [3, 4],
      [4],
    ],
  },
  ...['Max', 'Min', 'Sum', 'Mean'].flatMap((op): Case[] => [
    { op, inputs: [[2, 3, 4], [4], [3, 1]] },
    { op, inputs: [pair] },
    { op, inputs: [pair, scalar('s', 0.1)] },
  ]),
  { op: 'Pow', inputs: [drawn([3, 5], 'positive'), [5]] },
  { op: 'Pow', inputs: [[3, 5], floats('p', [1], [3])] },
  { op: 'Mod', inputs: [[3, 5], scalar('m', 2.1)], attributes: { fmod: 1 } },
  { op: 'Cast', inputs: [[3, 5]], attributes: { to: 1 } },
  { op: 'Cast', inputs: [[3, 5]], attributes: { to: 10 } },
  {
    op: 'Cast',
    inputs: [{ indices: [1, 2, 0], shape: [3] }],
    attributes: { to: 1 },
    after: [node('Add', ['first', 'in1'])],
    more: [[3]],
  },
  { op: 'CastLike', inputs: [[3, 5], scalar('like', 1)] },
  { op: 'Dropout', inputs: [[3, 5]], attributes: { ratio: f(0) } },
];

const LAYOUTS: readonly Case[] = [
  {
    op: 'Concat',
    inputs: [
      [2, 3],
      [2, 1],
      [2, 4],
    ],
    attributes: { axis: 1 },
  },
  {
    op: 'Concat',
    inputs: [
      [2, 3, 2],
      [1, 3, 2],
    ],
    attributes: { axis: -3 },
  },
  {
    op: 'Concat',
    inputs: Array.from({ length: 8 }, (): readonly number[] => [2, 2]),
    attributes: { axis: -1 },
  },
  {
    op: 'Split',
    inputs: [[4, 6], int64s('s', [1, 2, 3])],
    attributes: { axis: 1 },
    outputs: 3,
    after: joined(3),
  },
  {
    op: 'Split',
    inputs: [[4, 6]],
    attributes: { axis: -1, split: [2, 4] },
    outputs: 2,
    after: joined(2),
  },
  { op: 'Split', inputs: [[5, 2]], outputs: 2, after: joined(2) },
  { op: 'Split', inputs: [[4, 2]], outputs: 2, after: [node('Relu', ['first_1'])] },
  { op: 'Slice', inputs: [[4, 6], int64s('a', [1]), int64s('b', [-1]), int64s('c', [1])] },
  { op: 'Slice', inputs: [[4, 6], int64s('a', [0, -3]), int64s('b', [2 ** 31, 2 ** 31])] },
  {
    op: 'Slice',
    inputs: [
      [5, 6],
      int64s('a', [0, 1]),
      int64s('b', [5, 6]),
      int64s('c', [0, 1]),
      int64s('d', [2, 3]),
    ],
  },
  {
    op: 'Slice',
    inputs: [
      [5, 3],
      int64s('a', [-1]),
      int64s('b', [-(2 ** 31)]),
      int64s('c', [0]),
      int64s('d', [-1]),
    ],
  },
  {
    op: 'Slice',
    inputs: [[6, 3], int64s('a', [4]), int64s('b', [0]), int64s('c', [0]), int64s('d', [-2])],
  },
  { op: 'Slice', inputs: [[4, 6]], attributes: { starts: [1], ends: [3], axes: [0] } },
  ...['constant', 'reflect', 'edge', 'wrap'].map((mode): Case => ({
    op: 'Pad',
    inputs: [[2, 3, 4], int64s('p', [0, 1, 2, 0, 2, 3])],
    attributes: { mode },
  })),
  { op: 'Pad', inputs: [[2, 5], int64s('p', [0, -1, 1, -2]), scalar('v', 3)] },
  { op: 'Pad', inputs: [[2, 3, 4], int64s('p', [1, 2]), null, int64s('axes', [-1])] },
  { op: 'Pad', inputs: [[2, 3]], attributes: { pads: [0, 1, 0, 1], value: f(2) } },
  { op: 'Expand', inputs: [[3, 1], int64s('s', [2, 1, 4])] },
  { op: 'Expand', inputs: [[2, 3, 4], int64s('s', [4])] },
  { op: 'Tile', inputs: [[2, 3], int64s('r', [2, 3])] },
  { op: 'DepthToSpace', inputs: [[2, 8, 2, 3]], attributes: { blocksize: 2 } },
  { op: 'DepthToSpace', inputs: [[2, 8, 2, 3]], attributes: { blocksize: 2, mode: 'CRD' } },
  { op: 'SpaceToDepth', inputs: [[2, 2, 4, 6]], attributes: { blocksize: 2 } },
  { op: 'Trilu', inputs: [[2, 3, 4]] },
  { op: 'Trilu', inputs: [[3, 4], longs('k', [], [-1])], attributes: { upper: 0 } },
];

const MADE: readonly Case[] = [
  {
    op: 'Relu',
    inputs: [[3, 2]],
    after: [
      node('Shape', ['first'], 'shape'),
      node('ConstantOfShape', ['shape'], 'twos', { value: f(2), value_type: 'float32' }),
      node('Mul', ['first', 'twos']),
    ],
  },
  {
    op: 'Range',
    inputs: [longs('a', [], [0]), longs('b', [], [3]), longs('c', [], [1])],
    after: [node('Gather', ['in3', 'first'], 'out', { axis: 0 })],
    more: [[4, 2]],
  },
];

const INDICES: readonly Case[] = [
  { op: 'Gather', inputs: [[3, 4, 2], longs('i', [], [-1])], attributes: { axis: 1 } },
  { op: 'Gather', inputs: [[3, 4], longs('i', [2], [0, 0])], attributes: { axis: -1 } },
  {
    op: 'Gather',
    inputs: [[3, 4, 2], { indices: [1, 3, 1, 0], shape: [2, 2] }],
    attributes: { axis: 1 },
  },
  {
    op: 'GatherElements',
    inputs: [[3, 4], { indices: [1, 3, 1, 0, 2, 2], shape: [3, 2] }],
    attributes: { axis: 1 },
  },
  { op: 'GatherND', inputs: [[3, 4, 2], longs('i', [2, 2], [1, 3, 1, 0])] },
  { op: 'ScatterND', inputs: [[4, 3], longs('i', [2, 1], [2, 0]), [2, 3]] },
  {
    op: 'ScatterND',
    inputs: [[4, 3], longs('i', [2, 1], [2, 2]), [2, 3]],
    attributes: { reduction: 'add' },
  },
  {
    op: 'ScatterElements',
    inputs: [[3, 4], longs('i', [1, 2], [2, 0]), [1, 2]],
    attributes: { axis: 1 },
  },
  { op: 'Scatter', inputs: [[3, 4], longs('i', [1, 2], [2, 0]), [1, 2]] },
  {
    op: 'TopK',
    inputs: [drawn([3, 6], 'distinct'), int64s('k', [2])],
    outputs: 2,
    after: [node('Relu', ['first'])],
  },
  {
    op: 'TopK',
    inputs: [drawn([4, 3], 'distinct')],
    attributes: { k: 2, axis: 0, largest: 0 },
    outputs: 2,
    after: [node('Neg', ['first'])],
  },
  { op: 'CumSum', inputs: [[3, 4], longs('axis', [], [1])] },
  {
    op: 'CumSum',
    inputs: [[3, 4], longs('axis', [], [-2])],
    attributes: { exclusive: 1, reverse: 1 },
  },
  {
    op: 'OneHot',
    inputs: [{ indices: [1, 0, 2], shape: [3] }, longs('d', [], [4]), floats('v', [2], [0, 1])],
    after: [node('Mul', ['first', 'in3'])],
    more: [[3, 4]],
  },
  {
    op: 'ArgMax',
    inputs: [drawn([3, 4], 'distinct')],
    attributes: { axis: 1 },
    after: [node('GatherElements', ['in0', 'first'], 'out', { axis: 1 })],
  },
  {
    op: 'ArgMin',
    inputs: [drawn([3, 4], 'distinct')],
    attributes: { axis: 0 },
    after: [node('GatherElements', ['in0', 'first'], 'out', { axis: 0 })],
  },
];

const REDUCTIONS: readonly Case[] = [
  ...[
    'ReduceL1',
    'ReduceL2',
    'ReduceLogSumExp',
    'ReduceMax',
    'ReduceMin',
    'ReduceProd',
    'ReduceSumSquare',
  ].flatMap((op): Case[] => [
    { op, inputs: [[2, 3, 4]], attributes: { axes: [1] }, tolerance: 3e-5 },
    { op, inputs: [drawn([2, 3], 'positive')], attributes: { keepdims: 0 }, tolerance: 3e-5 },
    {
      op,
      inputs: [drawn([2, 3, 2], 'positive'), int64s('axes', [0, -1])],
      attributes: { keepdims: 0 },
      tolerance: 3e-5,
    },
  ]),
  { op: 'ReduceLogSum', inputs: [drawn([2, 3], 'positive')], attributes: { axes: [-1] } },
  { op: 'ReduceProd', inputs: [drawn([3, 3], 'zeros')], attributes: { axes: [1] } },
  { op: 'ReduceSum', inputs: [[2, 3]], attributes: { noop_with_empty_axes: 1 } },
  { op: 'GlobalMaxPool', inputs: [drawn([2, 3, 3, 2], 'distinct')] },
  { op: 'Softmax', inputs: [[2, 3, 4]], attributes: { axis: 1 } },
  { op: 'LogSoftmax', inputs: [[2, 3, 4]], attributes: { axis: -2 } },
  { op: 'Softmax', inputs: [[2, 3, 4]], attributes: { axis: 1, flattens: 1 } },
];

const cubic: Attributes = { mode: 'cubic' };
const RESIZES: readonly Case[] = [
  {
    op: 'Upsample',
    inputs: [[1, 2, 3, 2], floats('s', [4], [1, 1, 2, 2])],
    attributes: { mode: 'nearest' },
  },
  {
    op: 'Upsample',
    inputs: [[1, 2, 3, 2]],
    attributes: { mode: 'linear', scales: { floats: [1, 1, 2, 3] } },
  },
  { op: 'Resize', inputs: [[1, 2, 3, 4], floats('s', [4], [1, 1, 2, 1])] },
  ...['half_pixel', 'asymmetric', 'align_corners', 'pytorch_half_pixel'].flatMap((mode): Case[] => [
    {
      op: 'Resize',
      inputs: [[1, 2, 3, 4], null, floats('s', [4], [1, 1, 2, 1.5])],
      attributes: { mode: 'linear', coordinate_transformation_mode: mode },
    },
    {
      op: 'Resize',
      inputs: [[1, 1, 5, 4], null, null, int64s('z', [1, 1, 3, 9])],
      attributes: { mode: 'linear', coordinate_transformation_mode: mode },
    },
    {
      op: 'Resize',
      inputs: [[1, 1, 4, 5], null, floats('s', [4], [1, 1, 2, 1.6])],
      attributes: { ...cubic, coordinate_transformation_mode: mode },
      tolerance: 3e-5,
    },
  ]),
  ...['round_prefer_floor', 'round_prefer_ceil', 'floor', 'ceil'].map((mode): Case => ({
    op: 'Resize',
    inputs: [[1, 2, 3, 4], null, floats('s', [4], [1, 1, 2, 0.5])],
    attributes: {
      mode: 'nearest',
      nearest_mode: mode,
      coordinate_transformation_mode: 'asymmetric',
    },
  })),
  {
    op: 'Resize',
    inputs: [[1, 1, 4, 4], null, floats('s', [4], [1, 1, 2, 2])],
    attributes: { ...cubic, exclude_outside: 1, cubic_coeff_a: f(-0.5) },
    tolerance: 3e-5,
  },
];

const WINDOWS: readonly Case[] = [
  { op: 'ConvTranspose', inputs: [[2, 3, 3, 4], [3, 2, 2, 3], [2]] },
  {
    op: 'ConvTranspose',
    inputs: [[1, 2, 3, 3], [2, 3, 3, 3], [3]],
    attributes: { strides: [2, 2], pads: [1, 1, 1, 1], output_padding: [1, 1] },
  },
  {
    op: 'ConvTranspose',
    inputs: [
      [1, 4, 3, 3],
      [4, 1, 2, 2],
    ],
    attributes: { strides: [2, 2], group: 2 },
  },
  {
    op: 'ConvTranspose',
    inputs: [
      [1, 2, 4],
      [2, 2, 3],
    ],
    attributes: { strides: [3], dilations: [2], auto_pad: 'SAME_UPPER' },
  },
  {
    op: 'ConvTranspose',
    inputs: [
      [1, 2, 3, 3],
      [2, 2, 3, 3],
    ],
    attributes: { strides: [2, 2], output_shape: [6, 7] },
  },
  {
    op: 'MaxPool',
    inputs: [drawn([1, 2, 5, 6], 'distinct')],
    attributes: { kernel_shape: [3, 3], strides: [2, 2], ceil_mode: 1 },
  },
  {
    op: 'AveragePool',
    inputs: [[1, 2, 5, 6]],
    attributes: { kernel_shape: [2, 3], strides: [2, 2], ceil_mode: 1 },
  },
  {
    op: 'AveragePool',
    inputs: [[1, 2, 5, 6]],
    attributes: {
      kernel_shape: [3, 3],
      strides: [2, 2],
      pads: [1, 1, 1, 1],
      ceil_mode: 1,
      count_include_pad: 1,
    },
  },
];

const NORMALISATIONS: readonly Case[] = [
  { op: 'InstanceNormalization', inputs: [[2, 3, 4, 2], [3], [3]], tolerance: 3e-5 },
  {
    op: 'GroupNormalization',
    inputs: [[2, 4, 3, 2], [4], [4]],
    attributes: { num_groups: 2 },
    tolerance: 3e-5,
  },
  {
    op: 'GroupNormalization',
    inputs: [[2, 4, 3, 2], [2], [2]],
    attributes: { num_groups: 2 },
    tolerance: 3e-5,
  },
  { op: 'LpNormalization', inputs: [[3, 5]] },
  { op: 'LpNormalization', inputs: [[3, 5]], attributes: { axis: 0, p: 1 } },
  {
    op: 'LRN',
    inputs: [[2, 5, 2, 2]],
    attributes: { size: 3, alpha: f(0.1), beta: f(0.5), bias: f(2) },
  },
  { op: 'LRN', inputs: [[1, 5, 2]], attributes: { size: 4 } },
  { op: 'MeanVarianceNormalization', inputs: [[2, 3, 4, 2]], tolerance: 3e-5 },
  { op: 'RMSNormalization', inputs: [[2, 3, 4], [4]] },
  { op: 'SimplifiedLayerNormalization', inputs: [[3, 6], [6]], attributes: { epsilon: f(1e-3) } },
];

const PRODUCTS: readonly Case[] = [
  { op: 'MatMul', inputs: [[5], [5, 4]] },
  { op: 'MatMul', inputs: [[2, 3, 5], [5]] },
  { op: 'MatMul', inputs: [[5], [5]] },
  {
    op: 'Einsum',
    inputs: [
      [3, 4],
      [4, 2],
    ],
    attributes: { equation: 'ij,jk->ik' },
  },
  {
    op: 'Einsum',
    inputs: [
      [2, 3, 4],
      [2, 5, 4],
    ],
    attributes: { equation: 'bqd,bkd->bqk' },
  },
  { op: 'Einsum', inputs: [[3, 4]], attributes: { equation: 'ij->j' } },
  { op: 'Einsum', inputs: [[3, 4], [4]], attributes: { equation: 'ij,j' } },
  {
    op: 'Einsum',
    inputs: [
      [2, 3, 4],
      [4, 5],
    ],
    attributes: { equation: '...i,ij->...j' },
  },
];

const weights = (gates: number, ways = 1): Case['inputs'] => [
  [4, 2, 3],
  [ways, gates * 2, 3],
  [ways, gates * 2, 2],
];
const RECURRENT: readonly Case[] = (
  [
    ['LSTM', 4, 3],
    ['GRU', 3, 2],
    ['RNN', 1, 2],
  ] as const
).flatMap(([op, gates, outputs]): Case[] => {
  const base = { op, outputs, after: joined(outputs), tolerance: 5e-5 };
  const small = (inputs: Case['inputs']): Case['inputs'] =>
    inputs.map((input) => (Array.isArray(input) ? drawn(input, 'small') : input));
  const size: Attributes = { hidden_size: 2 };
  return [
    { ...base, inputs: small(weights(gates)), attributes: size },
    {
      ...base,
      inputs: small([...weights(gates), [1, gates * 4]]),
      attributes: { ...size, direction: 'reverse' },
    },
    {
      ...base,
      inputs: small([...weights(gates, 2), [2, gates * 4]]),
      attributes: { ...size, direction: 'bidirectional' },
    },
    {
      ...base,
      inputs: small([
        ...weights(gates),
        [1, gates * 4],
        null,
        [1, 2, 2],
        ...(op === 'LSTM' ? [[1, 2, 2] as const, [1, 6] as const] : []),
      ]),
      attributes: size,
    },
    {
      ...base,
      inputs: small(weights(gates)),
      attributes: size,
      after: [node('Relu', ['first_1'])],
    },
  ];
});

const GATES: readonly Case[] = [
  {
    op: 'GRU',
    inputs: [
      [4, 2, 3],
      [1, 6, 3],
      [1, 6, 2],
      [1, 12],
    ].map((shape) => drawn(shape, 'small')),
    attributes: { hidden_size: 2, linear_before_reset: 1 },
    tolerance: 5e-5,
  },
  {
    op: 'LSTM',
    inputs: [
      [4, 2, 3],
      [1, 8, 3],
      [1, 8, 2],
    ].map((shape) => drawn(shape, 'small')),
    attributes: {
      hidden_size: 2,
      input_forget: 1,
      activations: { strings: ['HardSigmoid', 'Tanh', 'Relu'] },
    },
    tolerance: 5e-5,
  },
  {
    op: 'LSTM',
    inputs: [
      [4, 2, 3],
      [1, 8, 3],
      [1, 8, 2],
    ].map((shape) => drawn(shape, 'small')),
    attributes: { hidden_size: 2, clip: f(5) },
    tolerance: 5e-5,
  },
];

/** Every case of this file. */
export const MORE_CASES: readonly Case[] = [
  ...ACTIVATIONS,
  ...CHOICES,
  ...LAYOUTS,
  ...MADE,
  ...INDICES,
  ...REDUCTIONS,
  ...RESIZES,
  ...WINDOWS,
  ...NORMALISATIONS,
  ...PRODUCTS,
  ...RECURRENT,
  ...GATES,
];
