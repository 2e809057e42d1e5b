/** The cells of recurrent layers at one position, as ONNX defines them. */
import type { GraphBuilder } from '../graph/graph-builder.ts';
import type { NodeReader } from '../graph/op-rule.ts';
import type { Tape } from '../graph/tape.ts';
import type { Attributes } from '../../file/onnx-writer.ts';

/** An activation with its numbers. */
type CellActivation = { readonly op: string; readonly attributes: Attributes };

/** What a file says of a cell. */
export type CellSettings = {
  readonly activations: readonly CellActivation[];
  readonly hidden: number;
  /** Bound of what goes into the activations; undefined for none. */
  readonly clip: number | undefined;
  /** GRU: the reset gate comes after the recurrence. */
  readonly isResetLast: boolean;
  /** LSTM: the forget gate is what the input gate leaves. */
  readonly isCoupled: boolean;
};

/** What goes into a cell: values of its graph. */
export type CellInputs = {
  /** `[batch, gates x hidden]` */
  readonly inputs: string;
  readonly hidden: string;
  readonly cell: string;
  readonly recurrence: string;
  readonly bias: string;
  readonly peepholes: string;
};

/** A kind of cell. */
export type CellKind = {
  readonly gates: number;
  readonly hasCell: boolean;
  /** Whether the cell adds the bias of the recurrence itself. */
  readonly addsRecurrentBias: (reader: NodeReader) => boolean;
  readonly settings: (reader: NodeReader, direction: number, hidden: number) => CellSettings;
  readonly step: (
    tape: Tape,
    g: GraphBuilder,
    values: CellInputs,
    settings: CellSettings,
  ) => { readonly hidden: string; readonly cell: string };
};

/** Names and default numbers of the activations that cells may have, by their lower-case name. */
const ACTIVATIONS: Readonly<Record<string, { op: string; alpha?: number; beta?: number }>> = {
  affine: { op: 'Affine', alpha: 1, beta: 0 },
  elu: { op: 'Elu', alpha: 1 },
  hardsigmoid: { op: 'HardSigmoid', alpha: 0.2, beta: 0.5 },
  leakyrelu: { op: 'LeakyRelu', alpha: 0.01 },
  relu: { op: 'Relu' },
  sigmoid: { op: 'Sigmoid' },
  softplus: { op: 'Softplus' },
  softsign: { op: 'Softsign' },
  tanh: { op: 'Tanh' },
  thresholdedrelu: { op: 'ThresholdedRelu', alpha: 1 },
};

function settingsOf(defaults: readonly string[]): CellKind['settings'] {
  return (reader, direction, hidden) => {
    const count = defaults.length;
    const names =
      reader.texts('activations')?.slice(direction * count, (direction + 1) * count) ?? defaults;
    const [alphas, betas] = [
      [...(reader.floats('activation_alpha') ?? [])],
      [...(reader.floats('activation_beta') ?? [])],
    ];
    const activations = names.map((name): CellActivation => {
      const key = name.toLowerCase();
      const known = Object.hasOwn(ACTIVATIONS, key) ? ACTIVATIONS[key] : undefined;
      if (known === undefined || known.op === 'Affine')
        throw reader.unsupported(`its activation is "${name}"`);
      const attributes: Record<string, { float: number }> = {};
      if (known.alpha !== undefined) attributes['alpha'] = { float: alphas.shift() ?? known.alpha };
      if (known.beta !== undefined) attributes['beta'] = { float: betas.shift() ?? known.beta };
      return { op: known.op, attributes };
    });
    if (activations.length !== count)
      throw reader.invalid('activations', names, `${count} names a direction`);
    const clip = reader.number('clip', 0);
    return {
      activations,
      hidden,
      clip: clip > 0 ? clip : undefined,
      isResetLast: reader.number('linear_before_reset', 0) !== 0,
      isCoupled: reader.number('input_forget', 0) !== 0,
    };
  };
}

/** Applies the activation of a number to what was clipped. */
function activated(tape: Tape, settings: CellSettings, index: number, x: string): string {
  const { clip } = settings;
  const bounded =
    clip === undefined ? x : tape.op('Clip', [x], { min: { float: -clip }, max: { float: clip } });
  const { op, attributes } = settings.activations[index] ?? { op: 'Tanh', attributes: {} };
  return tape.op(op, [bounded], attributes);
}

