/**
 * Convolution and pooling over any number of spatial dimensions, `[batch, channels, ...spatial]`. ONNX has no operators
 * for their gradients: they are put together from convolutions, as Dumoulin and Visin, A guide to convolution
 * arithmetic for deep learning, 2016, derive them.
 */
import { invalidInput } from '../../../base/errors.ts';
import type { GraphBuilder, TensorShape } from './graph-builder.ts';
import { rowCount } from './ops-matrix.ts';
import { NodeReader, type ForwardNode, type OpRule } from './op-rule.ts';

/** How a window moves over the input; all lists have an entry for each spatial dimension. */
type Window = {
  readonly kernel: readonly number[];
  readonly strides: readonly number[];
  readonly dilations: readonly number[];
  readonly padsBegin: readonly number[];
  readonly padsEnd: readonly number[];
  readonly input: readonly number[];
  readonly output: readonly number[];
};

/** Numbers of a constant that the gradient of a pool is given: 64 MiB. Windows of 64 by 64, or images of 1,300 by 1,300. */
const MAX_PLACES = 2 ** 24;

const product = (sizes: readonly number[]): number =>
  sizes.reduce((size, length) => size * length, 1);

const padsOf = (window: Window): number[] => [...window.padsBegin, ...window.padsEnd];

/** Reads the window of a node. Spatial sizes have to be known: the gradient needs them to undo the padding. */
function windowOf(reader: NodeReader, shape: TensorShape, kernel: readonly number[]): Window {
  const spatial = shape.slice(2);
  const input = spatial.filter((size) => typeof size === 'number');
  const rank = kernel.length;
  if (rank === 0 || input.length !== rank || spatial.length !== rank)
    throw reader.unsupported(
      `its input is ${JSON.stringify(shape)}, whose spatial sizes are not all known`,
    );
  const ones = kernel.map(() => 1);
  const strides = reader.integers('strides') ?? ones;
  const dilations = reader.integers('dilations') ?? ones;
  for (const [name, sizes] of Object.entries({ kernel_shape: kernel, strides, dilations }))
    if (sizes.length !== rank || sizes.some((size) => !(size >= 1)))
      throw reader.invalid(name, sizes, `${rank} sizes of 1 or more`);
  const reach = kernel.map((size, i) => (size - 1) * (dilations[i] ?? 1) + 1);
  const autoPad = reader.text('auto_pad', 'NOTSET');
  const pads = reader.integers('pads') ?? kernel.flatMap(() => [0, 0]);
  if (pads.length !== 2 * rank) throw reader.invalid('pads', pads, `${2 * rank} sizes`);
  const padsBegin = pads.slice(0, rank);
  const padsEnd = pads.slice(rank);
  if (autoPad.startsWith('SAME')) {
    for (const [i, size] of input.entries()) {
      const stride = strides[i] ?? 1;
      const total = Math.max(0, (Math.ceil(size / stride) - 1) * stride + (reach[i] ?? 1) - size);
      const less = Math.floor(total / 2);
      padsBegin[i] = autoPad === 'SAME_UPPER' ? less : total - less;
      padsEnd[i] = total - (padsBegin[i] ?? 0);
    }
  }
  if ([...padsBegin, ...padsEnd].some((pad) => pad < 0))
    throw reader.unsupported('it pads by less than nothing');
  const output = input.map((size, i) => {
    const room = size + (padsBegin[i] ?? 0) + (padsEnd[i] ?? 0) - (reach[i] ?? 1);
    if (room < 0)
      throw invalidInput(
        'kernel',
        kernel,
        `at most as large as its input ${JSON.stringify(shape)}`,
      );
    return Math.floor(room / (strides[i] ?? 1)) + 1;
  });
  return { kernel, strides, dilations, padsBegin, padsEnd, input, output };
}

/**
 * The sum over all windows of the weighted outputs, back at the inputs: the transposed convolution.
 * `dy` [batch, M, ...output] and `w` [M, C / group, ...kernel] give [batch, C, ...input].
 */
function spread(
  g: GraphBuilder,
  [dy, w]: readonly [dy: string, w: string],
  window: Window,
  group: number,
  shape: TensorShape,
): string {
  // Inputs behind the last window, which a stride leaves over, get nothing.
  const outputPadding = window.input.map((size, i) => {
    const reach = ((window.kernel[i] ?? 1) - 1) * (window.dilations[i] ?? 1) + 1;
    const last = ((window.output[i] ?? 1) - 1) * (window.strides[i] ?? 1) + reach;
    return size + (window.padsBegin[i] ?? 0) + (window.padsEnd[i] ?? 0) - last;
  });
  return g.op('ConvTranspose', [dy, w], shape, {
    kernel_shape: window.kernel,
    strides: window.strides,
    dilations: window.dilations,
    pads: padsOf(window),
    output_padding: outputPadding,
    group,
  });
}

const conv: OpRule = ({ g }, node) => {
  const reader = new NodeReader(node);
  const [x, w, b] = [reader.input(0), reader.input(1), reader.optionalInput(2)];
  const group = reader.number('group', 1);
  const [batch = 1, channels] = g.shape(x);
  const [filters = 1, perGroup, ...kernelShape] = g.shape(w);
  const kernel = kernelShape.filter((size) => typeof size === 'number');
  const window = windowOf(reader, g.shape(x), kernel);
  if (typeof channels !== 'number' || typeof perGroup !== 'number' || perGroup * group !== channels)
    throw invalidInput(
      `Conv "${node.output}"`,
      [g.shape(x), g.shape(w)],
      'given an input of as many channels as its weight has',
    );
  g.op(
    'Conv',
    b === undefined ? [x, w] : [x, w, b],
    [batch, filters, ...window.output],
    {
      kernel_shape: kernel,
      strides: window.strides,
      dilations: window.dilations,
      pads: padsOf(window),
      group,
    },
    { output: node.output },
  );
  return (dy, [wantsX, wantsW, wantsB]) => [
    wantsX === true ? spread(g, [dy, w], window, group, g.shape(x)) : null,
    wantsW === true ? weightGradient(g, [x, dy, w], window, group) : null,
    b !== undefined && wantsB === true
      ? g.reduce('ReduceSum', dy, [0, ...kernel.map((_, i) => i + 2)], false)
      : null,
  ];
};

