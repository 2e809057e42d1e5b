/** Operations in the order they were emitted, so that gradients go back through them: reverse mode. */
import type { GraphBuilder, TensorShape } from './graph-builder.ts';
import type { Backward, ForwardNode, OpRule, OpRuleContext } from './op-rule.ts';

/** Rules by operator. */
export type OpRules = Readonly<Record<string, OpRule>>;

/** Every output of an operation; empty text for those that nothing uses. */
export const outputsOf = ({ output, outputs }: ForwardNode): readonly string[] =>
  outputs ?? [output];

/** Emits operations by their rules, and then their gradients. */
export class Tape {
  readonly #context: OpRuleContext;
  readonly #rules: OpRules;
  readonly #steps: { readonly node: ForwardNode; readonly backward: Backward }[] = [];
  /** Values whose gradients are asked for, and those on the way to them. */
  readonly #wanted: Set<string>;

  constructor(context: OpRuleContext, rules: OpRules, wanted: Iterable<string>) {
    this.#context = context;
    this.#rules = rules;
    this.#wanted = new Set(wanted);
  }

  /** Whether the gradient of a value leads to one that is asked for. */
  wants(name: string): boolean {
    return this.#wanted.has(name);
  }

  /** Whether there is a rule for an operator. */
  knows(op: string): boolean {
    return Object.hasOwn(this.#rules, op);
  }

  /** Emits one operation. False when there is no rule for it. */
  emit(node: ForwardNode): boolean {
    const rule = this.knows(node.op) ? this.#rules[node.op] : undefined;
    if (rule === undefined) return false;
    this.#record(node, rule(this.#context, node));
    return true;
  }

  /** Another shape of a value, symbols included. */
  reshape(x: string, shape: TensorShape): string {
    const { g } = this.#context;
    const [from, output] = [g.shape(x), g.reshape(x, shape)];
    this.record([x], [output], (dy) => [g.reshape(dy, from)]);
    return output;
  }

  /** Remembers how the gradient of what was emitted by other means comes back. */
  record(inputs: readonly string[], outputs: readonly string[], backward: Backward): void {
    const [output = ''] = outputs;
    this.#record({ op: '', inputs, output, outputs, attributes: {} }, backward);
  }

  #record(node: ForwardNode, backward: Backward): void {
    this.#steps.push({ node, backward });
    if (node.inputs.some((name) => this.#wanted.has(name)))
      for (const output of outputsOf(node)) this.#wanted.add(output);
  }

  /** Emits one operation with a fresh output, whose name is returned. The operator has a rule. */
  op(op: string, inputs: readonly string[], attributes: ForwardNode['attributes'] = {}): string {
    const output = this.#context.g.fresh(op);
    this.emit({ op, inputs, output, attributes });
    return output;
  }

  /**
   * Emits gradients with respect to every value on the way to what is asked for, by name.
   *
   * @param seeds gradients to begin with, by the value they belong to
   */
  gradients(seeds: ReadonlyMap<string, string>): Map<string, string> {
    const { g } = this.#context;
    const found = new Map(seeds);
    for (const { node, backward } of [...this.#steps].reverse()) {
      const each = outputsOf(node).map((name) => found.get(name) ?? null);
      const wants = node.inputs.map((name) => this.#wanted.has(name));
      if (each.every((gradient) => gradient === null) || !wants.includes(true)) continue;
      for (const [index, gradient] of backward(each[0] ?? '', wants, each).entries()) {
        const input = node.inputs[index];
        if (gradient === null || input === undefined || wants[index] !== true) continue;
        const before = found.get(input);
        found.set(input, before === undefined ? gradient : g.add(before, gradient));
      }
    }
    return found;
  }
}

/**
 * The rule of an operator that is put together from others. `build` emits them and returns the names of their outputs, in the
 * order of the operator's own; each gets the name that the operator's output has.
 */
export function composed(
  rules: OpRules,
  build: (tape: Tape, context: OpRuleContext, node: ForwardNode) => readonly string[],
): OpRule {
  return (context, node) => {
    const tape = new Tape(
      context,
      rules,
      node.inputs.filter((name) => name !== ''),
    );
    const made = build(tape, context, node);
    const names = outputsOf(node);
    for (const [index, name] of names.entries())
      if (name !== '') rename(context.g, made[index] ?? '', name);
    return (_dy, _wants, each) => {
      const seeds = new Map<string, string>();
      for (const [index, gradient] of each.entries())
        if (gradient !== null) addSeed(context.g, seeds, made[index] ?? '', gradient);
      const found = tape.gradients(seeds);
      return node.inputs.map((name) => found.get(name) ?? null);
    };
  };
}

function rename(g: GraphBuilder, from: string, to: string): void {
  g.unary('Identity', from, {}, to);
}

/** Two outputs may be one value. */
function addSeed(
  g: GraphBuilder,
  seeds: Map<string, string>,
  name: string,
  gradient: string,
): void {
  const before = seeds.get(name);
  seeds.set(name, before === undefined ? gradient : g.add(before, gradient));
}
