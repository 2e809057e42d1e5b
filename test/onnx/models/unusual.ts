/** What files have that is rare: short floats, weights made of others, several outputs, frozen sizes, and what cannot be trained. */
import type { FileBuilder, WeightOptions } from '../file-builder.ts';
import type { ModelCase } from '../model-case.ts';
import { gemm, sizeAt, torchFile, view } from './images.ts';

const INTO = 6;
const CLASSES = 4;
const FLOAT = 1;
const FLOAT16 = 10;

const ROWS = {
  feeds: { input: { type: 'float32', shape: [5, INTO] } },
  loss: 'classes',
  targets: [5],
  classes: CLASSES,
} as const;

const open = (opset: number): FileBuilder => {
  const f = torchFile(opset);
  f.input('input', ['batch', INTO]);
  return f;
};
const closed = (f: FileBuilder): Uint8Array<ArrayBuffer> => {
  f.output('output', ['batch', CLASSES]);
  return f.finish();
};

/** Weights in fewer bits, which the file casts before it computes. */
function castWeights(type: 'float16' | 'bfloat16'): Uint8Array<ArrayBuffer> {
  const f = open(13);
  const cast = (name: string, shape: readonly number[]): string =>
    f.op('Cast', [f.weight(name, shape, { type })], { to: FLOAT });
  const product = f.at('fc1').op('MatMul', ['input', cast('fc1.weight', [INTO, 8])]);
  const hidden = f.op('Tanh', [f.op('Add', [product, cast('fc1.bias', [8])])]);
  const last = f.at('fc2').op('MatMul', [hidden, cast('fc2.weight', [8, CLASSES])]);
  f.op('Add', [last, cast('fc2.bias', [CLASSES])], {}, 'output');
  return closed(f);
}

/** A file that computes in float16, and casts what comes in and goes out. */
function halves(): Uint8Array<ArrayBuffer> {
  const f = open(13);
  const half: WeightOptions = { type: 'float16' };
  const x = f.op('Cast', ['input'], { to: FLOAT16 });
  f.at('fc1');
  const hidden = f.op('Relu', [
    f.op('Gemm', [x, f.weight('fc1.weight', [8, INTO], half), f.weight('fc1.bias', [8], half)], {
      transB: 1,
    }),
  ]);
  const last = f.op(
    'Gemm',
    [hidden, f.weight('fc2.weight', [CLASSES, 8], half), f.weight('fc2.bias', [CLASSES], half)],
    { transB: 1 },
  );
  f.op('Cast', [last], { to: FLOAT }, 'output');
  return closed(f);
}

function constantNodes(): Uint8Array<ArrayBuffer> {
  const f = open(11);
  const isNode = true;
  f.at('fc1');
  const hidden = f.op('Sigmoid', [
    f.op(
      'Gemm',
      [
        'input',
        f.weight('fc1.weight', [8, INTO], { isNode }),
        f.weight('fc1.bias', [8], { isNode }),
      ],
      { transB: 1 },
    ),
  ]);
  f.op(
    'Gemm',
    [
      hidden,
      f.weight('fc2.weight', [CLASSES, 8], { isNode }),
      f.weight('fc2.bias', [CLASSES], { isNode }),
    ],
    { transB: 1 },
    'output',
  );
  return closed(f);
}

/** Gates as PyTorch keeps them, cut, joined and turned round before they are used. */
function composed(): Uint8Array<ArrayBuffer> {
  const f = open(13);
  const all = f.weight('weight_ih', [12, INTO], { scale: 0.5 });
  const cut = (from: number, to: number): string =>
    f.op('Slice', [all, f.constantInts([from]), f.constantInts([to]), f.constantInts([0])]);
  const order = f.op('Concat', [cut(8, 12), cut(0, 4)], { axis: 0 });
  const matrix = f.op('Transpose', [order], { perm: [1, 0] });
  const both = [f.weight('bias_ih', [8]), f.weight('bias_hh', [8])];
  const hidden = f.op('Tanh', [
    f.op('Add', [f.op('MatMul', ['input', matrix]), f.op('Add', both)]),
  ]);
  gemm(f, hidden, 'fc', [CLASSES, 8], 'output');
  return closed(f);
}

