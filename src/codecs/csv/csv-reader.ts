/**
 * Rows of a table out of pieces of bytes. Numbers are read where they stand; only what is no number becomes a string, and only when it is
 * asked for. Fields may be quoted (RFC 4180), hold line ends, and be padded with blanks.
 */
import { DecimalScanner } from './decimal.ts';
import { numberFromText } from '../number-text.ts';
import { CELL_ABSENT, CELL_NUMBER, CELL_TEXT, type TableRow } from '../table-rows.ts';

const QUOTE = 0x22;
const NEWLINE = 0x0a;
const RETURN = 0x0d;
const BLANK = 0x20;
const TAB = 0x09;

/** What a {@link CsvReader} needs to know. */
export type CsvReaderConfig = {
  /** One ASCII character. */
  readonly delimiter: string;
  readonly maxColumns: number;
  /** Longest row. A quoted field that is not closed within it is taken as a line of its own. */
  readonly maxRowBytes: number;
};

export class CsvReader implements TableRow {
  /** Cells of the row, those beyond `maxColumns` included. */
  cellCount = 0;
  /** Cells of the row that are numbers. */
  numberCount = 0;
  /** Line on which the row starts, from 1. */
  line = 0;
  /** Whether the row could not be read, because a quoted field has no end or the row is too long. */
  isBroken = false;
  readonly kinds: Uint8Array;
  readonly numbers: Float64Array;
  readonly #starts: Int32Array;
  readonly #ends: Int32Array;
  readonly #scanner = new DecimalScanner();
  readonly #delimiter: number;
  readonly #maxRowBytes: number;
  readonly #hasDecimalComma: boolean;
  #bytes: Uint8Array = new Uint8Array(0);
  #at = 0;
  #isLast = false;
  #isFirst = true;
  #nextLine = 1;
  /** Bytes without which it is no use to try the row again. */
  #retryBytes = 0;
  /** Inside a line that is too long. */
  #isSkipping = false;
  readonly #decoder = new TextDecoder();
  /** Line ends inside the row that is read. */
  #linesInside = 0;

  constructor({ delimiter, maxColumns, maxRowBytes }: CsvReaderConfig) {
    this.#delimiter = delimiter.charCodeAt(0);
    this.#maxRowBytes = maxRowBytes;
    this.#hasDecimalComma = delimiter === ';';
    this.kinds = new Uint8Array(maxColumns);
    this.numbers = new Float64Array(maxColumns);
    this.#starts = new Int32Array(maxColumns);
    this.#ends = new Int32Array(maxColumns);
  }

