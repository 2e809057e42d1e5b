/**
 * The part of YAML that programs write for settings and results: mappings and lists by indentation or in brackets, plain and quoted
 * scalars, texts over several lines. Tags are left out; anchors and aliases are not followed, so nothing expands. What is not understood
 * is reported by line, and the rest is read.
 */
import { closingQuote, FlowReader, plainScalar, unquote, withoutComment } from './yaml-scalars.ts';

/** What a line holds that was not understood. */
export type YamlProblem = { readonly line: number; readonly reason: string };

/** A document as far as it was understood. */
export type YamlDocument = { readonly value: unknown; readonly problems: readonly YamlProblem[] };

type YamlLine = { readonly indent: number; readonly text: string; readonly number: number };

const MAX_PROBLEMS = 1000;
/** Lines that one scalar may go over. */
const MAX_SCALAR_LINES = 10_000;
/** Each line is joined to one before it once, where all can be read. */
const JOINS_PER_LINE = 8;

/** Reads the first document of a text. */
export function parseYaml(text: string, maxDepth: number): YamlDocument {
  return new YamlReader(text, maxDepth).read();
}

class YamlReader {
  readonly #lines: YamlLine[] = [];
  /** Every line as it is, for texts over several lines. */
  readonly #raw: readonly string[];
  readonly #problems: YamlProblem[] = [];
  readonly #maxDepth: number;
  #at = 0;
  /** Brackets that were never closed are looked for once, not from each line. */
  #hasOpenBrackets = false;
  /** Lines that may still be joined to ones before: what cannot be read is tried again from the next line, but not from every line. */
  #joinsLeft: number;

  constructor(text: string, maxDepth: number) {
    this.#maxDepth = maxDepth;
    this.#raw = text.replace(/^\ufeff/, '').split(/\r\n|\n|\r/);
    this.#joinsLeft = JOINS_PER_LINE * this.#raw.length;
    let hasStarted = false;
    for (const [i, raw] of this.#raw.entries()) {
      if (/^(?:---|\.\.\.)(?:\s|$)/.test(raw)) {
        if (hasStarted) {
          this.#problem(i + 1, 'There are more documents: only the first is read.');
          break;
        }
        if (raw.slice(3).trim() === '' || !raw.startsWith('---')) continue;
      }
      const line = raw.replace(/^---/, '   ');
      const content = line.trimStart();
      if (content === '' || content.startsWith('#') || (content.startsWith('%') && !hasStarted))
        continue;
      hasStarted = true;
      const indent = line.length - content.length;
      if (line.slice(0, indent).includes('\t'))
        this.#problem(i + 1, 'The indentation has tabs in it.');
      this.#lines.push({ indent, text: content, number: i + 1 });
    }
  }

