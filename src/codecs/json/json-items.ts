/**
 * Large JSON without all of it in memory: the entries of an object, or the items of a list, as they come. A list in an entry is given out in
 * parts. What stands between commas is found byte by byte; each part is then parsed by itself.
 */
import { isQuarkError, messageOf, QuarkError } from '../../base/errors.ts';
import type { InputFile } from '../input.ts';
import type { ImportLimits } from '../limits.ts';
import { parseLenientJson } from './lenient-json.ts';

/** A part of a document. */
export type JsonPart =
  | { readonly kind: 'value'; readonly key: string; readonly value: unknown }
  | {
      readonly kind: 'items';
      /** Of the entry whose list it is; null for a document that is a list. */
      readonly key: string | null;
      /** Position of the first item in the list. */
      readonly index: number;
      readonly items: readonly unknown[];
    };

/** Items are parsed together up to about so many bytes. */
const PART_BYTES = 1 << 16;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/**
 * The parts of a document, front to back. What cannot be parsed is reported with its location.
 *
 * @param problem told of items and entries that are left out
 * @throws {QuarkError} `invalid_input` when the document is neither an object nor a list, or nested too deep
 */
export async function* readJsonItems(
  file: InputFile,
  limits: Pick<ImportLimits, 'maxDepth' | 'maxJsonItemBytes'>,
  problem: (location: string, reason: string) => void,
): AsyncGenerator<JsonPart, void, undefined> {
  const splitter = new JsonSplitter(limits, problem);
  for await (const piece of file.stream()) {
    splitter.feed(piece);
    yield* splitter.take();
    if (splitter.isDone) return;
  }
  splitter.end();
  yield* splitter.take();
}

class JsonSplitter {
  readonly #limits: Pick<ImportLimits, 'maxDepth' | 'maxJsonItemBytes'>;
  readonly #problem: (location: string, reason: string) => void;
  readonly #decoder = new TextDecoder();
  /** Bytes from the beginning of the part under way on. */
  #held = new Uint8Array(0);
  #heldBytes = 0;
  /** Where the items of the part under way end. */
  #ends: number[] = [];
  #depth = 0;
  #isText = false;
  #isEscaped = false;
  #isObject = false;
  #inList = false;
  #key: string | null = null;
  #index = 0;
  #isTooLong = false;
  #ready: JsonPart[] = [];
  isDone = false;

  constructor(
    limits: Pick<ImportLimits, 'maxDepth' | 'maxJsonItemBytes'>,
    problem: (location: string, reason: string) => void,
  ) {
    this.#limits = limits;
    this.#problem = problem;
  }

  take(): JsonPart[] {
    const ready = this.#ready;
    this.#ready = [];
    return ready;
  }

