/** Patterns as text, taken apart: the part of regular expressions that can be matched in time linear in the text. */
import { invalidInput, type QuarkError } from '../../base/errors.ts';
import { escapedRanges, inverted, type CharRange } from './char-set.ts';

/** A part of a pattern. */
export type PatternNode =
  | { readonly kind: 'set'; readonly ranges: readonly CharRange[] }
  | { readonly kind: 'all' | 'any'; readonly nodes: readonly PatternNode[] }
  | { readonly kind: 'group'; readonly index: number; readonly node: PatternNode }
  | {
      readonly kind: 'repeat';
      readonly node: PatternNode;
      readonly min: number;
      readonly max: number;
      readonly isLazy: boolean;
    }
  | { readonly kind: 'assert'; readonly what: Assertion };

/** What has to be so at a position: its begin or end, or a border of a word. */
export type Assertion = 'start' | 'end' | 'border' | 'inside';

/** A pattern taken apart. */
export type ParsedPattern = {
  readonly node: PatternNode;
  /** Names of the groups by their number; the first of them is 1. */
  readonly names: ReadonlyMap<string, number>;
  readonly groupCount: number;
  readonly isCaseIgnored: boolean;
};

const MAX_CHARS = 2000;
const MAX_DEPTH = 50;
const MAX_REPEAT = 1000;
const CONTROLS: Readonly<Record<string, number>> = { t: 9, n: 10, v: 11, f: 12, r: 13, '0': 0 };
const LINE_ENDS: readonly CharRange[] = [
  [10, 10],
  [13, 13],
  [0x2028, 0x2029],
];

/**
 * Takes a pattern apart.
 *
 * @throws {QuarkError} `invalid_input` with the rule that the pattern breaks
 */
export function parsePattern(source: string): ParsedPattern {
  return new PatternParser(source).parse();
}

class PatternParser {
  readonly #source: string;
  readonly #isCaseIgnored: boolean;
  readonly #names = new Map<string, number>();
  #groupCount = 0;
  #at = 0;
  #depth = 0;

