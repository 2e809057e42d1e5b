/**
 * Convolution and transposed convolution over any number of spatial dimensions, `[batch, channels, ...spatial]`. ONNX has no
 * operators for their gradients: they are put together from convolutions, as Dumoulin and Visin, A guide to convolution
 * arithmetic for deep learning, 2016, derive them.
 */
import { invalidInput } from '../../../../base/errors.ts';
import type { GraphBuilder, TensorShape } from '../graph/graph-builder.ts';
import { NodeReader, type OpRule } from '../graph/op-rule.ts';
import type { OpRules } from '../graph/tape.ts';
import { padsOf, transposedConv, windowOf, type Window } from './windows.ts';

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
    wantsX === true ? transposedConv(g, [dy, w], { window, group }, g.shape(x)) : null,
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

/** Sizes of a list attribute, or as many of one size. @throws {QuarkError} `invalid_input` for another number of them */
function sizesFor(
  reader: NodeReader,
  name: string,
  rank: number,
  fallback: number,
): readonly number[] {
  const sizes = reader.integers(name) ?? Array<number>(rank).fill(fallback);
  if (sizes.length !== rank) throw reader.invalid(name, sizes, `${rank} sizes`);
  return sizes;
}

/**
 * The window of the convolution that a transposed one turns around: from its output, which is the larger, back to its input.
 * Sizes and padding are those of ONNX's definition of ConvTranspose.
 */
function transposedWindow(
  reader: NodeReader,
  input: readonly number[],
  kernel: readonly number[],
): Window {
  const rank = kernel.length;
  const strides = sizesFor(reader, 'strides', rank, 1);
  const dilations = sizesFor(reader, 'dilations', rank, 1);
  const outputPadding = sizesFor(reader, 'output_padding', rank, 0);
  const asked = reader.integers('output_shape')?.slice(-rank);
  const autoPad = reader.text('auto_pad', 'NOTSET');
  const pads = reader.integers('pads') ?? kernel.flatMap(() => [0, 0]);
  if (pads.length !== 2 * rank) throw reader.invalid('pads', pads, `${2 * rank} sizes`);
  const padsBegin = pads.slice(0, rank);
  const padsEnd = pads.slice(rank);
  const full = input.map(
    (size, i) =>
      (strides[i] ?? 1) * (size - 1) +
      (outputPadding[i] ?? 0) +
      ((kernel[i] ?? 1) - 1) * (dilations[i] ?? 1) +
      1,
  );
  const isSame = autoPad.startsWith('SAME');
  const output = full.map((size, i) => {
    if (asked === undefined && !isSame) return size - (padsBegin[i] ?? 0) - (padsEnd[i] ?? 0);
    const wanted = asked?.[i] ?? (input[i] ?? 1) * (strides[i] ?? 1);
    const total = Math.max(0, size - wanted);
    const less = Math.floor(total / 2);
    padsBegin[i] = autoPad === 'SAME_UPPER' ? less : total - less;
    padsEnd[i] = total - (padsBegin[i] ?? 0);
    return wanted;
  });
  if (output.some((size) => size < 1))
    throw reader.invalid('pads', pads, 'less than what they take away');
  const roundedUp = kernel.map(() => 0);
  return {
    kernel,
    strides,
    dilations,
    padsBegin,
    padsEnd,
    roundedUp,
    input: output,
    output: input,
  };
}

const convTranspose: OpRule = ({ g }, node) => {
  const reader = new NodeReader(node);
  const [x, w, b] = [reader.input(0), reader.input(1), reader.optionalInput(2)];
  const group = reader.number('group', 1);
  const [batch = 1, , ...spatial] = g.shape(x);
  const [, perGroup, ...kernelShape] = g.shape(w);
  const input = spatial.filter((size) => typeof size === 'number');
  const kernel = kernelShape.filter((size) => typeof size === 'number');
  if (
    kernel.length === 0 ||
    input.length !== kernel.length ||
    input.length !== spatial.length ||
    typeof perGroup !== 'number'
  )
    throw reader.unsupported(
      `its input is ${JSON.stringify(g.shape(x))}, whose spatial sizes are not all known`,
    );
  const window = transposedWindow(reader, input, kernel);
  const made: TensorShape = [batch, perGroup * group, ...window.input];
  const plain = b === undefined ? node.output : g.fresh('ConvTranspose');
  transposedConv(g, [x, w], { window, group }, made, plain);
  if (b !== undefined)
    g.binary(
      'Add',
      plain,
      g.reshape(b, [1, perGroup * group, ...kernel.map(() => 1)]),
      node.output,
    );
  return (dy, [wantsX, wantsW, wantsB]) => [
    wantsX === true
      ? g.op('Conv', [dy, w], g.shape(x), {
          kernel_shape: kernel,
          strides: window.strides,
          dilations: window.dilations,
          pads: padsOf(window),
          group,
        })
      : null,
    wantsW === true ? weightGradient(g, [dy, x, w], window, group) : null,
    b !== undefined && wantsB === true
      ? g.reduce('ReduceSum', dy, [0, ...kernel.map((_, i) => i + 2)], false)
      : null,
  ];
};

/** The rules of this file by operator. */
export const CONVOLUTION_RULES: OpRules = { Conv: conv, ConvTranspose: convTranspose };
