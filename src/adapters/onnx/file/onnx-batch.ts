/** A model file that was exported for one sample, with a batch that a run decides: shapes that hold the 1 are written anew. */
import { MessageReader } from './message-reader.ts';
import {
  MAX_NAME_BYTES,
  type OnnxModelFile,
  type OnnxNode,
  type OnnxTensor,
  type OnnxValueInfo,
} from './onnx-format.ts';
import { rewritten } from './onnx-patch.ts';
import { readOnnxModel, tensorNumbers } from './onnx-reader.ts';
import { tensorMessage } from './onnx-writer.ts';
import { ByteWriter } from '../../../codecs/protobuf/writer.ts';

/** The name of a batch that a run decides. */
const BATCH = 'batch';

/** A model whose batch is free, if what was written anew is right: run it to know. */
export type FreedFile = {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Inputs that take one sample in the file. */
  readonly inputs: readonly OnnxValueInfo[];
  /** Outputs that give one sample in the file. */
  readonly outputs: readonly string[];
  /** Nodes whose shape or first state was written anew, and those that may hold the batch and were left: `Reshape "flat"`. */
  readonly changed: readonly string[];
  readonly left: readonly string[];
};

/**
 * Writes a batch of 1 as one that a run decides: in the declarations of inputs and outputs, in constant shapes of `Reshape`, and
 * in first states of recurrent layers that are zeros. What a file says of the shapes between is left out.
 *
 * @throws {QuarkError} `invalid_input` for bytes that are no model
 */
export function withFreeBatch(model: Uint8Array): FreedFile {
  const file = readOnnxModel(model);
  const plan = new BatchPlan(file);
  const bytes = rewritten(model, (field, graph) =>
    field === 7 ? inGraph(graph, plan) : undefined,
  );
  return {
    bytes,
    inputs: plan.inputs,
    outputs: plan.outputs,
    changed: plan.changed,
    left: plan.left,
  };
}

const said = ({ opType, outputs }: OnnxNode): string => `${opType} "${outputs[0] ?? ''}"`;

const FIRST_STATES: Readonly<Record<string, readonly number[]>> = {
  GRU: [5],
  LSTM: [5, 6],
  RNN: [5],
};

/** What has to be written anew. */
class BatchPlan {
  readonly inputs: readonly OnnxValueInfo[];
  readonly outputs: readonly string[];
  readonly changed: string[] = [];
  readonly left: string[] = [];
  /** New shapes by the name of the `Reshape`'s output. */
  readonly shapes = new Map<string, readonly number[]>();
  /** First states that are left out, by the first output of the node that has them. */
  readonly droppedStates = new Map<string, ReadonlySet<number>>();
  /** Every name of the graph. */
  readonly names = new Set<string>();
  readonly #constants: ReadonlyMap<string, OnnxTensor>;

  constructor(file: OnnxModelFile) {
    this.#constants = constantsOf(file);
    const inputs = file.inputs.filter(({ name }) => !file.initializers.has(name));
    this.inputs = inputs.filter(({ shape }) => shape?.[0] === 1);
    this.outputs = file.outputs.filter(({ shape }) => shape?.[0] === 1).map(({ name }) => name);
    const reached = new Set(inputs.map(({ name }) => name));
    for (const node of file.nodes) {
      for (const name of [...node.inputs, ...node.outputs]) this.names.add(name);
      if (!node.inputs.some((name) => reached.has(name))) continue;
      for (const name of node.outputs) reached.add(name);
      this.#visit(node);
    }
    for (const name of file.initializers.keys()) this.names.add(name);
  }

  #visit(node: OnnxNode): void {
    const [first = ''] = node.outputs;
    if (node.opType === 'Reshape') {
      const shape = this.#numbers(node.inputs[1]);
      const freed = shape === undefined ? undefined : freedShape(shape);
      if (freed !== undefined) {
        this.shapes.set(first, freed);
        this.changed.push(said(node));
      }
      return;
    }
    const states = FIRST_STATES[node.opType]?.filter((at) => this.#isConstant(node.inputs[at]));
    if (states !== undefined && states.length > 0) {
      const areZeros = states.every((at) => this.#numbers(node.inputs[at])?.every((x) => x === 0));
      if (areZeros) this.droppedStates.set(first, new Set(states));
      (areZeros ? this.changed : this.left).push(said(node));
    } else if (this.#holdsBatch(node)) this.left.push(said(node));
  }

  /** Whether a node that is left as it is may have been made for one sample. */
  #holdsBatch({ opType, inputs, attributes }: OnnxNode): boolean {
    if (opType === 'Resize') return this.#numbers(inputs[3])?.[0] === 1;
    if (opType !== 'Squeeze') return false;
    const axes = attributes.get('axes');
    const given = axes?.kind === 'ints' ? axes.value : this.#numbers(inputs[1]);
    return given === undefined || given.includes(0);
  }

  #isConstant(name: string | undefined): boolean {
    return name !== undefined && this.#constants.has(name);
  }