  constructor(source: string) {
    this.#source = source;
    this.#isCaseIgnored = source.startsWith('(?i)');
    if (this.#isCaseIgnored) this.#at = 4;
  }

  parse(): ParsedPattern {
    if (this.#source.length > MAX_CHARS)
      throw this.#refused(`a pattern of at most ${MAX_CHARS} characters`);
    const node = this.#either();
    if (this.#at < this.#source.length)
      throw this.#refused(`a pattern with a "(" for the ")" at character ${this.#at + 1}`);
    return {
      node,
      names: this.#names,
      groupCount: this.#groupCount,
      isCaseIgnored: this.#isCaseIgnored,
    };
  }

  #refused(rule: string): QuarkError {
    return invalidInput('pattern', this.#source, rule);
  }

  #next(): string {
    return this.#source[this.#at] ?? '';
  }

  #takes(text: string): boolean {
    if (!this.#source.startsWith(text, this.#at)) return false;
    this.#at += text.length;
    return true;
  }

  #either(): PatternNode {
    if (++this.#depth > MAX_DEPTH) throw this.#refused(`at most ${MAX_DEPTH} groups in another`);
    const nodes = [this.#sequence()];
    while (this.#takes('|')) nodes.push(this.#sequence());
    this.#depth--;
    return { kind: 'any', nodes };
  }

  #sequence(): PatternNode {
    const nodes: PatternNode[] = [];
    while (this.#at < this.#source.length && this.#next() !== '|' && this.#next() !== ')')
      nodes.push(this.#repeated(this.#atom()));
    return { kind: 'all', nodes };
  }

  #repeated(node: PatternNode): PatternNode {
    const bounds = this.#bounds();
    if (bounds === undefined) return node;
    const [min, max] = bounds;
    if (node.kind === 'assert') throw this.#refused('something to repeat before a quantifier');
    const repeated: PatternNode = { kind: 'repeat', node, min, max, isLazy: this.#takes('?') };
    if (this.#bounds() !== undefined) throw this.#refused('one quantifier, not two in a row');
    return repeated;
  }

  #bounds(): readonly [min: number, max: number] | undefined {
    if (this.#takes('*')) return [0, Infinity];
    if (this.#takes('+')) return [1, Infinity];
    if (this.#takes('?')) return [0, 1];
    const braces = /^\{(\d{1,6})(,(\d{0,6}))?\}/.exec(this.#source.slice(this.#at, this.#at + 20));
    if (braces === null) return undefined;
    this.#at += braces[0].length;
    const min = Number(braces[1]);
    const most = braces[3] === undefined || braces[3] === '' ? Infinity : Number(braces[3]);
    const max = braces[2] === undefined ? min : most;
    if (max < min || min > MAX_REPEAT || (max > MAX_REPEAT && max !== Infinity))
      throw this.#refused(`{from,to} with numbers up to ${MAX_REPEAT} in ascending order`);
    return [min, max];
  }

  #atom(): PatternNode {
    const char = this.#next();
    this.#at++;
    switch (char) {
      case '(':
        return this.#group();
      case '[':
        return { kind: 'set', ranges: this.#class() };
      case '.':
        return { kind: 'set', ranges: inverted(LINE_ENDS) };
      case '^':
        return { kind: 'assert', what: 'start' };
      case '$':
        return { kind: 'assert', what: 'end' };
      case '*':
      case '+':
      case '?':
        throw this.#refused(`something to repeat before the "${char}" at character ${this.#at}`);
      case '\\':
        if (this.#takes('b')) return { kind: 'assert', what: 'border' };
        if (this.#takes('B')) return { kind: 'assert', what: 'inside' };
        return { kind: 'set', ranges: this.#escape() };
      default: {
        const unit = char.charCodeAt(0);
        return { kind: 'set', ranges: [[unit, unit]] };
      }
    }
  }

  #group(): PatternNode {
    let index = 0;
    if (this.#takes('?:')) index = -1;
    else if (/^\?(?:[=!]|<[=!])/.test(this.#source.slice(this.#at, this.#at + 3)))
      throw this.#refused('a pattern without lookahead and lookbehind, which take unbounded time');
    else if (this.#takes('?')) {
      const name = /^P?<([A-Za-z_]\w{0,60})>/.exec(this.#source.slice(this.#at, this.#at + 70));
      if (name === null) throw this.#refused('groups that begin with (, (?: or (?<name>');
      this.#at += name[0].length;
      const text = name[1] ?? '';
      if (this.#names.has(text)) throw this.#refused(`one group called ${text}`);
      index = ++this.#groupCount;
      this.#names.set(text, index);
    } else index = ++this.#groupCount;
    const node = this.#either();
    if (!this.#takes(')')) throw this.#refused('a ")" for every "("');
    return index < 0 ? node : { kind: 'group', index, node };
  }

  #class(): readonly CharRange[] {
    const isInverted = this.#takes('^');
    const ranges: CharRange[] = [];
    while (!this.#takes(']')) {
      if (this.#at >= this.#source.length) throw this.#refused('a "]" for every "["');
      const from = this.#classItem();
      const [first] = from;
      const isRange = this.#next() === '-' && this.#source[this.#at + 1] !== ']';
      if (!isRange || from.length !== 1 || first === undefined || first[0] !== first[1]) {
        ranges.push(...from);
        continue;
      }
      this.#at++;
      const [last] = this.#classItem();
      if (last === undefined || last[0] !== last[1] || last[0] < first[0])
        throw this.#refused('ranges such as [a-z], in ascending order');
      ranges.push([first[0], last[0]]);
    }
    return isInverted ? inverted(ranges) : ranges;
  }

  #classItem(): readonly CharRange[] {
    if (this.#takes('\\')) return this.#escape();
    const unit = this.#source.charCodeAt(this.#at++);
    return [[unit, unit]];
  }

  #escape(): readonly CharRange[] {
    const char = this.#next();
    this.#at++;
    const several = escapedRanges(char);
    if (several !== undefined) return several;
    const code = /^(?:x([\dA-Fa-f]{2})|u([\dA-Fa-f]{4}))/.exec(
      this.#source.slice(this.#at - 1, this.#at + 4),
    );
    if (code !== null) {
      this.#at += code[0].length - 1;
      const unit = Number.parseInt(code[1] ?? code[2] ?? '', 16);
      return [[unit, unit]];
    }
    if (/^[1-9k]$/.test(char))
      throw this.#refused('a pattern without back references, which take unbounded time');
    const unit = CONTROLS[char] ?? char.charCodeAt(0);
    if (char === '' || (CONTROLS[char] === undefined && /\w/.test(char)))
      throw this.#refused(`a pattern without "\\${char}", which means nothing here`);
    return [[unit, unit]];
  }
}