  /** Hands in the next bytes; those of before that were not used are kept. */
  feed(piece: Uint8Array, isLast = false): void {
    const left = this.#bytes.length - this.#at;
    if (left === 0) this.#bytes = piece;
    else {
      const joined = new Uint8Array(left + piece.length);
      joined.set(this.#bytes.subarray(this.#at));
      joined.set(piece, left);
      this.#bytes = joined;
    }
    this.#at = 0;
    this.#isLast = isLast;
    if (this.#isFirst && (this.#bytes.length >= 3 || isLast)) {
      const [first, second, third] = this.#bytes;
      if (first === 0xef && second === 0xbb && third === 0xbf) this.#at = 3;
      this.#isFirst = false;
    }
  }

  /** Reads the next row with something in it; false when there are not enough bytes for a whole one. */
  next(): boolean {
    if (this.#isFirst) return false;
    for (;;) {
      const length = this.#bytes.length - this.#at;
      if (length === 0 || (length < this.#retryBytes && !this.#isLast)) return false;
      this.#retryBytes = 0;
      this.#linesInside = 0;
      this.isBroken = this.#isSkipping;
      let end = this.#isSkipping ? this.#restOfLine() : this.#row(this.#at, true);
      // Longer ones are refused wherever the pieces end.
      if (end - this.#at > this.#maxRowBytes) end = -1;
      if (end < 0) {
        if (!this.#isLast && length <= this.#maxRowBytes && !this.#isSkipping) {
          // Reading a long row again with each piece would be quadratic.
          this.#retryBytes = Math.min(2 * length, this.#maxRowBytes + 1);
          return false;
        }
        this.isBroken = true;
        this.#linesInside = 0;
        end = this.#isSkipping ? -1 : this.#row(this.#at, false);
        if (end < 0 || end - this.#at > this.#maxRowBytes) end = this.#restOfLine();
        if (end < 0) return false;
      }
      this.line = this.#nextLine;
      this.#nextLine += 1 + this.#linesInside;
      this.#at = end;
      if (this.isBroken || this.cellCount > 1 || this.kinds[0] !== CELL_ABSENT) return true;
    }
  }

  /** The text of a cell of this row; empty for one that is absent. Valid until the next row is read. */
  text(cell: number): string {
    if (cell >= this.cellCount || cell >= this.kinds.length) return '';
    const start = this.#starts[cell] ?? 0;
    const text = this.#decoder.decode(this.#bytes.subarray(start, this.#ends[cell] ?? 0));
    return this.#bytes[start - 1] === QUOTE ? text.replaceAll('""', '"') : text;
  }

  /** Lets go of a row that is too long; where the next one starts, or -1 when that is not there yet. */
  #restOfLine(): number {
    this.cellCount = 0;
    this.numberCount = 0;
    const newline = this.#bytes.indexOf(NEWLINE, this.#at);
    this.#isSkipping = newline < 0 && !this.#isLast;
    if (newline >= 0) return newline + 1;
    if (this.#isLast) return this.#bytes.length;
    this.#at = this.#bytes.length;
    return -1;
  }

  /** Reads a row; where the next one starts, or -1 when its end is not there yet. */
  #row(from: number, mayQuote: boolean): number {
    const bytes = this.#bytes;
    const limit = bytes.length;
    const delimiter = this.#delimiter;
    const scanner = this.#scanner;
    const columns = this.kinds.length;
    // A tab is a blank where it is not the delimiter.
    const tab = delimiter === TAB ? BLANK : TAB;
    let at = from;
    let cell = 0;
    let numbers = 0;
    for (;;) {
      let code = at < limit ? (bytes[at] ?? 0) : 0;
      while (code === BLANK || code === tab) code = ++at < limit ? (bytes[at] ?? 0) : 0;
      let start = at;
      let end = at;
      let kind = CELL_TEXT;
      let value = 0;
      if (mayQuote && code === QUOTE) {
        start = at + 1;
        end = this.#closingQuote(start);
        if (end < 0) return -1;
        at = end + 1;
        value = scanner.scan(bytes, start, end);
        if (scanner.end === end) kind = CELL_NUMBER;
      } else {
        value = scanner.scan(bytes, at, limit);
        if (scanner.end >= 0) {
          end = at = scanner.end;
          kind = CELL_NUMBER;
        }
      }
      // To the end of the cell: blanks, and in a cell that is no number anything.
      code = at < limit ? (bytes[at] ?? 0) : NEWLINE;
      while (code !== delimiter && code !== NEWLINE && code !== RETURN) {
        at++;
        if (code !== BLANK && code !== tab) {
          kind = CELL_TEXT;
          end = at;
        }
        code = at < limit ? (bytes[at] ?? 0) : NEWLINE;
      }
      if (at >= limit && !this.#isLast) return -1;
      if (code === RETURN && at + 1 >= limit && !this.#isLast) return -1;
      if (cell < columns) {
        if (kind === CELL_TEXT) {
          kind = start === end ? CELL_ABSENT : this.#wordKind(start, end);
          if (kind === CELL_NUMBER) value = this.#word;
        }
        this.kinds[cell] = kind;
        this.numbers[cell] = value;
        this.#starts[cell] = start;
        this.#ends[cell] = end;
        if (kind === CELL_NUMBER) numbers++;
      }
      cell++;
      if (code === delimiter && at < limit) {
        at++;
        continue;
      }
      this.cellCount = cell;
      this.numberCount = numbers;
      if (at >= limit) return limit;
      if (code === RETURN && bytes[at + 1] === NEWLINE) at++;
      return at + 1;
    }
  }

  #closingQuote(start: number): number {
    const bytes = this.#bytes;
    for (let at = start; at < bytes.length; at++) {
      const code = bytes[at];
      if (code === NEWLINE) this.#linesInside++;
      if (code !== QUOTE) continue;
      if (bytes[at + 1] !== QUOTE) {
        if (at + 1 >= bytes.length && !this.#isLast) return -1;
        return at;
      }
      at++;
    }
    return -1;
  }

  #word = 0;

  /** A cell that is no plain number: a word for one, a word for nothing, or text. */
  #wordKind(start: number, end: number): number {
    const length = end - start;
    if (length > 64) return CELL_TEXT;
    let text = '';
    for (let at = start; at < end; at++) text += String.fromCharCode(this.#bytes[at] ?? 0);
    if (this.#hasDecimalComma && /^[+-]?\d*,\d+(?:e[+-]?\d+)?$/i.test(text))
      text = text.replace(',', '.');
    const number = numberFromText(text);
    if (number === null) return CELL_TEXT;
    if (number === undefined) return CELL_ABSENT;
    this.#word = number;
    return CELL_NUMBER;
  }
}
