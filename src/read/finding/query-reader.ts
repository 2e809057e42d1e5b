/** Reads the words of a query line, each with its position. */

/** A part of a line, from its first character to the one after its last. */
export type LineSpan = { readonly from: number; readonly to: number };

/** A word: its text without quotes, and whether any of it was quoted. */
export type Word = LineSpan & { readonly text: string; readonly isQuoted: boolean };

/** What a line cannot be read for. */
export class QueryLineError extends Error {
  readonly span: LineSpan;
  readonly expected: readonly string[];

  constructor(message: string, span: LineSpan, expected: readonly string[]) {
    super(message);
    this.name = 'QueryLineError';
    this.span = span;
    this.expected = expected;
  }
}

/** Longest first. */
export const QUERY_OPERATORS = ['<=', '>=', '!=', '==', '!~', '<', '>', '=', '~', ':'] as const;
/** One of {@link QUERY_OPERATORS}. */
export type QueryOperator = (typeof QUERY_OPERATORS)[number];

const SPACE = /\s/u;
const NAME_END = /[\s<>=!~()"',]/u;

/** Goes through a line from left to right. */
export class QueryReader {
  readonly text: string;
  /** @param isField whether a ":" after this name is an operator */
  readonly #isField: (name: string) => boolean;
  at = 0;

  constructor(text: string, isField: (name: string) => boolean) {
    this.text = text;
    this.#isField = isField;
  }

  /** Passes over spaces; whether the line ends there. */
  isAtEnd(): boolean {
    while (this.at < this.text.length && SPACE.test(this.text[this.at] ?? '')) this.at++;
    return this.at >= this.text.length;
  }

  /** Takes one of these characters if it is next. */
  takes(character: string): boolean {
    if (this.isAtEnd() || this.text[this.at] !== character) return false;
    this.at++;
    return true;
  }

  /** Takes a word such as `and` if it is next, whatever its case. */
  takesKeyword(keyword: string): boolean {
    if (this.isAtEnd()) return false;
    const end = this.at + keyword.length;
    const isWord = this.text.slice(this.at, end).toLowerCase() === keyword;
    const after = this.text[end];
    if (!isWord || (after !== undefined && !SPACE.test(after) && after !== '(' && after !== ')'))
      return false;
    this.at = end;
    return true;
  }

  /** Takes an operator if one is next. */
  takeOperator(): QueryOperator | undefined {
    if (this.isAtEnd()) return undefined;
    const found = QUERY_OPERATORS.find((one) => this.text.startsWith(one, this.at));
    if (found !== undefined) this.at += found.length;
    return found;
  }

  /** Takes a name or a word of a text; undefined where none begins. Names are joined from quoted and plain parts. */
  takeName(): Word | undefined {
    if (this.isAtEnd()) return undefined;
    const from = this.at;
    let text = '';
    let isQuoted = false;
    for (let next = this.text[this.at]; next !== undefined; next = this.text[this.at]) {
      if (next === '"' || (next === "'" && this.at === from)) {
        text += this.#takeQuoted(next);
        isQuoted = true;
      } else if (next === ':' && !isQuoted && this.#isField(text)) break;
      else if (next !== "'" && NAME_END.test(next)) break;
      else {
        text += next;
        this.at++;
      }
    }
    return this.at === from ? undefined : { text, isQuoted, from, to: this.at };
  }

  /** Takes a value: quoted, or up to a space or a parenthesis that closes what was opened before it. @param isInList ends at "," as well */
  takeValue(isInList = false): Word | undefined {
    if (this.isAtEnd()) return undefined;
    const from = this.at;
    const first = this.text[from];
    if (first === '"' || first === "'") {
      const text = this.#takeQuoted(first);
      return { text, isQuoted: true, from, to: this.at };
    }
    let open = 0;
    for (let next = first; next !== undefined; next = this.text[++this.at]) {
      if (SPACE.test(next) || next === '"' || (isInList && next === ',')) break;
      if (next === '(') open++;
      else if (next === ')' && --open < 0) break;
    }
    if (this.at === from) return undefined;
    return { text: this.text.slice(from, this.at), isQuoted: false, from, to: this.at };
  }

  /** What is next, to be named in a message. */
  next(): LineSpan & { readonly text: string } {
    this.isAtEnd();
    const from = this.at;
    const match = /^(?:[^\s()]+|[()])/u.exec(this.text.slice(from));
    const text = match?.[0] ?? '';
    return { from, to: from + text.length, text };
  }

  #takeQuoted(quote: string): string {
    const from = this.at;
    let text = '';
    for (this.at++; this.at < this.text.length; this.at++) {
      const next = this.text[this.at] ?? '';
      if (next === quote) {
        this.at++;
        return text;
      }
      if (next === '\\' && this.at + 1 < this.text.length) text += this.text[++this.at];
      else text += next;
    }
    throw new QueryLineError('The quoted text does not end.', { from, to: this.text.length }, [
      quote,
    ]);
  }
}
