/**
 * A training step as a plain ONNX graph, written by hand: forward, softmax cross-entropy, backward and SGD of a network
 * with one hidden layer. Weights come in as inputs and go out as outputs, so that a run trains.
 */

/** ONNX's numbers for element types and attribute kinds (onnx.proto). */
const FLOAT = 1;
const INT64 = 7;
const ATTRIBUTE_INT = 2;

/** A protobuf message under construction. */
class Message {
  readonly #bytes: number[] = [];

  int(field: number, value: number): this {
    this.#varint(field * 8);
    this.#varint(value);
    return this;
  }

  bytes(field: number, value: Iterable<number>): this {
    const all = [...value];
    this.#varint(field * 8 + 2);
    this.#varint(all.length);
    for (const byte of all) this.#bytes.push(byte);
    return this;
  }

  text(field: number, value: string): this {
    return this.bytes(field, new TextEncoder().encode(value));
  }

  message(field: number, value: Message): this {
    return this.bytes(field, value.#bytes);
  }

  done(): Uint8Array<ArrayBuffer> {
    return Uint8Array.from(this.#bytes);
  }

  #varint(value: number): void {
    let rest = value;
    while (rest > 127) {
      this.#bytes.push((rest % 128) + 128);
      rest = Math.floor(rest / 128);
    }
    this.#bytes.push(rest);
  }
}

type Dimension = number | string;

function valueInfo(name: string, shape: readonly Dimension[]): Message {
  const dimensions = new Message();
  for (const size of shape) {
    dimensions.message(
      1,
      typeof size === 'number' ? new Message().int(1, size) : new Message().text(2, size),
    );
  }
  const tensor = new Message().int(1, FLOAT).message(2, dimensions);
  return new Message().text(1, name).message(2, new Message().message(1, tensor));
}

function node(
  op: string,
  inputs: readonly string[],
  output: string,
  attributes: Readonly<Record<string, number>> = {},
): Message {
  const made = new Message();
  for (const name of inputs) made.text(1, name);
  made.text(2, output).text(3, output).text(4, op);
  for (const [name, value] of Object.entries(attributes)) {
    made.message(5, new Message().text(1, name).int(3, value).int(20, ATTRIBUTE_INT));
  }
  return made;
}

function int64Constant(name: string, values: readonly number[]): Message {
  const data = new Uint8Array(BigInt64Array.from(values.map(BigInt)).buffer);
  return new Message().int(1, values.length).int(2, INT64).text(8, name).bytes(9, data);
}

/** The weights of {@link trainingStepModel}, by name, with their shapes. */
export function weightShapes(
  inputs: number,
  hidden: number,
  classes: number,
): Readonly<Record<string, readonly number[]>> {
  return { w1: [inputs, hidden], b1: [hidden], w2: [hidden, classes], b2: [classes] };
}

/**
 * Bytes of the model. Inputs: `x` [N, inputs], `y` [N, classes] one-hot, `lr` scalar and the weights; outputs: `loss`
 * scalar, `logits` [N, classes] and `new_` plus each weight.
 */
export function trainingStepModel(
  inputs: number,
  hidden: number,
  classes: number,
): Uint8Array<ArrayBuffer> {
  const graph = new Message();
  const add = (
    op: string,
    from: readonly string[],
    to: string,
    attributes?: Readonly<Record<string, number>>,
  ): string => {
    graph.message(1, node(op, from, to, attributes));
    return to;
  };
  graph.text(2, 'training_step');
  graph.message(5, int64Constant('axis_0', [0]));
  graph.message(5, int64Constant('axis_1', [1]));
  graph.message(5, int64Constant('index_0', [0]));
  const shapes = weightShapes(inputs, hidden, classes);
  graph.message(11, valueInfo('x', ['N', inputs]));
  graph.message(11, valueInfo('y', ['N', classes]));
  graph.message(11, valueInfo('lr', []));
  for (const [name, shape] of Object.entries(shapes)) graph.message(11, valueInfo(name, shape));

  add('Gemm', ['x', 'w1', 'b1'], 'before');
  add('Tanh', ['before'], 'h');
  add('Gemm', ['h', 'w2', 'b2'], 'logits');
  add('LogSoftmax', ['logits'], 'log_p', { axis: 1 });
  add('ReduceSum', [add('Mul', ['y', 'log_p'], 'y_log_p'), 'axis_1'], 'log_likelihood', {
    keepdims: 0,
  });
  add('ReduceMean', [add('Neg', ['log_likelihood'], 'nll')], 'loss', { keepdims: 0 });

  add('Cast', [add('Gather', [add('Shape', ['x'], 'x_shape'), 'index_0'], 'n_int')], 'n', {
    to: FLOAT,
  });
  add('Div', [add('Sub', [add('Exp', ['log_p'], 'p'), 'y'], 'p_minus_y'), 'n'], 'd_logits');
  add('Gemm', ['h', 'd_logits'], 'd_w2', { transA: 1 });
  add('ReduceSum', ['d_logits', 'axis_0'], 'd_b2', { keepdims: 0 });
  add('Gemm', ['d_logits', 'w2'], 'd_h', { transB: 1 });
  // tanh' = 1 - tanh^2, written as d_h - d_h * h * h
  add('Sub', ['d_h', add('Mul', ['d_h', add('Mul', ['h', 'h'], 'h_h')], 'd_h_h_h')], 'd_before');
  add('Gemm', ['x', 'd_before'], 'd_w1', { transA: 1 });
  add('ReduceSum', ['d_before', 'axis_0'], 'd_b1', { keepdims: 0 });

  graph.message(12, valueInfo('loss', []));
  graph.message(12, valueInfo('logits', ['N', classes]));
  for (const [name, shape] of Object.entries(shapes)) {
    add('Sub', [name, add('Mul', ['lr', `d_${name}`], `step_${name}`)], `new_${name}`);
    graph.message(12, valueInfo(`new_${name}`, shape));
  }
  const opset = new Message().text(1, '').int(2, 17);
  return new Message()
    .int(1, 8)
    .text(2, 'quark-sdk tests')
    .message(7, graph)
    .message(8, opset)
    .done();
}
