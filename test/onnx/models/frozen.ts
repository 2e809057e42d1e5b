/** Networks that were exported for one sample, without `dynamic_axes`: the batch is a number in declarations, shapes and states. */
import type { ModelCase } from '../model-case.ts';
import { conv, gemm, pooledFlat, torchFile } from './images.ts';
import { linear } from './transformers.ts';

const CLASSES = 4;

export function frozenCnn(): Uint8Array<ArrayBuffer> {
  const f = torchFile(11);
  f.input('input', [1, 3, 8, 8]);
  const y = f.op('Relu', [conv(f, 'input', 'conv1', [6, 3, 3], { stride: 2 })]);
  f.at('');
  const flat = f.op('Reshape', [y, f.constantInts([1, -1])]);
  const both = f.op('Reshape', [flat, f.constantInts([1, 96])]);
  f.output(gemm(f, both, 'fc', [CLASSES, 96], 'output'), [1, CLASSES]);
  return f.finish();
}

/** Every size is a constant, also those that fold the batch into rows. */
export function frozenAttention(): Uint8Array<ArrayBuffer> {
  const f = torchFile(14);
  f.input('input', [1, 6, 8]);
  const split = (name: string, perm: readonly number[]): string => {
    const made = linear(f, 'input', name, [8, 8]);
    return f.op('Transpose', [f.op('Reshape', [made, f.constantInts([1, 6, 2, 4])])], { perm });
  };
  const [q, k, v] = [split('q', [0, 2, 1, 3]), split('k', [0, 2, 3, 1]), split('v', [0, 2, 1, 3])];
  f.at('');
  const p = f.op('Softmax', [f.op('MatMul', [q, k])], { axis: -1 });
  const turned = f.op('Transpose', [f.op('MatMul', [p, v])], { perm: [0, 2, 1, 3] });
  const rows = f.op('Reshape', [turned, f.constantInts([6, 8])]);
  const wide = f.op('Relu', [gemm(f, rows, 'mlp', [8, 8])]);
  const back = f.at('').op('Reshape', [wide, f.constantInts([1, 6, 8])]);
  const mean = f.op('ReduceMean', [back], { axes: [1], keepdims: 0 });
  f.output(gemm(f, mean, 'fc', [CLASSES, 8], 'output'), [1, CLASSES]);
  return f.finish();
}

/** First states are zeros for one sample. */
export function frozenLstm(): Uint8Array<ArrayBuffer> {
  const f = torchFile(14);
  f.input('input', [1, 5, 4]);
  const turned = f.at('lstm').op('Transpose', ['input'], { perm: [1, 0, 2] });
  const zeros = f.floats('onnx::LSTM_zeros', [0, 0, 0], [1, 1, 3], { isNode: true });
  const inputs = [
    turned,
    f.weight('onnx::LSTM_w', [1, 12, 4], { scale: 0.5 }),
    f.weight('onnx::LSTM_r', [1, 12, 3], { scale: 0.5 }),
    f.weight('onnx::LSTM_b', [1, 24]),
    '',
    zeros,
    zeros,
  ];
  const [all = ''] = f.ops('LSTM', inputs, [null, null, null], { hidden_size: 3 });
  const steps = f.op('Reshape', [all, f.constantInts([5, 1, 3])]);
  const last = f.at('').op('Gather', [steps, f.constantInts([-1], [])], { axis: 0 });
  f.output(gemm(f, last, 'fc', [CLASSES, 3], 'output'), [1, CLASSES]);
  return f.finish();
}

/** Nothing but the declarations holds the batch. */
function declaredBatch(): Uint8Array<ArrayBuffer> {
  const f = torchFile(13);
  f.input('input', [1, 3, 8, 8]);
  const y = f.op('Relu', [conv(f, 'input', 'conv1', [6, 3, 3], { stride: 2 })]);
  f.output(gemm(f, pooledFlat(f, y, 'mean'), 'fc', [CLASSES, 6], 'output'), [1, CLASSES]);
  return f.finish();
}

const frozen = (
  name: string,
  opset: number,
  shape: readonly number[],
  make: ModelCase['make'],
): ModelCase => ({
  name,
  exporter: `PyTorch, TorchScript, opset ${opset}`,
  feeds: { input: { type: 'float32', shape } },
  loss: 'classes',
  targets: shape.slice(0, 1),
  classes: CLASSES,
  learningRate: 0.03,
  isFreed: shape[0] !== 1,
  make,
});

export const FROZEN: readonly ModelCase[] = [
  frozen('CNN for one sample, as it is', 13, [1, 3, 8, 8], declaredBatch),
  frozen('CNN for one sample, freed', 13, [3, 3, 8, 8], declaredBatch),
  frozen('CNN with Reshape for one sample, freed', 11, [3, 3, 8, 8], frozenCnn),
  frozen('attention for one sample, freed', 14, [3, 6, 8], frozenAttention),
  frozen('LSTM for one sample, freed', 14, [3, 5, 4], frozenLstm),
];
