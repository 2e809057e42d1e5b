/**
 * Formulas of metrics, such as `val/loss - train/loss`: read here, evaluated in `evaluate-formula.ts`.
 *
 * A key is written as it is: a letter or `_`, then letters, digits, `_`, `.`, and `/` between two of these. Any other key is put in
 * quotes: `"top-1 accuracy"`. So `a/b` is a key, and `a / b` is a division. There are `+ - * /`, parentheses, numbers, and the functions
 * of {@link FORMULA_FUNCTIONS}.
 */
import { invalidInput, QuarkError } from '../base/errors.ts';
import { checkStorable } from '../base/names.ts';

/** Functions of formulas; `min` and `max` take two and more. `log` is the natural logarithm. */
export const FORMULA_FUNCTIONS = ['abs', 'log', 'exp', 'sqrt', 'min', 'max'] as const;

/** One of {@link FORMULA_FUNCTIONS}. */
export type FormulaFunction = (typeof FORMULA_FUNCTIONS)[number];

/** Longest text of a formula. */
export const MAX_FORMULA_CHARS = 1000;
/** Deepest nesting, and most metrics of a formula. */
const MAX_DEPTH = 64;
const MAX_METRICS = 32;

/** A part of a formula. */
export type FormulaNode =
  | { readonly kind: 'number'; readonly value: number }
  | { readonly kind: 'metric'; readonly key: string }
  | { readonly kind: 'minus'; readonly of: FormulaNode }
  | {
      readonly kind: 'operation';
      readonly operator: '+' | '-' | '*' | '/';
      readonly left: FormulaNode;
      readonly right: FormulaNode;
    }
  | {
      readonly kind: 'call';
      readonly name: FormulaFunction;
      readonly of: readonly FormulaNode[];
    };

/** A formula that was read. */
export type Formula = {
  /** As it was written. */
  readonly text: string;
  readonly root: FormulaNode;
  /** The metrics that it names, each once, in the order in which they come. */
  readonly metrics: readonly string[];
};

type Token = {
  readonly kind: 'number' | 'key' | 'sign' | 'end';
  readonly text: string;
  readonly from: number;
  readonly to: number;
};