  read(): YamlDocument {
    const first = this.#lines[0];
    const value = first === undefined ? null : this.#block(first.indent, 0);
    const left = this.#lines[this.#at];
    if (left !== undefined)
      this.#problem(left.number, 'From here on nothing is read: the indentation does not fit.');
    return { value, problems: this.#problems };
  }

  /** A mapping, list or scalar whose lines are indented by `indent`. */
  #block(indent: number, depth: number): unknown {
    const line = this.#lines[this.#at];
    if (line === undefined || line.indent < indent) return null;
    if (depth > this.#maxDepth) {
      this.#problem(
        line.number,
        `It is nested more than ${this.#maxDepth} levels deep (limits.maxDepth).`,
      );
      this.#skipBelow(indent - 1);
      return null;
    }
    if (isItem(line.text)) return this.#list(line.indent, depth);
    if (keyEnd(line.text) >= 0) return this.#map(line.indent, depth);
    this.#at++;
    return this.#inline(line.text, line, indent - 1, depth);
  }

  #list(indent: number, depth: number): unknown[] {
    const items: unknown[] = [];
    for (;;) {
      const line = this.#lines[this.#at];
      if (line === undefined || line.indent !== indent || !isItem(line.text)) return items;
      const rest = line.text.slice(1).trimStart();
      if (rest === '' || rest.startsWith('#')) {
        this.#at++;
        items.push(this.#below(indent, depth));
        continue;
      }
      // What follows the dash is a block of its own, indented by where it stands.
      const inner = {
        indent: indent + line.text.length - rest.length,
        text: rest,
        number: line.number,
      };
      if (isItem(rest) || keyEnd(rest) >= 0) {
        this.#lines[this.#at] = inner;
        items.push(this.#block(inner.indent, depth + 1));
      } else {
        this.#at++;
        items.push(this.#inline(rest, line, indent, depth));
      }
    }
  }

  #map(indent: number, depth: number): Record<string, unknown> {
    const entries = new Map<string, unknown>();
    for (;;) {
      const line = this.#lines[this.#at];
      if (line === undefined || line.indent < indent) break;
      const colon = line.indent === indent ? keyEnd(line.text) : -1;
      if (colon < 0) {
        // A list may stand as deep as the key it belongs to; it was read with that key.
        this.#problem(line.number, 'It is no "key: value" of this mapping.');
        this.#at++;
        continue;
      }
      const written = line.text.slice(0, colon).trimEnd();
      const key = /^["']/.test(written) ? unquote(written) : written;
      const rest = line.text.slice(colon + 1).trim();
      this.#at++;
      if (entries.has(key) && this.#problems.length < MAX_PROBLEMS)
        this.#problem(
          line.number,
          `There is a second ${JSON.stringify(key.slice(0, 100))}: the last counts.`,
        );
      entries.set(key, this.#valueAfter(rest, line, indent, depth));
    }
    return Object.fromEntries(entries);
  }

  /** The value of a key: on its line, or below it. */
  #valueAfter(text: string, line: YamlLine, indent: number, depth: number): unknown {
    const rest = this.#withoutMarks(text, line);
    if (rest !== '' && !rest.startsWith('#')) return this.#inline(rest, line, indent, depth);
    const next = this.#lines[this.#at];
    if (next !== undefined && next.indent === indent && isItem(next.text))
      return this.#list(indent, depth + 1);
    return this.#below(indent, depth);
  }

  #below(indent: number, depth: number): unknown {
    const next = this.#lines[this.#at];
    return next === undefined || next.indent <= indent ? null : this.#block(next.indent, depth + 1);
  }

  /** A value that starts on this line. */
  #inline(text: string, line: YamlLine, indent: number, depth: number): unknown {
    const rest = this.#withoutMarks(text, line);
    if (rest === '') return this.#below(indent, depth);
    const first = rest[0] ?? '';
    if (/^[|>][+-]?\d?[+-]?\s*(?:#.*)?$/.test(rest))
      return this.#literal(first === '>', line, indent);
    if (first === '"' || first === "'") return this.#quoted(rest, line, indent);
    if (first === '[' || first === '{') return this.#flow(rest, line, depth);
    if (first === '*') {
      this.#problem(line.number, 'An alias is not followed: its name is kept as text.');
      return withoutComment(rest);
    }
    let value = withoutComment(rest);
    for (const more of this.#continued(indent)) value += ` ${withoutComment(more)}`;
    return plainScalar(value);
  }

  /** Lines that go on with a scalar: those that are indented deeper. */
  #continued(indent: number): string[] {
    const lines: string[] = [];
    for (; lines.length < MAX_SCALAR_LINES && this.#joinsLeft-- > 0; this.#at++) {
      const line = this.#lines[this.#at];
      if (line === undefined || line.indent <= indent) break;
      lines.push(line.text);
    }
    return lines;
  }

  #quoted(rest: string, line: YamlLine, indent: number): unknown {
    let whole = rest;
    let end = closingQuote(whole, 0);
    if (end < 0) {
      const from = this.#at;
      whole = [rest, ...this.#continued(indent)].join(' ');
      end = closingQuote(whole, 0);
      if (end < 0) this.#at = from;
    }
    if (end >= 0 && withoutComment(whole.slice(end + 1).trim()) === '')
      return unquote(whole.slice(0, end + 1));
    this.#problem(
      line.number,
      'The quotes do not match: what is between the first and the last is kept.',
    );
    const last = rest.lastIndexOf(rest[0] ?? '');
    return rest.slice(1, last > 0 ? last : undefined);
  }

  #flow(rest: string, line: YamlLine, depth: number): unknown {
    let whole = rest;
    const from = this.#at;
    if (!isBalanced(whole) && !this.#hasOpenBrackets) {
      const parts = [rest];
      let balance = balanceOf(rest);
      while (balance > 0 && parts.length < MAX_SCALAR_LINES && this.#joinsLeft-- > 0) {
        const next = this.#lines[this.#at];
        if (next === undefined) break;
        this.#at++;
        parts.push(withoutComment(next.text));
        balance += balanceOf(next.text);
      }
      if (balance > 0) {
        this.#hasOpenBrackets = true;
        this.#at = from;
      } else whole = parts.join(' ');
    }
    const found = new FlowReader(whole, this.#maxDepth - depth).read();
    if (found !== undefined) return found.value;
    this.#at = from;
    this.#problem(line.number, 'The brackets cannot be read: kept as text.');
    return withoutComment(rest);
  }

  #literal(isFolded: boolean, line: YamlLine, indent: number): string {
    const lines: string[] = [];
    let own = -1;
    let at = line.number;
    for (; at < this.#raw.length && lines.length < MAX_SCALAR_LINES; at++) {
      const raw = this.#raw[at] ?? '';
      const content = raw.trimStart();
      const deep = raw.length - content.length;
      if (content !== '') {
        if (deep <= indent) break;
        if (own < 0) own = deep;
      }
      lines.push(raw.slice(Math.min(deep, Math.max(own, 0))));
    }
    while ((this.#lines[this.#at]?.number ?? Infinity) <= at) this.#at++;
    return lines.join(isFolded ? ' ' : '\n').trimEnd();
  }

  /** Without tags and anchors before a value. */
  #withoutMarks(text: string, line: YamlLine): string {
    let rest = text;
    for (let i = 0; i < 2 && /^[!&]\S*(?:\s|$)/.test(rest); i++) {
      if (rest.startsWith('!'))
        this.#problem(
          line.number,
          `The tag ${rest.slice(0, 100).split(/\s/)[0] ?? ''} is left out.`,
        );
      rest = rest.replace(/^\S+\s*/, '');
    }
    return rest;
  }

  #skipBelow(indent: number): void {
    while ((this.#lines[this.#at]?.indent ?? -1) > indent) this.#at++;
  }

  #problem(line: number, reason: string): void {
    if (this.#problems.length < MAX_PROBLEMS) this.#problems.push({ line, reason });
  }
}