/** `exp(x - max) / sum(exp(x - max))`. */
function writtenSoftmax(): Uint8Array<ArrayBuffer> {
  const f = open(13);
  const hidden = f.op('Softplus', [gemm(f, 'input', 'fc1', [8, INTO])]);
  const logits = gemm(f, hidden, 'fc2', [CLASSES, 8]);
  f.at('');
  const power = f.op('Exp', [
    f.op('Sub', [logits, f.op('ReduceMax', [logits], { axes: [-1], keepdims: 1 })]),
  ]);
  const sum = f.op('ReduceSum', [power, f.constantInts([-1])], { keepdims: 1 });
  f.op('Div', [power, sum], {}, 'output');
  return closed(f);
}

/** A class and a value; the second is trained. */
function twoOutputs(): Uint8Array<ArrayBuffer> {
  const f = open(13);
  const hidden = f.op('Relu', [gemm(f, 'input', 'fc1', [8, INTO])]);
  gemm(f, hidden, 'policy', [CLASSES, 8], 'output');
  gemm(f, hidden, 'value', [1, 8], 'value');
  f.output('output', ['batch', CLASSES]);
  f.output('value', ['batch', 1]);
  return f.finish();
}

/** `[length, batch, into]`, as PyTorch's transformers take it unless told otherwise. */
function secondAxis(): Uint8Array<ArrayBuffer> {
  const f = torchFile(14);
  f.input('src', [4, 'batch', INTO]);
  f.at('self_attn');
  const folded = view(f, 'src', [-1, INTO]);
  const y = f.op('Relu', [gemm(f, folded, 'linear1', [8, INTO])]);
  f.at('');
  const back = view(f, y, [4, sizeAt(f, 'src', 1), 8]);
  const mean = f.op('ReduceMean', [back], { axes: [0], keepdims: 0 });
  gemm(f, mean, 'fc', [CLASSES, 8], 'output');
  return closed(f);
}

/** Quantised after training: weights are bytes with a scale. */
function quantised(): Uint8Array<ArrayBuffer> {
  const f = open(13);
  const scale = f.floats('scale', [0.02], []);
  const zero = f.raw('zero', 'int8', Uint8Array.of(0), []);
  const bytes = Uint8Array.from({ length: INTO * CLASSES }, (_, i) => (i * 37) % 256);
  const weight = f.raw('fc.weight_quantized', 'int8', bytes, [CLASSES, INTO]);
  const x = f.op('DequantizeLinear', [f.op('QuantizeLinear', ['input', scale, zero]), scale, zero]);
  const matrix = f.op('DequantizeLinear', [weight, scale, zero]);
  f.op('Gemm', [x, matrix, f.weight('fc.bias', [CLASSES])], { transB: 1 }, 'output');
  return closed(f);
}

/** A loop that a script wrote: the same layer three times. */
function looped(): Uint8Array<ArrayBuffer> {
  const f = open(13);
  const body = torchFile(13);
  body.input('i', [], 'int64');
  body.input('go', [], 'bool');
  body.input('h', ['batch', INTO]);
  body.op('Identity', ['go'], {}, 'go_out');
  body.op('Tanh', [body.op('MatMul', ['h', 'w'])], {}, 'h_out');
  body.output('go_out', [], 'bool');
  body.output('h_out', ['batch', INTO]);
  f.weight('w', [INTO, INTO]);
  const count = f.ints('count', [3], []);
  const go = f.bools('go_in', [1], []);
  const [last = ''] = f.ops('Loop', [count, go, 'input'], [null], { body: body.body() });
  gemm(f, last, 'fc', [CLASSES, INTO], 'output');
  return closed(f);
}