const NUMBER = /(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?/y;
const KEY = /[A-Za-z_][\w.]*(?:\/\w[\w.]*)*/y;
const SIGNS = '+-*/(),';

/**
 * Reads a formula.
 *
 * @param text at most 1,000 characters, 64 levels of parentheses and 32 metrics, of which it names one at least
 * @throws {QuarkError} `invalid_input`; its `details` have `from` and `to`, the characters that are wrong
 * @example
 * ```js
 * import { parseFormula } from 'quark-sdk/workspace';
 *
 * console.log(parseFormula('max(val/loss, 0.1) - train/loss').metrics); // [ 'val/loss', 'train/loss' ]
 * try {
 *   parseFormula('val/loss - (');
 * } catch (error) {
 *   console.log(error.message, error.details.from, error.details.to);
 * }
 * ```
 */
export function parseFormula(text: string): Formula {
  checkStorable('formula', text);
  if (text.length > MAX_FORMULA_CHARS)
    throw invalidInput('formula.length', text.length, `at most ${MAX_FORMULA_CHARS} characters`);
  return new FormulaParser(text).parse();
}

class FormulaParser {
  readonly #text: string;
  readonly #metrics = new Set<string>();
  #at = 0;
  #depth = 0;
  #token: Token;

  constructor(text: string) {
    this.#text = text;
    this.#token = this.#read();
  }

  parse(): Formula {
    const root = this.#sum();
    if (this.#token.kind !== 'end') throw this.#wrong(this.#token, 'an operator');
    if (this.#metrics.size === 0) throw this.#error(0, this.#text.length, 'It names no metric.');
    return { text: this.#text, root, metrics: [...this.#metrics] };
  }

  #sum(): FormulaNode {
    let left = this.#product();
    for (let operator = this.#sign('+', '-'); operator !== undefined;) {
      left = { kind: 'operation', operator, left, right: this.#product() };
      operator = this.#sign('+', '-');
    }
    return left;
  }

  #product(): FormulaNode {
    let left = this.#signed();
    for (let operator = this.#sign('*', '/'); operator !== undefined;) {
      left = { kind: 'operation', operator, left, right: this.#signed() };
      operator = this.#sign('*', '/');
    }
    return left;
  }

  #signed(): FormulaNode {
    const { from } = this.#token;
    if (this.#sign('-') === undefined) return this.#operand();
    return this.#nested(from, () => ({ kind: 'minus', of: this.#signed() }));
  }

  #operand(): FormulaNode {
    const token = this.#token;
    if (token.kind === 'number') {
      this.#next();
      return { kind: 'number', value: Number(token.text) };
    }
    if (token.kind === 'key') return this.#named(token);
    if (this.#sign('(') === undefined) throw this.#wrong(token, 'a metric, a number or "("');
    return this.#nested(token.from, () => {
      const inner = this.#sum();
      this.#close();
      return inner;
    });
  }

  /** A function where a parenthesis follows, else a metric. */
  #named(token: Token): FormulaNode {
    const isQuoted = this.#text[token.from] === '"';
    this.#next();
    const name = FORMULA_FUNCTIONS.find((one) => one === token.text);
    if (isQuoted || this.#sign('(') === undefined) return this.#metric(token);
    if (name === undefined)
      throw this.#error(
        token.from,
        token.to,
        `There is no function "${token.text}", only ${FORMULA_FUNCTIONS.join(', ')}.`,
      );
    return this.#nested(token.from, () => ({
      kind: 'call',
      name,
      of: this.#operands(name, token),
    }));
  }

  #metric({ from, text, to }: Token): FormulaNode {
    this.#metrics.add(text);
    if (this.#metrics.size > MAX_METRICS)
      throw this.#error(from, to, `It names more than ${MAX_METRICS} metrics.`);
    return { kind: 'metric', key: text };
  }

  #operands(name: FormulaFunction, { from }: Token): readonly FormulaNode[] {
    const given = [this.#sum()];
    while (this.#sign(',') !== undefined) given.push(this.#sum());
    const { to } = this.#token;
    this.#close();
    const takesSeveral = name === 'min' || name === 'max';
    if (takesSeveral ? given.length < 2 : given.length !== 1)
      throw this.#error(
        from,
        to,
        `${name} takes ${takesSeveral ? 'two values or more' : 'one value'}.`,
      );
    return given;
  }

  #close(): void {
    if (this.#sign(')') === undefined) throw this.#wrong(this.#token, 'an operator or ")"');
  }

  #nested(from: number, inner: () => FormulaNode): FormulaNode {
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH)
      throw this.#error(from, from + 1, `It is nested deeper than ${MAX_DEPTH} levels.`);
    const node = inner();
    this.#depth -= 1;
    return node;
  }

  /** Takes the next token if it is one of these signs. */
  #sign<const S extends string>(...signs: readonly S[]): S | undefined {
    const { kind, text } = this.#token;
    const found = kind === 'sign' ? signs.find((sign) => sign === text) : undefined;
    if (found !== undefined) this.#next();
    return found;
  }

  #next(): void {
    this.#token = this.#read();
  }

  #read(): Token {
    while (/\s/.test(this.#text[this.#at] ?? '')) this.#at += 1;
    const from = this.#at;
    const first = this.#text[from];
    if (first === undefined) return { kind: 'end', text: '', from, to: from };
    if (first === '"') return this.#quoted(from);
    const number = this.#match(NUMBER);
    if (number !== undefined) return { kind: 'number', text: number, from, to: this.#at };
    const key = this.#match(KEY);
    if (key !== undefined) return { kind: 'key', text: key, from, to: this.#at };
    if (!SIGNS.includes(first))
      throw this.#error(
        from,
        from + 1,
        `"${first}" is not known. Put other keys in quotes: "top-1".`,
      );
    this.#at += 1;
    return { kind: 'sign', text: first, from, to: this.#at };
  }

  #quoted(from: number): Token {
    let text = '';
    for (let at = from + 1; at < this.#text.length; at += 1) {
      const character = this.#text[at] ?? '';
      if (character === '"') {
        this.#at = at + 1;
        if (text === '') throw this.#error(from, this.#at, 'The key in quotes is empty.');
        return { kind: 'key', text, from, to: this.#at };
      }
      if (character === '\\') at += 1;
      text += character === '\\' ? (this.#text[at] ?? '') : character;
    }
    throw this.#error(from, this.#text.length, 'The closing quote is missing.');
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0];
    if (found !== undefined) this.#at += found.length;
    return found;
  }

  #wrong({ from, kind, text, to }: Token, expected: string): QuarkError {
    if (kind === 'end') return this.#error(from, to, `It ends where ${expected} is expected.`);
    return this.#error(from, to, `Expected ${expected}, found "${text}".`);
  }

  #error(from: number, to: number, rule: string): QuarkError {
    return new QuarkError('invalid_input', `formula, character ${from + 1}: ${rule}`, {
      details: { field: 'formula', value: this.#text, rule, from, to },
    });
  }
}

/**
 * The key of a metric as a formula writes it: in quotes where it has characters that formulas use, such as a context.
 *
 * @example
 * ```js
 * import { formulaKey, parseFormula } from 'quark-sdk/workspace';
 *
 * const text = `${formulaKey('val/loss')} - ${formulaKey('loss {subset=val}')}`;
 * console.log(text);
 * console.log(parseFormula(text).metrics); // [ 'val/loss', 'loss {subset=val}' ]
 * ```
 */
export function formulaKey(key: string): string {
  KEY.lastIndex = 0;
  const isPlain = KEY.exec(key)?.[0] === key && !FORMULA_FUNCTIONS.some((one) => one === key);
  return isPlain ? key : `"${key.replace(/["\\]/g, '\\$&')}"`;
}
