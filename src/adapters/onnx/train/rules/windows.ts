/** How windows move over the input of convolutions and pools, `[batch, channels, ...spatial]`. */
import { invalidInput } from '../../../../base/errors.ts';
import type { GraphBuilder, TensorShape } from '../graph/graph-builder.ts';
import type { NodeReader } from '../graph/op-rule.ts';

/** How a window moves over the input; all lists have an entry for each spatial dimension. */
export type Window = {
  readonly kernel: readonly number[];
  readonly strides: readonly number[];
  readonly dilations: readonly number[];
  readonly padsBegin: readonly number[];
  readonly padsEnd: readonly number[];
  /** How much of `padsEnd` only rounds the output up (`ceil_mode`). */
  readonly roundedUp: readonly number[];
  readonly input: readonly number[];
  readonly output: readonly number[];
};

export const product = (sizes: readonly number[]): number =>
  sizes.reduce((size, length) => size * length, 1);

export const padsOf = (window: Window): number[] => [...window.padsBegin, ...window.padsEnd];

/** Reads the window of a node. Spatial sizes have to be known: the gradient needs them to undo the padding. */
export function windowOf(
  reader: NodeReader,
  shape: TensorShape,
  kernel: readonly number[],
): Window {
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
  const roundedUp = kernel.map(() => 0);
  const isCeiled = reader.number('ceil_mode', 0) !== 0;
  const output = input.map((size, i) => {
    const [stride, begin] = [strides[i] ?? 1, padsBegin[i] ?? 0];
    const room = size + begin + (padsEnd[i] ?? 0) - (reach[i] ?? 1);
    if (room < 0)
      throw invalidInput(
        'kernel',
        kernel,
        `at most as large as its input ${JSON.stringify(shape)}`,
      );
    if (!isCeiled) return Math.floor(room / stride) + 1;
    // A window that would begin in the padding behind the input is left out; one that begins before has more padding.
    const many = Math.ceil(room / stride) + 1;
    const count = (many - 1) * stride >= size + begin ? many - 1 : many;
    const end = padsEnd[i] ?? 0;
    roundedUp[i] = Math.max(0, (count - 1) * stride + (reach[i] ?? 1) - size - begin - end);
    padsEnd[i] = end + (roundedUp[i] ?? 0);
    return count;
  });
  return { kernel, strides, dilations, padsBegin, padsEnd, roundedUp, input, output };
}

/**
 * The sum over all windows of the weighted outputs, back at the inputs: the transposed convolution.
 * `dy` [batch, M, ...output] and `w` [M, C / group, ...kernel] give [batch, C, ...input].
 */
export function transposedConv(
  g: GraphBuilder,
  [dy, w]: readonly [dy: string, w: string],
  { window, group }: { readonly window: Window; readonly group: number },
  shape: TensorShape,
  output?: string,
): string {
  // Inputs behind the last window, which a stride leaves over, get nothing.
  const outputPadding = window.input.map((size, i) => {
    const reach = ((window.kernel[i] ?? 1) - 1) * (window.dilations[i] ?? 1) + 1;
    const last = ((window.output[i] ?? 1) - 1) * (window.strides[i] ?? 1) + reach;
    return size + (window.padsBegin[i] ?? 0) + (window.padsEnd[i] ?? 0) - last;
  });
  return g.op(
    'ConvTranspose',
    [dy, w],
    shape,
    {
      kernel_shape: window.kernel,
      strides: window.strides,
      dilations: window.dilations,
      pads: padsOf(window),
      output_padding: outputPadding,
      group,
    },
    { output },
  );
}
