/**
 * Recurrent layers: LSTM, GRU and RNN. onnxruntime has no operators for their gradients, and its own give no gates. In training, a
 * Scan goes through the sequence with one cell, and a second one back through it with the gradient of that cell: back-propagation
 * through time. In inference the operator itself is used.
 */
import { invalidInput } from '../../../../base/errors.ts';
import { GraphBuilder, type TensorShape } from '../graph/graph-builder.ts';
import {
  noGradient,
  NodeReader,
  type Backward,
  type ForwardNode,
  type OpRule,
  type OpRuleContext,
} from '../graph/op-rule.ts';
import { composed, Tape, type OpRules } from '../graph/tape.ts';
import { ACTIVATION_RULES } from './activations.ts';
import { ARITHMETIC_RULES } from './arithmetic.ts';
import { CELLS, type CellKind, type CellSettings } from './cells.ts';
import { LAYOUT_RULES } from './layout.ts';
import { MATRIX_RULES } from './matrix.ts';
import { SHAPE_RULES } from './shapes.ts';

const PARTS: OpRules = {
  ...ACTIVATION_RULES,
  ...ARITHMETIC_RULES,
  ...LAYOUT_RULES,
  ...MATRIX_RULES,
  ...SHAPE_RULES,
};

/** Values of one direction; empty text for what a layer does not have. */
type Direction = {
  /** `[sequence, batch, gates x hidden]`: the input times its weights, and the biases. */
  readonly inputs: string;
  readonly hidden: string;
  readonly cell: string;
  /** `[gates x hidden, hidden]` */
  readonly recurrence: string;
  /** Bias of the recurrence that the cell adds itself. */
  readonly bias: string;
  readonly peepholes: string;
};

function recurrent(op: 'GRU' | 'LSTM' | 'RNN'): OpRule {
  const kind = CELLS[op];
  const trained = composed(PARTS, (tape, context, node) => layer(tape, context, node, kind));
  return (context, node) => {
    if (context.mode === 'training') return trained(context, node);
    emitItself(context, node);
    return noGradient;
  };
}

/** `[sequence, batch, input]`: the only layout of most exporters; the other has the batch first. */
function sequenceShape(reader: NodeReader, shape: TensorShape): TensorShape {
  if (shape.length !== 3) throw invalidInput('X', shape, 'of three dimensions');
  if (reader.number('layout', 0) !== 0) throw reader.unsupported('its layout is 1');
  return shape;
}

function directionsOf(reader: NodeReader): readonly ('forward' | 'reverse')[] {
  const direction = reader.text('direction', 'forward');
  if (direction === 'bidirectional') return ['forward', 'reverse'];
  if (direction === 'forward' || direction === 'reverse') return [direction];
  throw reader.invalid('direction', direction, '"forward", "reverse" or "bidirectional"');
}

function emitItself({ g }: OpRuleContext, node: ForwardNode): void {
  const reader = new NodeReader(node);
  const [length = 1, batch = 1] = sequenceShape(reader, g.shape(reader.input(0)));
  const [count = 1, , hidden = 1] = g.shape(reader.input(2));
  const shapes: readonly TensorShape[] = [
    [length, count, batch, hidden],
    [count, batch, hidden],
    [count, batch, hidden],
  ];
  const names = node.outputs ?? [node.output];
  g.ops(
    node.op,
    node.inputs,
    names.map((name, i) => [
      name === '' ? g.fresh(node.op) : name,
      { type: 'float32', shape: shapes[i] ?? [] },
    ]),
    node.attributes,
  );
}

/** The whole layer; its outputs are the hidden values of all positions, the last ones, and the last cell. */
function layer(
  tape: Tape,
  context: OpRuleContext,
  node: ForwardNode,
  kind: CellKind,
): readonly string[] {
  const { g } = context;
  const reader = new NodeReader(node);
  const x = reader.input(0);
  const [length = 1, batch = 1] = sequenceShape(reader, g.shape(x));
  const [, , hidden] = g.shape(reader.input(2));
  if (typeof hidden !== 'number') throw reader.unsupported('its hidden size is not known');
  checkLengths(context, reader, length);
  const results = directionsOf(reader).map((way, at) => {
    const values = directionOf(tape, context, node, { kind, at, batch, hidden });
    const settings = kind.settings(reader, at, hidden);
    return scanned({ tape, context, kind, settings }, values, way === 'reverse');
  });
  const stacked = (index: number, shape: TensorShape, axis: number): string => {
    const parts = results.map((result) => tape.reshape(result[index] ?? '', shape));
    return parts.length === 1 ? (parts[0] ?? '') : tape.op('Concat', parts, { axis });
  };
  return [
    stacked(0, [length, 1, batch, hidden], 1),
    stacked(1, [1, batch, hidden], 0),
    ...(kind.hasCell ? [stacked(2, [1, batch, hidden], 0)] : []),
  ];
}

