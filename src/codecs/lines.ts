/** Lines of text out of a stream of bytes, in bounded memory. */
import type { ImportLimits } from './limits.ts';

/** A line without its end. */
export type TextLine = {
  readonly text: string;
  /** Counts from 1. */
  readonly number: number;
  /** Whether the line was longer than the limit; the rest of it is left out. */
  readonly isCut: boolean;
};

const NEWLINE = 0x0a;
const RETURN = 0x0d;
const BOM = '\ufeff';

/**
 * Splits at LF; a CR before it, and a byte order mark before the first line, are left out. Bytes that are not UTF-8 become U+FFFD.
 * The last line needs no end.
 */
export async function* readLines(
  pieces: AsyncIterable<Uint8Array>,
  { maxLineBytes }: Pick<ImportLimits, 'maxLineBytes'>,
): AsyncGenerator<TextLine> {
  const decoder = new TextDecoder();
  let number = 0;
  let held: Uint8Array[] = [];
  let heldBytes = 0;
  let isCut = false;
  const hold = (part: Uint8Array): void => {
    const room = maxLineBytes - heldBytes;
    if (part.byteLength > room) isCut = true;
    const kept = part.subarray(0, Math.max(0, room));
    if (kept.byteLength === 0) return;
    held.push(kept.slice());
    heldBytes += kept.byteLength;
  };
  const finish = (tail: Uint8Array): TextLine => {
    let bytes = tail;
    if (held.length > 0) {
      hold(tail);
      bytes = joined(held, heldBytes);
    } else if (tail.byteLength > maxLineBytes) {
      isCut = true;
      bytes = tail.subarray(0, maxLineBytes);
    }
    if (!isCut && bytes.at(-1) === RETURN) bytes = bytes.subarray(0, -1);
    number++;
    let text = decoder.decode(bytes);
    if (number === 1 && text.startsWith(BOM)) text = text.slice(1);
    const line = { text, number, isCut };
    held = [];
    heldBytes = 0;
    isCut = false;
    return line;
  };
  for await (const piece of pieces) {
    let start = 0;
    for (let end = piece.indexOf(NEWLINE); end >= 0; end = piece.indexOf(NEWLINE, start)) {
      yield finish(piece.subarray(start, end));
      start = end + 1;
    }
    if (start < piece.byteLength) hold(piece.subarray(start));
  }
  if (heldBytes > 0 || isCut) yield finish(new Uint8Array(0));
}

function joined(parts: readonly Uint8Array[], sizeBytes: number): Uint8Array {
  const whole = new Uint8Array(sizeBytes);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.byteLength;
  }
  return whole;
}