/** One gate of several that lie beside each other. */
const gate = (tape: Tape, all: string, index: number, hidden: number, axis = 1): string =>
  tape.op('Slice', [all], { starts: [index * hidden], ends: [(index + 1) * hidden], axes: [axis] });

/** The hidden values times the weights of the recurrence, those of some gates only if asked for. */
const recurred = (tape: Tape, hidden: string, recurrence: string): string =>
  tape.op('Gemm', [hidden, recurrence], { transB: 1 });

/** Hochreiter and Schmidhuber, Long Short-Term Memory, 1997, with Gers' forget gate and peepholes. Gates: i, o, f, c. */
const lstm: CellKind = {
  gates: 4,
  hasCell: true,
  addsRecurrentBias: () => false,
  settings: settingsOf(['Sigmoid', 'Tanh', 'Tanh']),
  step: (tape, g, { inputs, hidden, cell, recurrence, peepholes }, settings) => {
    const size = settings.hidden;
    const all = tape.op('Add', [inputs, recurred(tape, hidden, recurrence)]);
    const peeped = (index: number, from: string): string => {
      const own = gate(tape, all, index, size);
      if (peepholes === '') return own;
      const weights = gate(tape, peepholes, index, size, 0);
      return tape.op('Add', [own, tape.op('Mul', [from, weights])]);
    };
    const input = activated(tape, settings, 0, peeped(0, cell));
    const forget = settings.isCoupled
      ? tape.op('Sub', [g.scalar(1), input])
      : activated(tape, settings, 0, peeped(2, cell));
    const offered = activated(tape, settings, 1, gate(tape, all, 3, size));
    const next = tape.op('Add', [tape.op('Mul', [forget, cell]), tape.op('Mul', [input, offered])]);
    const output = activated(tape, settings, 0, peeped(1, next));
    // The last activation is not clipped.
    const shown = activated(tape, { ...settings, clip: undefined }, 2, next);
    return { hidden: tape.op('Mul', [output, shown]), cell: next };
  },
};

/** Cho and others, Learning Phrase Representations using RNN Encoder-Decoder, 2014. Gates: z, r, h. */
const gru: CellKind = {
  gates: 3,
  hasCell: false,
  addsRecurrentBias: () => true,
  settings: settingsOf(['Sigmoid', 'Tanh']),
  step: (tape, g, { inputs, hidden, recurrence, bias }, settings) => {
    const size = settings.hidden;
    const share = (from: string, first: number, count: number, axis: number): string =>
      tape.op('Slice', [from], {
        starts: [first * size],
        ends: [(first + count) * size],
        axes: [axis],
      });
    const withBias = (x: string, first: number, count: number): string =>
      bias === '' ? x : tape.op('Add', [x, share(bias, first, count, 0)]);
    const own = recurred(tape, hidden, share(recurrence, 0, 2, 0));
    const both = tape.op('Add', [share(inputs, 0, 2, 1), withBias(own, 0, 2)]);
    const update = activated(tape, settings, 0, gate(tape, both, 0, size));
    const reset = activated(tape, settings, 0, gate(tape, both, 1, size));
    const weights = share(recurrence, 2, 1, 0);
    const back = settings.isResetLast
      ? tape.op('Mul', [reset, withBias(recurred(tape, hidden, weights), 2, 1)])
      : withBias(recurred(tape, tape.op('Mul', [reset, hidden]), weights), 2, 1);
    const offered = activated(tape, settings, 1, tape.op('Add', [share(inputs, 2, 1, 1), back]));
    const next = tape.op('Add', [
      tape.op('Mul', [tape.op('Sub', [g.scalar(1), update]), offered]),
      tape.op('Mul', [update, hidden]),
    ]);
    return { hidden: next, cell: '' };
  },
};

/** Elman, Finding Structure in Time, 1990. */
const rnn: CellKind = {
  gates: 1,
  hasCell: false,
  addsRecurrentBias: () => false,
  settings: settingsOf(['Tanh']),
  step: (tape, _g, { inputs, hidden, recurrence }, settings) => ({
    hidden: activated(
      tape,
      settings,
      0,
      tape.op('Add', [inputs, recurred(tape, hidden, recurrence)]),
    ),
    cell: '',
  }),
};

/** The cells by operator. */
export const CELLS: Readonly<Record<'GRU' | 'LSTM' | 'RNN', CellKind>> = {
  GRU: gru,
  LSTM: lstm,
  RNN: rnn,
};
