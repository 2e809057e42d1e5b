/** Values of YAML on one line: plain, quoted, and in brackets. */
import { numberFromText } from '../number-text.ts';

const ESCAPES: Readonly<Record<string, string>> = {
  '0': '\0',
  a: '\u0007',
  b: '\b',
  t: '\t',
  n: '\n',
  v: '\v',
  f: '\f',
  r: '\r',
  e: '\u001b',
  ' ': ' ',
  '"': '"',
  '/': '/',
  '\\': '\\',
  N: '\u0085',
  _: '\u00a0',
  L: '\u2028',
  P: '\u2029',
};

/** Where a quoted text that starts at `from` ends (the place of its closing quote), or -1. */
export function closingQuote(text: string, from: number): number {
  const quote = text[from];
  for (let at = from + 1; at < text.length; at++) {
    if (quote === '"' && text[at] === '\\') at++;
    else if (text[at] === quote) {
      if (quote === "'" && text[at + 1] === "'") at++;
      else return at;
    }
  }
  return -1;
}

/** What stands between quotes. */
export function unquote(quoted: string): string {
  const inner = quoted.slice(1, -1);
  if (quoted.startsWith("'")) return inner.replaceAll("''", "'");
  return inner.replace(
    /\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))/gs,
    (whole, two?: string, four?: string, eight?: string, one?: string) => {
      const hex = two ?? four ?? eight;
      if (hex === undefined) return ESCAPES[one ?? ''] ?? whole;
      const code = Number.parseInt(hex, 16);
      return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
    },
  );
}

/** A plain scalar as a value. Integers that would lose a digit as a double stay text. */
export function plainScalar(text: string): string | number | boolean | null {
  if (/^(?:null|Null|NULL|~|)$/.test(text)) return null;
  if (/^(?:true|True|TRUE)$/.test(text)) return true;
  if (/^(?:false|False|FALSE)$/.test(text)) return false;
  if (/^[+-]?\.(?:nan|NaN|NAN)$/.test(text)) return Number.NaN;
  if (/^[+-]?\.(?:inf|Inf|INF)$/.test(text)) return text.startsWith('-') ? -Infinity : Infinity;
  if (!/^[+-]?[.\d]/.test(text)) return text;
  const isWhole = /^[+-]?\d+$/.test(text);
  const number = /^0[xob][0-9a-f]+$/i.test(text) ? Number(text) : numberFromText(text);
  if (typeof number !== 'number' || Number.isNaN(number)) return text;
  const isWholeNumber = Number.isSafeInteger(number) || String(number) === text.replace('+', '');
  return isWhole && !isWholeNumber ? text : number;
}

/** Text without the comment at its end. */
export function withoutComment(text: string): string {
  if (!text.includes('#')) return text.trimEnd();
  if (text.startsWith('#')) return '';
  const found = /\s#/.exec(text);
  return (found === null ? text : text.slice(0, found.index)).trimEnd();
}

/** Reads `[a, b]` and `{a: b}`. */
export class FlowReader {
  readonly #text: string;
  readonly #maxDepth: number;
  #at = 0;

  constructor(text: string, maxDepth: number) {
    this.#text = text;
    this.#maxDepth = maxDepth;
  }

  /** The value, or undefined when there is no end to it, it is nested too deep, or something follows it. */
  read(): { readonly value: unknown } | undefined {
    const value = this.#value(0);
    if (value === undefined || withoutComment(this.#text.slice(this.#at).trim()) !== '')
      return undefined;
    return value;
  }

  #value(depth: number): { readonly value: unknown } | undefined {
    if (depth > this.#maxDepth) return undefined;
    this.#skip();
    const first = this.#text[this.#at];
    if (first === '[') return this.#list(depth);
    if (first === '{') return this.#map(depth);
    if (first === '"' || first === "'") {
      const end = closingQuote(this.#text, this.#at);
      if (end < 0) return undefined;
      const value = unquote(this.#text.slice(this.#at, end + 1));
      this.#at = end + 1;
      return { value };
    }
    const text = this.#plain();
    return { value: plainScalar(text.replace(/^![^\s]*\s*/, '')) };
  }

  #list(depth: number): { readonly value: unknown } | undefined {
    const value: unknown[] = [];
    this.#at++;
    for (;;) {
      this.#skip();
      if (this.#take(']')) return { value };
      const item = this.#value(depth + 1);
      if (item === undefined) return undefined;
      value.push(item.value);
      this.#skip();
      if (!this.#take(',') && this.#text[this.#at] !== ']') return undefined;
    }
  }

  #map(depth: number): { readonly value: unknown } | undefined {
    const entries = new Map<string, unknown>();
    this.#at++;
    for (;;) {
      this.#skip();
      if (this.#take('}')) return { value: Object.fromEntries(entries) };
      const key = this.#value(depth + 1);
      if (key === undefined) return undefined;
      this.#skip();
      let value: unknown = null;
      if (this.#take(':')) {
        this.#skip();
        if (this.#text[this.#at] !== ',' && this.#text[this.#at] !== '}') {
          const found = this.#value(depth + 1);
          if (found === undefined) return undefined;
          value = found.value;
        }
      }
      entries.set(String(key.value), value);
      this.#skip();
      if (!this.#take(',') && this.#text[this.#at] !== '}') return undefined;
    }
  }

  #plain(): string {
    const from = this.#at;
    for (; this.#at < this.#text.length; this.#at++) {
      const character = this.#text[this.#at] ?? '';
      if (',[]{}'.includes(character)) break;
      if (
        character === ':' &&
        /^(?:[\s,[\]{}]|$)/.test(this.#text.slice(this.#at + 1, this.#at + 2))
      )
        break;
    }
    return this.#text.slice(from, this.#at).trim();
  }

  #skip(): void {
    while (/\s/.test(this.#text[this.#at] ?? '')) this.#at++;
  }

  #take(character: string): boolean {
    if (this.#text[this.#at] !== character) return false;
    this.#at++;
    return true;
  }
}