/** All sequences have to be as long as the tensor. */
function checkLengths(context: OpRuleContext, reader: NodeReader, length: number | string): void {
  const input = reader.optionalInput(4);
  if (input === undefined) return;
  const lengths = context.constantOrNone(input);
  if (lengths === undefined || lengths.some((size) => size !== length))
    throw reader.unsupported('its sequences have lengths of their own');
}

/** What one direction works with: its share of the weights, and the input times them. */
function directionOf(
  tape: Tape,
  { g }: OpRuleContext,
  node: ForwardNode,
  {
    kind,
    at,
    batch,
    hidden,
  }: { kind: CellKind; at: number; batch: number | string; hidden: number },
): Direction {
  const reader = new NodeReader(node);
  const own = (index: number): string | undefined => {
    const name = reader.optionalInput(index);
    if (name === undefined) return undefined;
    const shape = g.shape(name);
    const cut =
      shape[0] === 1 ? name : tape.op('Slice', [name], { starts: [at], ends: [at + 1], axes: [0] });
    return tape.reshape(cut, shape.slice(1));
  };
  const start = (index: number): string => own(index) ?? zeros(g, reader.input(0), batch, hidden);
  const weights = own(1) ?? '';
  let inputs = tape.op('MatMul', [
    reader.input(0),
    tape.op('Transpose', [weights], { perm: [1, 0] }),
  ]);
  const biases = own(3);
  let bias = '';
  if (biases !== undefined) {
    const width = kind.gates * hidden;
    const cut = (from: number, to: number): string =>
      tape.op('Slice', [biases], { starts: [from], ends: [to], axes: [0] });
    inputs = tape.op('Add', [inputs, cut(0, width)]);
    if (kind.addsRecurrentBias(reader)) bias = cut(width, 2 * width);
    else inputs = tape.op('Add', [inputs, cut(width, 2 * width)]);
  }
  return {
    inputs,
    hidden: start(5),
    cell: kind.hasCell ? start(6) : '',
    recurrence: own(2) ?? '',
    bias,
    peepholes: kind.hasCell ? (own(7) ?? '') : '',
  };
}

/** `[batch, hidden]` of zeros. */
function zeros(g: GraphBuilder, x: string, batch: number | string, hidden: number): string {
  const shape = g.concat([g.sizeAt(x, 1), g.integers([hidden])], 'int64');
  return g.op('ConstantOfShape', [shape], [batch, hidden]);
}

/** What a Scan is made with. */
type ScanSettings = {
  readonly tape: Tape;
  readonly context: OpRuleContext;
  readonly kind: CellKind;
  readonly settings: CellSettings;
};

/** The cell at every position: hidden values of all of them, the last ones, and the last cell. */
function scanned(scan: ScanSettings, values: Direction, isReverse: boolean): readonly string[] {
  const { tape, context, kind, settings } = scan;
  const { g } = context;
  const body = bodyOf(g, values);
  const [length = 1, batch = 1, width = 1] = g.shape(values.inputs);
  const [, hidden = 1] = g.shape(values.hidden);
  const state: TensorShape = [batch, hidden];
  const h = body.g.input(body.name('h'), 'float32', state);
  const c = kind.hasCell ? body.g.input(body.name('c'), 'float32', state) : '';
  const x = body.g.input(body.name('x'), 'float32', [batch, width]);
  const cell = new Tape({ ...context, g: body.g }, PARTS, []);
  const next = kind.step(cell, body.g, { ...values, inputs: x, hidden: h, cell: c }, settings);
  const states = kind.hasCell ? [next.hidden, next.cell] : [next.hidden];
  for (const name of states) body.g.output(name);
  // Each output of a body has a name of its own; the states before are what the way back begins with.
  for (const name of [next.hidden, h, ...(kind.hasCell ? [c] : [])])
    body.g.output(body.g.unary('Identity', name));
  const starts = kind.hasCell ? [values.hidden, values.cell] : [values.hidden];
  const all: TensorShape = [length, batch, hidden];
  const last = starts.map(() => g.fresh('last'));
  const tracks = [...starts, ''].map(() => g.fresh('all'));
  const backwards = isReverse ? 1 : 0;
  g.ops(
    'Scan',
    [...starts, values.inputs],
    [
      ...last.map((name) => [name, { type: 'float32', shape: state }] as const),
      ...tracks.map((name) => [name, { type: 'float32', shape: all }] as const),
    ],
    {
      body: body.g.body(),
      num_scan_inputs: 1,
      scan_input_directions: [backwards],
      scan_output_directions: tracks.map(() => backwards),
    },
  );
  const [hiddens = '', ...before] = tracks;
  const inputs = [values.inputs, ...starts, ...givenOf(values)];
  tape.record(
    inputs,
    [hiddens, ...last],
    wayBack(scan, values, { before, hiddens, last, isReverse }),
  );
  return [hiddens, ...last];
}

