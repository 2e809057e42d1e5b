/** The lines that are not stored yet: the latest that fit, and how many were dropped. */
import type { ConsoleLevel, ConsoleSource } from './console-line.ts';

/** A line that waits. */
export type WaitingLine = {
  /** With its colours. */
  readonly text: string;
  /** Whether its end is missing. */
  readonly isCut: boolean;
  readonly timeMs: number;
  readonly source: ConsoleSource;
  readonly level: ConsoleLevel | null;
};

/** What a line takes beside its characters. */
const LINE_BYTES = 64;

/** Bytes of memory that a line counts for: two a character, and 64. */
export function lineBytes(line: WaitingLine): number {
  return 2 * line.text.length + LINE_BYTES;
}

/** Lines that were taken, and how many were dropped before the first of them. */
export type TakenLines = { readonly lines: readonly WaitingLine[]; readonly dropped: number };

/** A bounded queue of lines: a new one pushes out the oldest. */
export class LineRing {
  readonly #maxBytes: number;
  #lines: WaitingLine[] = [];
  #first = 0;
  #bytes = 0;
  #dropped = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get length(): number {
    return this.#lines.length - this.#first;
  }

  /** Dropped since lines were taken last. */
  get dropped(): number {
    return this.#dropped;
  }

  add(line: WaitingLine): void {
    this.#lines.push(line);
    this.#bytes += lineBytes(line);
    while (this.#bytes > this.#maxBytes) this.#drop();
  }

  /** Takes the oldest lines, up to about `bytes`, at least one if there is any. */
  take(bytes: number): TakenLines {
    let taken = 0;
    let end = this.#first;
    for (; end < this.#lines.length; end++) {
      const line = this.#lines[end];
      if (line === undefined || (taken > 0 && taken + lineBytes(line) > bytes)) break;
      taken += lineBytes(line);
    }
    const lines = this.#lines.slice(this.#first, end);
    const dropped = this.#dropped;
    this.#first = end;
    this.#bytes -= taken;
    this.#dropped = 0;
    this.#compact();
    return { lines, dropped };
  }

  /** Puts lines back that could not be stored, before those that came since. */
  restore({ dropped, lines }: TakenLines): void {
    this.#lines = [...lines, ...this.#lines.slice(this.#first)];
    this.#first = 0;
    this.#dropped += dropped;
    for (const line of lines) this.#bytes += lineBytes(line);
    while (this.#bytes > this.#maxBytes) this.#drop();
  }

  #drop(): void {
    const line = this.#lines[this.#first];
    if (line === undefined) return;
    this.#bytes -= lineBytes(line);
    this.#dropped++;
    this.#first++;
    this.#compact();
  }

  /** Gives memory back once half of it is of lines that are gone. */
  #compact(): void {
    if (this.#first < 1024 || 2 * this.#first < this.#lines.length) return;
    this.#lines = this.#lines.slice(this.#first);
    this.#first = 0;
  }
}
