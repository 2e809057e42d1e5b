/**
 * Patterns of strangers, matched in time linear in the text: all ways to match go through the text side by side, so that no pattern can
 * try them one after another. Groups, classes, alternatives, quantifiers and anchors mean what they mean in JavaScript; there is no
 * lookahead, lookbehind or back reference.
 */
import { invalidInput, type QuarkError } from '../../base/errors.ts';
import { CharSet } from './char-set.ts';
import { parsePattern, type Assertion, type PatternNode } from './parse-pattern.ts';

/** Instructions of one pattern: with those of the text their product bounds the time. */
const MAX_INSTRUCTIONS = 1000;
/** Parts that are written out, those that take no instruction included. */
const MAX_PARTS = 100_000;

type Instruction =
  | { readonly op: 'char'; readonly set: CharSet }
  | { op: 'split'; first: number; second: number }
  | { op: 'jump'; to: number }
  | { readonly op: 'save'; readonly slot: number }
  | { readonly op: 'assert'; readonly what: Assertion }
  | { readonly op: 'match' };

/** Where a match and its groups begin and end; -1 for a group that has none. */
type Slots = readonly number[];
type Thread = { readonly at: number; readonly slots: Slots };

/** A match. */
export type LinearMatch = {
  readonly start: number;
  readonly end: number;
  /** Named groups that matched. */
  readonly groups: Readonly<Record<string, string>>;
};

export class LinearPattern {
  readonly source: string;
  /** Names of the groups, in the order of the pattern. */
  readonly names: readonly string[];
  readonly #program: Instruction[] = [];
  #partCount = 0;
  readonly #slotCount: number;
  readonly #slots: ReadonlyMap<string, number>;
  /** The position at which an instruction was reached last, so that it is reached once a position. */
  readonly #reached: Int32Array;

  /** @throws {QuarkError} `invalid_input` naming the rule that the pattern breaks */
  constructor(source: string) {
    const { groupCount, isCaseIgnored, names, node } = parsePattern(source);
    this.source = source;
    this.names = [...names.keys()];
    this.#slots = names;
    this.#slotCount = 2 * (groupCount + 1);
    this.#compile({ kind: 'group', index: 0, node }, isCaseIgnored);
    this.#emit({ op: 'match' });
    this.#reached = new Int32Array(this.#program.length);
  }

