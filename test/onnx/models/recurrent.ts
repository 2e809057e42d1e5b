/** Recurrent networks as `torch.onnx.export` of TorchScript writes them: sequences turned round, first states by sizes. */
import type { FileBuilder } from '../file-builder.ts';
import { tokens, type ModelCase } from '../model-case.ts';
import { gemm, sizeAt, torchFile } from './images.ts';
import { linear } from './transformers.ts';

const INTO = 5;
const HIDDEN = 4;
const WORDS = 9;
const GATES = { LSTM: 4, GRU: 3, RNN: 1 } as const;
type Kind = keyof typeof GATES;

/** Zeros of `[directions, batch, hidden]`, whose batch is read from the input. */
function firstState(
  f: FileBuilder,
  x: string,
  directions: number,
  how: 'ConstantOfShape' | 'Expand',
): string {
  const batch = f.op('Unsqueeze', [sizeAt(f, x, 1), f.constantInts([0])]);
  const shape = f.op('Concat', [f.constantInts([directions]), batch, f.constantInts([HIDDEN])], {
    axis: 0,
  });
  if (how === 'ConstantOfShape') return f.opWithTensor('ConstantOfShape', [shape], 0, 'float32');
  const zeros = f.floats(
    'onnx::Expand_zeros',
    Array<number>(directions * HIDDEN).fill(0),
    [directions, 1, HIDDEN],
    { isNode: true },
  );
  return f.op('Expand', [zeros, shape]);
}

type Layer = {
  readonly kind: Kind;
  readonly directions: 1 | 2;
  readonly how: 'ConstantOfShape' | 'Expand';
};

/** All steps and the last state of a layer that takes `[length, batch, into]`. */
function recurrent(
  f: FileBuilder,
  x: string,
  path: string,
  { kind, directions, how }: Layer,
): [all: string, last: string] {
  f.at(path);
  const rows = GATES[kind] * HIDDEN;
  const state = firstState(f, x, directions, how);
  const inputs = [
    x,
    f.weight(`onnx::${kind}_${path}_w`, [directions, rows, INTO], { scale: 0.5 }),
    f.weight(`onnx::${kind}_${path}_r`, [directions, rows, HIDDEN], { scale: 0.5 }),
    f.weight(`onnx::${kind}_${path}_b`, [directions, 2 * rows]),
    '',
    state,
    ...(kind === 'LSTM' ? [state] : []),
  ];
  const attributes = {
    hidden_size: HIDDEN,
    ...(directions === 2 ? { direction: 'bidirectional' } : {}),
    ...(kind === 'GRU' ? { linear_before_reset: 1 } : {}),
    ...(kind === 'RNN' ? { activations: { strings: ['Tanh'] } } : {}),
  };
  const [all = '', last = ''] = f.ops(
    kind,
    inputs,
    kind === 'LSTM' ? [null, null, null] : [null, null],
    attributes,
  );
  return [all, last];
}

const embedding = (f: FileBuilder): string => {
  f.at('embedding');
  const words = f.op('Gather', [
    f.weight('embedding.weight', [WORDS, INTO], { scale: 1 }),
    'input',
  ]);
  return f.op('Transpose', [words], { perm: [1, 0, 2] });
};

/** A tag for each word: both directions side by side, batch first. */
function tagger(): Uint8Array<ArrayBuffer> {
  const f = torchFile(13);
  f.input('input', ['batch', 'length'], 'int64');
  const [all] = recurrent(f, embedding(f), 'lstm', {
    kind: 'LSTM',
    directions: 2,
    how: 'ConstantOfShape',
  });
  const turned = f.op('Transpose', [all], { perm: [0, 2, 1, 3] });
  const joined = f.op('Reshape', [turned, f.constantInts([0, 0, -1])]);
  const batchFirst = f.op('Transpose', [joined], { perm: [1, 0, 2] });
  const tags = linear(f, batchFirst, 'hidden2tag', [3, 2 * HIDDEN]);
  f.output(f.at('').op('LogSoftmax', [tags], { axis: 2 }, 'output'), ['batch', 'length', 3]);
  return f.finish();
}

/** A class of a series: by the last step, or by the last state. */
const series = (kind: Kind, by: 'step' | 'state', opset: number): Uint8Array<ArrayBuffer> => {
  const f = torchFile(opset);
  f.input('input', ['batch', 7, INTO]);
  const turned = f.at(kind.toLowerCase()).op('Transpose', ['input'], { perm: [1, 0, 2] });
  const [all, state] = recurrent(f, turned, kind.toLowerCase(), {
    kind,
    directions: 1,
    how: 'Expand',
  });
  let last: string;
  if (by === 'step') {
    const steps = f.op('Squeeze', [all, f.constantInts([1])]);
    const batchFirst = f.op('Transpose', [steps], { perm: [1, 0, 2] });
    last = f.at('').op('Gather', [batchFirst, f.constantInts([-1], [])], { axis: 1 });
  } else last = f.at('').op('Squeeze', [state, f.constantInts([0])]);
  f.output(gemm(f, last, 'fc', [4, HIDDEN], 'output'), ['batch', 4]);
  return f.finish();
};

const SERIES = {
  feeds: { input: { type: 'float32', shape: [3, 7, INTO] } },
  loss: 'classes',
  targets: [3],
  classes: 4,
  learningRate: 0.03,
} as const;
const torchscript = (opset: number): string => `PyTorch, TorchScript, opset ${opset}`;

export const RECURRENT_MODELS: readonly ModelCase[] = [
  {
    name: 'LSTM tagger of two directions',
    exporter: torchscript(13),
    feeds: { input: tokens(6, WORDS) },
    loss: 'classes',
    targets: [3, 6],
    classes: 3,
    make: tagger,
  },
  {
    name: 'LSTM that takes the last step',
    exporter: torchscript(14),
    ...SERIES,
    make: () => series('LSTM', 'step', 14),
  },
  {
    name: 'GRU with linear_before_reset',
    exporter: torchscript(14),
    ...SERIES,
    make: () => series('GRU', 'state', 14),
  },
  { name: 'RNN', exporter: torchscript(13), ...SERIES, make: () => series('RNN', 'step', 13) },
];