function isItem(text: string): boolean {
  return /^-(?:\s|$)/.test(text);
}

/** Where the colon stands that ends a key at the beginning of a text; -1 when there is no key. */
function keyEnd(text: string): number {
  if (text.startsWith('"') || text.startsWith("'")) {
    const end = closingQuote(text, 0);
    if (end < 0) return -1;
    let at = end + 1;
    while (text[at] === ' ') at++;
    return text[at] === ':' && isBlankAt(text, at + 1) ? at : -1;
  }
  if (/^[#[\]{},&*!|>%@`?]/.test(text)) return -1;
  for (let at = text.indexOf(':'); at >= 0; at = text.indexOf(':', at + 1)) {
    if (!isBlankAt(text, at + 1)) continue;
    return at === 0 || withoutComment(text.slice(0, at)).length < text.slice(0, at).trimEnd().length
      ? -1
      : at;
  }
  return -1;
}

function isBlankAt(text: string, at: number): boolean {
  return at >= text.length || text[at] === ' ' || text[at] === '\t';
}

function isBalanced(text: string): boolean {
  return balanceOf(text) <= 0;
}

/** Opening brackets without closing ones, outside of quotes. */
function balanceOf(text: string): number {
  let balance = 0;
  for (let at = 0; at < text.length; at++) {
    const character = text[at] ?? '';
    if (character === '"' || character === "'") {
      const end = closingQuote(text, at);
      if (end < 0) return balance;
      at = end;
    } else if (character === '[' || character === '{') balance++;
    else if (character === ']' || character === '}') balance--;
  }
  return balance;
}