  #numbers(name: string | undefined): readonly number[] | undefined {
    const tensor = name === undefined ? undefined : this.#constants.get(name);
    return tensor === undefined || tensor.isExternal ? undefined : tensorNumbers(tensor);
  }
}

/** Initializers, and `Constant` nodes of a tensor. */
function constantsOf({ nodes, initializers }: OnnxModelFile): ReadonlyMap<string, OnnxTensor> {
  const found = new Map(initializers);
  for (const { opType, outputs, attributes } of nodes) {
    const value = opType === 'Constant' ? attributes.get('value') : undefined;
    if (value?.kind === 'tensor') found.set(outputs[0] ?? '', value.value);
  }
  return found;
}

/**
 * A shape of any batch; undefined for one that is so already. Its first size is what is left where no other is; where another is,
 * it is that of the input. A 1 elsewhere is the batch where the first size is none, as in sequences whose length comes first.
 */
function freedShape(shape: readonly number[]): readonly number[] | undefined {
  if (shape.length === 0 || shape.includes(0)) return undefined;
  if (shape.includes(-1)) return shape[0] === 1 ? [0, ...shape.slice(1)] : undefined;
  const one = shape.indexOf(1);
  const at = one < 0 ? 0 : one;
  return shape.map((size, axis) => (axis === at ? -1 : size));
}

/** Fields of GraphProto. */
const NODE = 1;
const INITIALIZER = 5;
const INPUT = 11;
const OUTPUT = 12;
const VALUE_INFO = 13;

function inGraph(graph: Uint8Array, plan: BatchPlan): Uint8Array {
  const added = new ByteWriter();
  const inputs = plan.inputs.map(({ name }) => name);
  const made = rewritten(graph, (field, bytes) => {
    if (field === NODE) return withNode(bytes, plan, added);
    if (field === VALUE_INFO) return null;
    if (field !== INPUT && field !== OUTPUT) return undefined;
    const isFrozen = (field === INPUT ? inputs : plan.outputs).includes(nameOf(bytes, 1));
    return isFrozen ? withFreeSize(bytes) : undefined;
  });
  return added.size === 0 ? made : new ByteWriter().raw(made).raw(added.bytes).finish();
}

/** The text of a message's field, the first where there are several. */
function nameOf(message: Uint8Array, field: number): string {
  const reader = new MessageReader(message);
  while (reader.next()) if (reader.field === field) return reader.text(MAX_NAME_BYTES);
  return '';
}

/** A ValueInfoProto whose first size has a name: type, tensor type, shape, dimension. */
function withFreeSize(info: Uint8Array): Uint8Array {
  const inside = (bytes: Uint8Array, path: readonly number[]): Uint8Array => {
    const [next, ...rest] = path;
    let count = 0;
    return rewritten(bytes, (field, part) => {
      if (field !== next) return undefined;
      count += 1;
      if (rest.length > 0) return inside(part, rest);
      return count === 1 ? new ByteWriter().text(2, BATCH).finish() : undefined;
    });
  };
  return inside(info, [2, 1, 2, 1]);
}

/** Fields of NodeProto. */
const NODE_INPUT = 1;
const NODE_OUTPUT = 2;

/** A node with another shape, which is added to the initializers, or without its first states. */
function withNode(node: Uint8Array, plan: BatchPlan, added: ByteWriter): Uint8Array | undefined {
  const output = nameOf(node, NODE_OUTPUT);
  const shape = plan.shapes.get(output);
  const states = plan.droppedStates.get(output);
  if (shape === undefined && states === undefined) return undefined;
  let at = -1;
  const empty = new Uint8Array();
  const shapeName = shape === undefined ? '' : freeName(`${output}_shape`, plan.names);
  if (shape !== undefined) {
    const tensor = tensorMessage(shapeName, BigInt64Array.from(shape, BigInt), [shape.length]);
    added.part(INITIALIZER, tensor);
  }
  return rewritten(node, (field) => {
    if (field !== NODE_INPUT) return undefined;
    at += 1;
    if (states?.has(at) === true) return empty;
    return shape !== undefined && at === 1 ? new TextEncoder().encode(shapeName) : undefined;
  });
}

function freeName(wanted: string, taken: Set<string>): string {
  let name = wanted;
  for (let count = 2; taken.has(name); count += 1) name = `${wanted}_${count}`;
  taken.add(name);
  return name;
}