/** Weights that the cell reads from the graph around it. */
const givenOf = ({ recurrence, bias, peepholes }: Direction): string[] =>
  [recurrence, bias, peepholes].filter((name) => name !== '');

/** A graph for the inside of a Scan, which sees the weights outside. */
function bodyOf(
  g: GraphBuilder,
  values: Direction,
): { readonly g: GraphBuilder; readonly name: (hint: string) => string } {
  const prefix = `${g.fresh('scan')}/`;
  const body = new GraphBuilder('cell', [], prefix);
  for (const name of givenOf(values)) body.outer(name, g.value(name));
  return { g: body, name: (hint) => `${prefix}${hint}` };
}

/** The values of the way there that the way back needs. */
type Track = {
  /** Hidden value, and cell, before each position. */
  readonly before: readonly string[];
  readonly hiddens: string;
  readonly last: readonly string[];
  readonly isReverse: boolean;
};

/** Computes each cell once more, from what came in, and goes back through it. Gradients of weights add up as states. */
function wayBack(scan: ScanSettings, values: Direction, track: Track): Backward {
  const { context } = scan;
  const { g } = context;
  const { before, hiddens, last, isReverse } = track;
  const given = givenOf(values);
  return (_dy, _wants, [dHiddens, ...dLast]) => {
    const body = bodyOf(g, values);
    const made = backBody(scan, values, body, given);
    const starts = [
      ...last.map((name, i) => dLast[i] ?? g.zerosLike(name)),
      ...given.map((name) => g.zerosLike(name)),
    ];
    const states = starts.map(() => g.fresh('gradient'));
    const dInputs = g.fresh('gradient');
    const series = [values.inputs, ...before, dHiddens ?? g.zerosLike(hiddens)];
    const backwards = isReverse ? 0 : 1;
    g.ops(
      'Scan',
      [...starts, ...series],
      [
        ...states.map((name, i) => [name, g.value(starts[i] ?? '')] as const),
        [dInputs, g.value(values.inputs)],
      ],
      {
        body: made,
        num_scan_inputs: series.length,
        scan_input_directions: series.map(() => backwards),
        scan_output_directions: [backwards],
      },
    );
    return [dInputs, ...states];
  };
}

function backBody(
  { context, kind, settings }: ScanSettings,
  values: Direction,
  body: ReturnType<typeof bodyOf>,
  given: readonly string[],
): ReturnType<GraphBuilder['body']> {
  const { g } = context;
  const inner = body.g;
  const [, batch = 1, width = 1] = g.shape(values.inputs);
  const state = g.shape(values.hidden);
  const input = (hint: string, shape: TensorShape): string =>
    inner.input(body.name(hint), 'float32', shape);
  const dh = input('dh', state);
  const dc = kind.hasCell ? input('dc', state) : '';
  const sums = given.map((name, i) => input(`sum${i}`, g.shape(name)));
  const x = input('x', [batch, width]);
  const h = input('h', state);
  const c = kind.hasCell ? input('c', state) : '';
  const dHere = input('d', state);
  const wanted = [x, h, ...(kind.hasCell ? [c] : []), ...given];
  const cell = new Tape({ ...context, g: inner }, PARTS, wanted);
  const next = kind.step(cell, inner, { ...values, inputs: x, hidden: h, cell: c }, settings);
  const seeds = new Map([[next.hidden, inner.add(dh, dHere)]]);
  if (kind.hasCell) seeds.set(next.cell, dc);
  const found = cell.gradients(seeds);
  const gradientOf = (name: string): string => found.get(name) ?? inner.zerosLike(name);
  const out = (name: string): string => inner.output(inner.unary('Identity', name));
  out(gradientOf(h));
  if (kind.hasCell) out(gradientOf(c));
  for (const [i, name] of given.entries()) out(inner.add(sums[i] ?? '', gradientOf(name)));
  out(gradientOf(x));
  return inner.body();
}

/** The rules of this file by operator. */
export const RECURRENT_RULES: OpRules = {
  GRU: recurrent('GRU'),
  LSTM: recurrent('LSTM'),
  RNN: recurrent('RNN'),
};
