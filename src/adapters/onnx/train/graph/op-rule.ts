/** How an operator is trained through: what it emits forward, and how a gradient comes back through it. */
import { invalidInput, QuarkError } from '../../../../base/errors.ts';
import { axisFromEnd, type GraphBuilder, type TensorShape } from './graph-builder.ts';
import type { AttributeValue, Attributes } from '../../file/onnx-writer.ts';

/** An operation of the network. Constants and parameters are values of the graph by the time it is emitted. */
export type ForwardNode = {
  readonly op: string;
  readonly inputs: readonly string[];
  /** Its first output. */
  readonly output: string;
  /** All outputs, the first one too, of an operation that has several; empty text for those that nothing uses. */
  readonly outputs?: readonly string[];
  readonly attributes: Attributes;
};

/** Whether the graph trains, or predicts with what was learnt: batch normalisation does different things. */
export type GraphMode = 'training' | 'inference';

/** What a rule may use. */
export type OpRuleContext = {
  readonly g: GraphBuilder;
  readonly mode: GraphMode;
  /** The numbers of a constant: shapes, axes, bounds. @throws {QuarkError} `unsupported` when it is none */
  readonly constant: (name: string) => readonly number[];
  /** The numbers of a constant; undefined for what is none. */
  readonly constantOrNone: (name: string) => readonly number[] | undefined;
  /** The sizes of a constant, or of what is computed from shapes. @throws {QuarkError} `unsupported` when it is neither */
  readonly sizes: (name: string) => TensorShape;
  /** Says that a value of the state, as a running mean, has a new value after the step. */
  readonly setState: (name: string, updated: string) => void;
  /**
   * Declares an input of the graph that a run fills with noise: 0 with the probability `rate`, 1 / (1 - rate) elsewhere, of the
   * shape of `like`. Its name is returned.
   */
  readonly noise: (like: string, rate: number) => string;
};

/**
 * Gives the gradient of each input, from the gradient `dy` of the first output. Null where there is none. Inputs whose `wants`
 * is false need none. `each` has the gradients of all outputs, null for those that the loss does not depend on; operators with
 * several outputs read it in place of `dy`.
 */
export type Backward = (
  dy: string,
  wants: readonly boolean[],
  each: readonly (string | null)[],
) => readonly (string | null)[];

/** Of an operator without a gradient: comparisons, positions, whole numbers. */
export const noGradient: Backward = (_dy, wants) => wants.map(() => null);

/** Emits an operation and returns how its gradient is made. */
export type OpRule = (context: OpRuleContext, node: ForwardNode) => Backward;

const isList = (value: AttributeValue): value is readonly number[] => Array.isArray(value);

/** Reads the attributes and inputs of one node. */
export class NodeReader {
  readonly #node: ForwardNode;

  constructor(node: ForwardNode) {
    this.#node = node;
  }

  input(index: number): string {
    const name = this.#node.inputs[index] ?? '';
    if (name === '') throw invalidInput(`${this.#node.op}.input[${index}]`, name, 'given');
    return name;
  }

  optionalInput(index: number): string | undefined {
    const name = this.#node.inputs[index] ?? '';
    return name === '' ? undefined : name;
  }

  number(name: string, fallback: number): number {
    const value = this.#attribute(name);
    if (value === undefined) return fallback;
    if (typeof value === 'number') return value;
    if (typeof value === 'object' && 'float' in value) return value.float;
    throw invalidInput(`${this.#node.op}.${name}`, value, 'a number');
  }

  text(name: string, fallback: string): string {
    const value = this.#attribute(name);
    if (value === undefined) return fallback;
    if (typeof value === 'string') return value;
    throw invalidInput(`${this.#node.op}.${name}`, value, 'text');
  }

  integers(name: string): readonly number[] | undefined {
    const value = this.#attribute(name);
    if (value === undefined) return undefined;
    if (isList(value)) return value;
    throw invalidInput(`${this.#node.op}.${name}`, value, 'a list of integers');
  }

  texts(name: string): readonly string[] | undefined {
    const value = this.#attribute(name);
    if (value === undefined) return undefined;
    if (typeof value === 'object' && 'strings' in value) return value.strings;
    throw invalidInput(`${this.#node.op}.${name}`, value, 'a list of texts');
  }

  floats(name: string): readonly number[] | undefined {
    const value = this.#attribute(name);
    if (value === undefined) return undefined;
    if (typeof value === 'object' && 'floats' in value) return value.floats;
    throw invalidInput(`${this.#node.op}.${name}`, value, 'a list of numbers');
  }

  /** Axes, which newer operator sets give as an input; undefined when none are given. */
  axes(context: OpRuleContext, rank: number): number[] | undefined {
    const given = this.integers('axes');
    const input = this.optionalInput(1);
    const axes = given ?? (input === undefined ? undefined : context.constant(input));
    return axes?.map((axis) => axisFromEnd(axis, rank));
  }

  /** The error for an attribute that no operator can have. */
  invalid(name: string, value: unknown, rule: string): QuarkError {
    const { op, output } = this.#node;
    return invalidInput(`${op} "${output}".${name}`, value, rule);
  }

  /** The error for something this operator can do in ONNX and not here. */
  unsupported(what: string): QuarkError {
    const { op, output } = this.#node;
    return new QuarkError('unsupported', `${op} "${output}" cannot be trained: ${what}.`, {
      details: { field: 'model', layer: output, op, reason: what },
    });
  }

  #attribute(name: string): AttributeValue | undefined {
    return this.#node.attributes[name];
  }
}
