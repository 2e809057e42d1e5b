/** Pools over any number of spatial dimensions, `[batch, channels, ...spatial]`. */
import { invalidInput } from '../../../../base/errors.ts';
import type { TensorShape } from '../graph/graph-builder.ts';
import { NodeReader, type ForwardNode, type OpRule } from '../graph/op-rule.ts';
import type { OpRules } from '../graph/tape.ts';
import { rowCount } from './shapes.ts';
import { padsOf, product, transposedConv, windowOf, type Window } from './windows.ts';

/** Numbers of a constant that the gradient of a pool is given: 64 MiB. Windows of 64 by 64, or images of 1,300 by 1,300. */
const MAX_PLACES = 2 ** 24;

function poolWindow(reader: NodeReader, node: ForwardNode, shape: TensorShape): Window {
  const kernel = reader.integers('kernel_shape');
  if (kernel === undefined) throw invalidInput(`${node.op}.kernel_shape`, kernel, 'given');
  const window = windowOf(reader, shape, kernel);
  if (Math.max(product(kernel) ** 2, product([...kernel, ...window.output])) > MAX_PLACES)
    throw reader.unsupported('its windows are too large or too many');
  return window;
}

/**
 * The largest of each window; the gradient goes to its first occurrence. WebGPU does not give the positions, so they are
 * found once more: a convolution with kernels that are 1 at one element lays the elements of each window side by side.
 */
const maxPool: OpRule = ({ g }, node) => {
  const reader = new NodeReader(node);
  const x = reader.input(0);
  const [batch = 1, channels = 1] = g.shape(x);
  const window = poolWindow(reader, node, g.shape(x));
  const { kernel, strides, dilations, input, output } = window;
  const placing = { kernel_shape: kernel, strides, dilations, pads: padsOf(window) };
  g.op('MaxPool', [x], [batch, channels, ...output], placing, { output: node.output });
  return (dy) => {
    const joined = rowCount([batch, channels]);
    const count = product(kernel);
    const units = g.floats(unitMatrix(count), [count, 1, ...kernel]);
    const flat = g.reshape(x, [joined, 1, ...input]);
    const beside = g.op('Conv', [flat, units], [joined, count, ...output], placing);
    const outside = windowOutside(window);
    // Padding is never the largest.
    const seen = outside.some((value) => value !== 0)
      ? g.add(beside, g.floats(outside, [1, count, ...output]))
      : beside;
    const first = g.op('ArgMax', [seen], [joined, 1, ...output], { axis: 1 }, { type: 'int64' });
    const numbers = g.floats(
      Float32Array.from({ length: count }, (_, index) => index),
      [1, count, ...kernel.map(() => 1)],
    );
    const shape: TensorShape = [joined, count, ...output];
    const isFirst = g.op('Equal', [g.toFloat(first), numbers], shape, {}, { type: 'bool' });
    const chosen = g.mul(g.toFloat(isFirst), g.reshape(dy, [joined, 1, ...output]));
    return [
      g.reshape(
        transposedConv(g, [chosen, units], { window, group: 1 }, [joined, 1, ...input]),
        g.shape(x),
      ),
    ];
  };
};

/** A kernel for each element of a window: 1 there, 0 elsewhere. */
function unitMatrix(count: number): Float32Array {
  return Float32Array.from({ length: count * count }, (_, i) => (i % (count + 1) === 0 ? 1 : 0));
}

/** `[...kernel, ...output]`: 0 where an element of a window lies in the input, far below any number where it is padding. */
function windowOutside(window: Window): Float32Array {
  const axes = window.kernel.map((size, i) =>
    Array.from({ length: size }, (_, index) =>
      Array.from({ length: window.output[i] ?? 0 }, (__, position) => {
        const begin = position * (window.strides[i] ?? 1) - (window.padsBegin[i] ?? 0);
        const at = begin + index * (window.dilations[i] ?? 1);
        return at >= 0 && at < (window.input[i] ?? 0);
      }),
    ),
  );
  let units: boolean[][] = [[true]];
  for (const axis of axes)
    units = units.flatMap((before) =>
      axis.map((inside) => before.flatMap((isIn) => inside.map((alsoIn) => isIn && alsoIn))),
    );
  return Float32Array.from(units.flat(), (isInside) => (isInside ? 0 : FAR_BELOW));
}

/** Below any number that training meets, and far enough from the end of float32 to add to one. */
const FAR_BELOW = -1e38;

/** The mean of each window; padding counts only if asked to. */
const averagePool: OpRule = ({ g }, node) => {
  const reader = new NodeReader(node);
  const x = reader.input(0);
  const [batch = 1, channels = 1] = g.shape(x);
  const window = poolWindow(reader, node, g.shape(x));
  if (window.dilations.some((size) => size !== 1))
    throw reader.unsupported('its window is dilated');
  const countsPadding = reader.number('count_include_pad', 0) !== 0;
  const attributes = {
    kernel_shape: window.kernel,
    strides: window.strides,
    pads: padsOf(window),
    count_include_pad: Number(countsPadding),
  };
  const shape: TensorShape = [batch, channels, ...window.output];
  // Padding that only rounds the output up counts never: ONNX from operator set 19 on, and PyTorch.
  const isCorrected = countsPadding && window.roundedUp.some((size) => size > 0);
  const pooled = g.op('AveragePool', [x], shape, attributes, {
    output: isCorrected ? undefined : node.output,
  });
  if (isCorrected) {
    const factors = windowShares(window, true).map((share) => share * product(window.kernel));
    g.binary('Mul', pooled, g.floats(factors, [1, 1, ...window.output]), node.output);
  }
  return (dy) => {
    const shares = g.floats(windowShares(window, countsPadding), [1, 1, ...window.output]);
    // All channels are treated alike: they join the batch.
    const joined = rowCount([batch, channels]);
    const flat = g.reshape(g.mul(dy, shares), [joined, 1, ...window.output]);
    const size = product(window.kernel);
    const ones = g.floats(new Float32Array(size).fill(1), [1, 1, ...window.kernel]);
    return [
      g.reshape(
        transposedConv(g, [flat, ones], { window, group: 1 }, [joined, 1, ...window.input]),
        g.shape(x),
      ),
    ];
  };
};

/** One over the number of elements each window averages, `[...output]`. */
function windowShares(window: Window, countsPadding: boolean): Float32Array {
  let counts = [1];
  for (const [i, positions] of window.output.entries()) {
    const begin = window.padsBegin[i] ?? 0;
    const end = (window.padsEnd[i] ?? 0) - (window.roundedUp[i] ?? 0);
    const [first, last] = countsPadding ? [-begin, end] : [0, 0];
    const along = Array.from({ length: positions }, (_, o) => {
      const from = o * (window.strides[i] ?? 1) - begin;
      const to = Math.min(from + (window.kernel[i] ?? 1), (window.input[i] ?? 0) + last);
      return to - Math.max(from, first);
    });
    counts = counts.flatMap((count) => along.map((more) => count * more));
  }
  return Float32Array.from(counts, (count) => 1 / count);
}

/** The rules of this file by operator. */
export const POOL_RULES: OpRules = { AveragePool: averagePool, MaxPool: maxPool };