/**
 * dW[m, c, k] = sum over batch and positions o of dy[n, m, o] x[n, c, o stride + k dilation - pad]: a convolution in
 * which the batch replaces the channels, dy that of the weights, and stride and dilation change units.
 */
function weightGradient(
  g: GraphBuilder,
  [x, dy, w]: readonly [x: string, dy: string, w: string],
  window: Window,
  group: number,
): string {
  const [batch = 1, channels] = g.shape(x);
  const [filters = 1, perGroup = 1] = g.shape(w);
  const spatialAxes = window.kernel.map((_, i) => i + 2);
  let turned = g.transpose(x, [1, 0, ...spatialAxes]);
  if (group > 1) {
    // [group, C / group, batch, ...] to [C / group, group, batch, ...]: a group sees its own channels only.
    const split = g.reshape(turned, [group, perGroup, batch, ...window.input]);
    const swapped = g.transpose(split, [1, 0, 2, ...spatialAxes.map((axis) => axis + 1)]);
    const joined = typeof batch === 'number' ? batch * group : `${batch}*${group}`;
    turned = g.reshape(swapped, [perGroup, joined, ...window.input]);
  }
  const weights = g.transpose(dy, [1, 0, ...spatialAxes]);
  const found = window.input.map((size, i) => {
    const reach = ((window.output[i] ?? 1) - 1) * (window.strides[i] ?? 1) + 1;
    const room = size + (window.padsBegin[i] ?? 0) + (window.padsEnd[i] ?? 0) - reach;
    return Math.floor(room / (window.dilations[i] ?? 1)) + 1;
  });
  const summed = g.op(
    'Conv',
    [turned, weights],
    [group > 1 ? perGroup : (channels ?? 1), filters, ...found],
    {
      kernel_shape: window.output,
      strides: window.dilations,
      dilations: window.strides,
      pads: padsOf(window),
      group,
    },
  );
  // Where the stride leaves inputs over, there is room for more taps than the kernel has.
  const shape: TensorShape = [group > 1 ? perGroup : (channels ?? 1), filters, ...window.kernel];
  const cut = found.every((size, i) => size === window.kernel[i])
    ? summed
    : g.op(
        'Slice',
        [
          summed,
          g.integers(window.kernel.map(() => 0)),
          g.integers(window.kernel),
          g.integers(spatialAxes),
        ],
        shape,
      );
  return g.transpose(cut, [1, 0, ...spatialAxes]);
}

function poolWindow(reader: NodeReader, node: ForwardNode, shape: TensorShape): Window {
  const kernel = reader.integers('kernel_shape');
  if (kernel === undefined) throw invalidInput(`${node.op}.kernel_shape`, kernel, 'given');
  if (reader.number('ceil_mode', 0) !== 0) throw reader.unsupported('ceil_mode is set');
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
    return [g.reshape(spread(g, [chosen, units], window, 1, [joined, 1, ...input]), g.shape(x))];
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
  g.op(
    'AveragePool',
    [x],
    [batch, channels, ...window.output],
    {
      kernel_shape: window.kernel,
      strides: window.strides,
      pads: padsOf(window),
      count_include_pad: Number(countsPadding),
    },
    { output: node.output },
  );
  return (dy) => {
    const shares = g.floats(windowShares(window, countsPadding), [1, 1, ...window.output]);
    // All channels are treated alike: they join the batch.
    const joined = rowCount([batch, channels]);
    const flat = g.reshape(g.mul(dy, shares), [joined, 1, ...window.output]);
    const size = product(window.kernel);
    const ones = g.floats(new Float32Array(size).fill(1), [1, 1, ...window.kernel]);
    return [
      g.reshape(spread(g, [flat, ones], window, 1, [joined, 1, ...window.input]), g.shape(x)),
    ];
  };
};

/** One over the number of elements each window averages, `[...output]`. */
function windowShares(window: Window, countsPadding: boolean): Float32Array {
  const full = product(window.kernel);
  let shares = [1];
  for (const [i, positions] of window.output.entries()) {
    const along = Array.from({ length: positions }, (_, o) => {
      const from = o * (window.strides[i] ?? 1) - (window.padsBegin[i] ?? 0);
      const to = Math.min(from + (window.kernel[i] ?? 1), window.input[i] ?? 0);
      return to - Math.max(from, 0);
    });
    shares = shares.flatMap((share) => along.map((count) => share * count));
  }
  return Float32Array.from(shares, (count) => 1 / (countsPadding ? full : count));
}

/** The mean of each channel. */
const globalAveragePool: OpRule = ({ g }, { inputs: [x = ''], output }) => {
  const shape = g.shape(x);
  const pooled = shape.map((size, axis) => (axis < 2 ? size : 1));
  g.op('GlobalAveragePool', [x], pooled, {}, { output });
  return (dy) => [g.expandLike(g.div(dy, g.countRatio(x, output)), x)];
};

/** The rules of this file by operator. */
export const WINDOW_RULES: Readonly<Record<string, OpRule>> = {
  AveragePool: averagePool,
  Conv: conv,
  GlobalAveragePool: globalAveragePool,
  MaxPool: maxPool,
};