  /** The first match at or after `from`; undefined for none. */
  exec(text: string, from = 0): LinearMatch | undefined {
    this.#reached.fill(-1);
    let threads: Thread[] = [];
    let found: Slots | undefined;
    for (let at = from; at <= text.length; at++) {
      const next: Thread[] = [];
      const starts: Thread[] = [];
      // Threads in the order of preference; a new one begins here while nothing has matched.
      if (found === undefined) starts.push({ at: 0, slots: new Array(this.#slotCount).fill(-1) });
      const waiting: Thread[] = [];
      for (const thread of [...threads, ...starts]) this.#follow(thread, text, at, waiting);
      const unit = text.charCodeAt(at);
      for (const thread of waiting) {
        const instruction = this.#program[thread.at];
        if (instruction === undefined || instruction.op === 'match') {
          found = thread.slots;
          break;
        }
        if (instruction.op === 'char' && at < text.length && instruction.set.has(unit))
          next.push({ at: thread.at + 1, slots: thread.slots });
      }
      threads = next;
      if (threads.length === 0 && found !== undefined) break;
    }
    return found === undefined ? undefined : this.#matchOf(text, found);
  }

  /** All matches, from left to right. */
  *matchAll(text: string): Generator<LinearMatch> {
    for (let from = 0; from <= text.length;) {
      const match = this.exec(text, from);
      if (match === undefined) return;
      yield match;
      from = match.end > match.start ? match.end : match.end + 1;
    }
  }

  #matchOf(text: string, slots: Slots): LinearMatch {
    const groups: Record<string, string> = {};
    for (const [name, index] of this.#slots) {
      const start = slots[2 * index] ?? -1;
      const end = slots[2 * index + 1] ?? -1;
      if (start >= 0 && end >= start) groups[name] = text.slice(start, end);
    }
    return { start: slots[0] ?? 0, end: slots[1] ?? 0, groups };
  }

  /** Follows a thread to the characters that it waits for, each instruction once a position. */
  #follow(thread: Thread, text: string, position: number, waiting: Thread[]): void {
    const open: Thread[] = [thread];
    for (let current = open.pop(); current !== undefined; current = open.pop()) {
      const { at, slots } = current;
      if (this.#reached[at] === position) continue;
      this.#reached[at] = position;
      const instruction = this.#program[at];
      switch (instruction?.op) {
        case 'jump':
          open.push({ at: instruction.to, slots });
          break;
        case 'split':
          open.push({ at: instruction.second, slots }, { at: instruction.first, slots });
          break;
        case 'save':
          open.push({ at: at + 1, slots: slots.with(instruction.slot, position) });
          break;
        case 'assert':
          if (holds(instruction.what, text, position)) open.push({ at: at + 1, slots });
          break;
        case 'char':
        case 'match':
        case undefined:
          waiting.push(current);
      }
    }
  }

  #emit(instruction: Instruction): number {
    if (this.#program.length >= MAX_INSTRUCTIONS) throw this.#tooLong();
    return this.#program.push(instruction) - 1;
  }

  #tooLong(): QuarkError {
    const rule = `a pattern that has at most ${MAX_INSTRUCTIONS} steps when its {from,to} are written out`;
    return invalidInput('pattern', this.source, rule);
  }

  #compile(node: PatternNode, isCaseIgnored: boolean): void {
    if (++this.#partCount > MAX_PARTS) throw this.#tooLong();
    switch (node.kind) {
      case 'set':
        this.#emit({ op: 'char', set: new CharSet(node.ranges, isCaseIgnored) });
        return;
      case 'assert':
        this.#emit({ op: 'assert', what: node.what });
        return;
      case 'group':
        this.#emit({ op: 'save', slot: 2 * node.index });
        this.#compile(node.node, isCaseIgnored);
        this.#emit({ op: 'save', slot: 2 * node.index + 1 });
        return;
      case 'all':
        for (const one of node.nodes) this.#compile(one, isCaseIgnored);
        return;
      case 'any':
        this.#compileEither(node.nodes, isCaseIgnored);
        return;
      case 'repeat':
        this.#compileRepeat(node, isCaseIgnored);
    }
  }

  #compileEither(nodes: readonly PatternNode[], isCaseIgnored: boolean): void {
    const ends: { op: 'jump'; to: number }[] = [];
    for (const [i, node] of nodes.entries()) {
      if (i === nodes.length - 1) {
        this.#compile(node, isCaseIgnored);
        break;
      }
      const split = { op: 'split' as const, first: 0, second: 0 };
      split.first = this.#emit(split) + 1;
      this.#compile(node, isCaseIgnored);
      const end = { op: 'jump' as const, to: 0 };
      ends.push(end);
      split.second = this.#emit(end) + 1;
    }
    for (const end of ends) end.to = this.#program.length;
  }

  #compileRepeat(
    { isLazy, max, min, node }: Extract<PatternNode, { kind: 'repeat' }>,
    isCaseIgnored: boolean,
  ): void {
    const choose = (): ((out: number) => void) => {
      const split = { op: 'split' as const, first: 0, second: 0 };
      const inner = this.#emit(split) + 1;
      return (out) =>
        Object.assign(
          split,
          isLazy ? { first: out, second: inner } : { first: inner, second: out },
        );
    };
    for (let i = 0; i < min; i++) this.#compile(node, isCaseIgnored);
    if (max === Infinity) {
      const again = this.#program.length;
      const leave = choose();
      this.#compile(node, isCaseIgnored);
      this.#emit({ op: 'jump', to: again });
      leave(this.#program.length);
      return;
    }
    const leaves: ((out: number) => void)[] = [];
    for (let i = min; i < max; i++) {
      leaves.push(choose());
      this.#compile(node, isCaseIgnored);
    }
    for (const leave of leaves) leave(this.#program.length);
  }
}

function holds(what: Assertion, text: string, position: number): boolean {
  if (what === 'start') return position === 0;
  if (what === 'end') return position === text.length;
  const isBorder = isWord(text, position - 1) !== isWord(text, position);
  return isBorder === (what === 'border');
}

function isWord(text: string, at: number): boolean {
  const unit = text.charCodeAt(at);
  return (
    (unit >= 48 && unit <= 57) ||
    (unit >= 65 && unit <= 90) ||
    unit === 95 ||
    (unit >= 97 && unit <= 122)
  );
}