  feed(piece: Uint8Array): void {
    let start = 0;
    const holdTo = (at: number): void => {
      this.#hold(piece.subarray(start, at));
      start = at + 1;
    };
    for (let at = 0; at < piece.length && !this.isDone; at++) {
      const byte = piece[at] ?? 0;
      if (this.#isText) {
        if (this.#isEscaped) this.#isEscaped = false;
        else if (byte === BACKSLASH) this.#isEscaped = true;
        else if (byte === QUOTE) this.#isText = false;
        continue;
      }
      if (byte === QUOTE) this.#isText = true;
      else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
        this.#depth++;
        if (this.#depth > this.#limits.maxDepth)
          throw bad(
            `it is nested more than ${this.#limits.maxDepth} levels deep (limits.maxDepth)`,
          );
        if (this.#depth === 1) {
          holdTo(at);
          this.#beginRoot(byte === OPEN_OBJECT);
        } else if (this.#depth === 2 && this.#isObject && byte === OPEN_LIST) {
          holdTo(at);
          this.#beginList();
        }
      } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) {
        const isListEnd = this.#inList && this.#depth === (this.#isObject ? 2 : 1);
        if (isListEnd) {
          holdTo(at);
          this.#endList();
        } else if (this.#depth === 1) {
          holdTo(at);
          this.#endEntry();
        }
        this.#depth--;
        if (this.#depth <= 0) this.isDone = true;
      } else if (byte === COMMA) {
        if (this.#inList) {
          if (this.#depth !== (this.#isObject ? 2 : 1)) continue;
          holdTo(at);
          this.#endItem();
        } else if (this.#depth === 1) {
          holdTo(at);
          this.#endEntry();
        }
      } else if (this.#depth === 0 && byte > 0x20 && byte < 0x80) {
        throw bad('it is neither an object nor a list');
      }
    }
    if (!this.isDone) this.#hold(piece.subarray(start));
  }

  /** The file ends. */
  end(): void {
    if (this.isDone) return;
    if (this.#depth === 0) throw bad('it is empty');
    if (this.#inList && this.#ends.length > 0) {
      this.#heldBytes = this.#ends.at(-1) ?? 0;
      this.#flush();
    }
    this.#problem(this.#location(), 'The file ends in the middle of it.');
  }

  #beginRoot(isObject: boolean): void {
    this.#isObject = isObject;
    this.#inList = !isObject;
    this.#heldBytes = 0;
  }

  /** What is held is `"key":`. */
  #beginList(): void {
    const text = this.#text(0, this.#heldBytes);
    this.#heldBytes = 0;
    this.#inList = true;
    this.#index = 0;
    try {
      this.#key = Object.keys(parseLenientJson(`{${text}null}`, 2) as object)[0] ?? '';
    } catch {
      throw bad('a list has no sensible name');
    }
  }

  #endList(): void {
    if (this.#text(this.#ends.at(-1) ?? 0, this.#heldBytes).trim() !== '' || this.#isTooLong)
      this.#endItem();
    this.#flush();
    // The reader has to know that the list is there.
    if (this.#index === 0) this.#ready.push({ kind: 'items', key: this.#key, index: 0, items: [] });
    this.#inList = false;
    this.#key = null;
  }

  #endItem(): void {
    if (this.#isTooLong) {
      this.#isTooLong = false;
      this.#heldBytes = this.#ends.at(-1) ?? 0;
      this.#flush();
      this.#tooLong();
      this.#index++;
      return;
    }
    this.#ends.push(this.#heldBytes);
    // A comma takes the place of the one that was passed over.
    this.#hold(Uint8Array.of(COMMA));
    if (this.#heldBytes >= PART_BYTES) this.#flush();
  }

  #endEntry(): void {
    const text = this.#text(0, this.#heldBytes);
    this.#heldBytes = 0;
    if (this.#isTooLong) {
      this.#isTooLong = false;
      this.#tooLong();
      return;
    }
    // What follows a list, or nothing.
    if (text.trim() === '') return;
    try {
      const entry = parseLenientJson(`{${text}}`, this.#limits.maxDepth);
      for (const [key, value] of Object.entries(entry as object))
        this.#ready.push({ kind: 'value', key, value });
    } catch (error) {
      if (!isQuarkError(error, 'invalid_input')) throw error;
      this.#problem(this.#location(), messageOf(error));
    }
  }

  /** Parses what is held; when that fails, item by item. */
  #flush(): void {
    const ends = this.#ends;
    const count = ends.length;
    const last = ends.at(-1);
    if (last !== undefined) {
      const { maxDepth } = this.#limits;
      try {
        const items = parseLenientJson(`[${this.#text(0, last)}]`, maxDepth) as unknown[];
        if (items.length !== count) throw bad('its items are not one between commas');
        this.#ready.push({ kind: 'items', key: this.#key, index: this.#index, items });
      } catch (error) {
        if (!isQuarkError(error, 'invalid_input')) throw error;
        let from = 0;
        for (const [i, end] of ends.entries()) {
          const index = this.#index + i;
          try {
            const [item] = parseLenientJson(`[${this.#text(from, end)}]`, maxDepth) as unknown[];
            this.#ready.push({ kind: 'items', key: this.#key, index, items: [item] });
          } catch (cause) {
            if (!isQuarkError(cause, 'invalid_input')) throw cause;
            this.#problem(this.#location(i), messageOf(cause));
          }
          from = end + 1;
        }
      }
    }
    this.#index += count;
    this.#ends = [];
    this.#heldBytes = 0;
  }

  #tooLong(): void {
    const { maxJsonItemBytes } = this.#limits;
    this.#problem(
      this.#location(),
      `It has more than ${maxJsonItemBytes} bytes (limits.maxJsonItemBytes).`,
    );
  }

  #location(offset = this.#ends.length): string {
    if (!this.#inList) return 'an entry';
    return `${this.#key ?? ''}[${this.#index + offset}]`;
  }

  #hold(bytes: Uint8Array): void {
    if (bytes.length === 0 || this.#isTooLong) return;
    const needed = this.#heldBytes + bytes.length;
    if (needed - (this.#ends.at(-1) ?? 0) > this.#limits.maxJsonItemBytes) {
      this.#isTooLong = true;
      return;
    }
    if (needed > this.#held.length) {
      const grown = new Uint8Array(Math.max(needed, 2 * this.#held.length, 4096));
      grown.set(this.#held.subarray(0, this.#heldBytes));
      this.#held = grown;
    }
    this.#held.set(bytes, this.#heldBytes);
    this.#heldBytes = needed;
  }

  #text(start: number, end: number): string {
    return this.#decoder.decode(this.#held.subarray(start, end));
  }
}

function bad(reason: string): QuarkError {
  return new QuarkError('invalid_input', `The file is no JSON that can be read: ${reason}.`);
}