/** A branch for training and one for inference, as scripts write it. */
function branched(): Uint8Array<ArrayBuffer> {
  const f = open(13);
  const branch = (op: string): ReturnType<FileBuilder['body']> => {
    const b = torchFile(13);
    b.op(op, ['hidden'], {}, `${op}_out`);
    b.output(`${op}_out`, ['batch', 8]);
    return b.body();
  };
  const hidden = gemm(f, 'input', 'fc1', [8, INTO], 'hidden');
  const total = f.at('').op('ReduceSum', [hidden], { keepdims: 0 });
  const isPositive = f.op('Greater', [total, f.constantFloat(0)]);
  const [chosen = ''] = f.ops('If', [isPositive], [null], {
    then_branch: branch('Relu'),
    else_branch: branch('Tanh'),
  });
  gemm(f, chosen, 'fc2', [CLASSES, 8], 'output');
  return closed(f);
}

/** Operator set 6, of which onnxruntime-web still runs some operators. */
function old(): Uint8Array<ArrayBuffer> {
  const f = open(6);
  const hidden = f.op('Tanh', [f.op('MatMul', ['input', f.weight('fc1.weight', [INTO, 8])])]);
  f.op('MatMul', [hidden, f.weight('fc2.weight', [8, CLASSES])], {}, 'output');
  return closed(f);
}

export const UNUSUAL: readonly ModelCase[] = [
  {
    name: 'MLP with float16 weights that are cast',
    exporter: 'onnxconverter-common',
    ...ROWS,
    exportTolerance: 5e-3,
    make: () => castWeights('float16'),
  },
  {
    name: 'MLP that computes in float16',
    exporter: 'onnxconverter-common',
    ...ROWS,
    exportTolerance: 1e-2,
    notObserved: /float16/,
    make: halves,
  },
  {
    name: 'MLP with bfloat16 weights that are cast',
    exporter: 'PyTorch, TorchScript, opset 13',
    ...ROWS,
    exportTolerance: 3e-2,
    notObserved: /bfloat16/,
    make: () => castWeights('bfloat16'),
  },
  {
    name: 'MLP with weights in Constant nodes',
    exporter: 'PyTorch, TorchScript, opset 11',
    ...ROWS,
    make: constantNodes,
  },
  {
    name: 'MLP with weights cut and joined',
    exporter: 'PyTorch, TorchScript, opset 13',
    ...ROWS,
    make: composed,
  },
  {
    name: 'MLP with a softmax that is written out',
    exporter: 'PyTorch, TorchScript, opset 13',
    ...ROWS,
    logits: '/fc2/Gemm_output_0',
    make: writtenSoftmax,
  },
  {
    name: 'two outputs, of which the second is trained',
    exporter: 'PyTorch, TorchScript, opset 13',
    feeds: ROWS.feeds,
    loss: 'squares',
    targets: [5, 1],
    output: 'value',
    make: twoOutputs,
  },
  {
    name: 'batch as the second axis',
    exporter: 'PyTorch, TorchScript, opset 14',
    feeds: { src: { type: 'float32', shape: [4, 5, INTO] } },
    loss: 'classes',
    targets: [5],
    classes: CLASSES,
    make: secondAxis,
  },
  {
    name: 'quantised MLP',
    exporter: 'onnxruntime.quantization',
    ...ROWS,
    make: quantised,
    refused: { code: 'unsupported', message: /QuantizeLinear .*before it was quantised/s },
  },
  {
    name: 'Loop',
    exporter: 'PyTorch, TorchScript, opset 13',
    ...ROWS,
    make: looped,
    notObserved: /own graph/,
    refused: { code: 'unsupported', message: /Loop .*tracing/s },
  },
  {
    name: 'If',
    exporter: 'PyTorch, TorchScript, opset 13',
    ...ROWS,
    make: branched,
    notObserved: /own graph/,
    refused: { code: 'unsupported', message: /If .*tracing/s },
  },
  {
    name: 'operator set 6',
    exporter: 'PyTorch, opset 6',
    ...ROWS,
    make: old,
    refused: { code: 'unsupported', message: /operator set 6.*convert/s },
  },
];
