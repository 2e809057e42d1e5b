/** Makes lines of the text that a stream gets in any portions. A line that is overwritten, as progress bars do, is one line. */

/** A line is cut after so many characters. */
export const MAX_LINE_CHARS = 16_384;

// oxlint-disable-next-line no-control-regex -- the rule is about control characters
const TO_FIRST_COLUMN = /\u001b\[[01]?G/g;

/** Makes lines; `emit` gets each, with its colours, and whether its end is missing. */
export class LineAssembler {
  readonly #emit: (text: string, isCut: boolean) => void;
  /** The line that has no end yet. */
  #pending = '';
  /** Whether characters of it are missing. */
  #isCut = false;

  constructor(emit: (text: string, isCut: boolean) => void) {
    this.#emit = emit;
  }

  /** Adds text. */
  add(text: string): void {
    const given = text.includes('\u001b[') ? text.replace(TO_FIRST_COLUMN, '\r') : text;
    let from = 0;
    for (let end = given.indexOf('\n'); end >= 0; end = given.indexOf('\n', from)) {
      this.#append(given.slice(from, end));
      this.#end();
      from = end + 1;
    }
    if (from < given.length) this.#append(given.slice(from));
  }

  /** Emits what has no line end, if there is anything. */
  finish(): void {
    if (this.#pending !== '') this.#end();
  }

  #append(text: string): void {
    const overwritten = lastReturn(text);
    if (overwritten >= 0) {
      this.#pending = '';
      this.#isCut = false;
    } else if (this.#pending.endsWith('\r') && text !== '' && text !== '\r') {
      this.#pending = '';
      this.#isCut = false;
    }
    const added = overwritten >= 0 ? text.slice(overwritten + 1) : text;
    const room = MAX_LINE_CHARS - this.#pending.length;
    if (added.length > room) {
      // The return that ends the text says that the line is overwritten next, however long it is.
      const hasReturn = added.endsWith('\r');
      this.#pending += added.slice(0, Math.max(0, room - 1)) + (hasReturn ? '\r' : '');
      this.#isCut = true;
    } else this.#pending += added;
  }

  #end(): void {
    let end = this.#pending.length;
    while (end > 0 && this.#pending.charCodeAt(end - 1) === 13) end--;
    const text = this.#pending.slice(0, end);
    const isCut = this.#isCut;
    this.#pending = '';
    this.#isCut = false;
    this.#emit(text, isCut);
  }
}

/** Where the last return is that text follows; -1 without one. */
function lastReturn(text: string): number {
  let end = text.length;
  while (end > 0 && text.charCodeAt(end - 1) === 13) end--;
  return end === 0 ? -1 : text.lastIndexOf('\r', end - 1);
}
