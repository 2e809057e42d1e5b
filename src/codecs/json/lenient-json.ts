/** JSON as Python writes it: with bare NaN, Infinity and -Infinity. */
import { QuarkError } from '../../base/errors.ts';
import type { InputFile } from '../input.ts';
import type { ImportLimits } from '../limits.ts';
import { MAX_NUMBER_CHARS } from '../number-text.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** What V8 takes for an object or list, and for an item of one, about; measured with rows of logs. */
const NODE_BYTES = 140;
const ITEM_BYTES = 40;

/**
 * A file of JSON, whole. Formats that may be large are read in parts: see `json-items.ts`.
 *
 * @throws {QuarkError} `invalid_input` when it is too large or no JSON, saying where
 */
export async function readJsonFile(file: InputFile, limits: ImportLimits): Promise<unknown> {
  const { maxJsonBytes, maxJsonMemoryBytes, maxDepth } = limits;
  if (file.sizeBytes > maxJsonBytes)
    throw new QuarkError(
      'invalid_input',
      `The file has ${file.sizeBytes} bytes; a JSON file of this format may have ${maxJsonBytes} (limits.maxJsonBytes).`,
    );
  const bytes = await file.slice(0, file.sizeBytes);
  const memoryBytes = estimate(bytes);
  if (memoryBytes > maxJsonMemoryBytes)
    throw new QuarkError(
      'invalid_input',
      `The file would take about ${memoryBytes} bytes of memory; it may take ${maxJsonMemoryBytes} (limits.maxJsonMemoryBytes).`,
    );
  return parseLenientJson(new TextDecoder().decode(bytes), maxDepth);
}

function estimate(bytes: Uint8Array): number {
  let nodes = 0;
  let items = 0;
  for (const byte of bytes) {
    if (byte === 0x5b || byte === 0x7b) nodes++;
    else if (byte === 0x2c) items++;
  }
  return nodes * NODE_BYTES + items * ITEM_BYTES;
}

/**
 * Parses JSON in which NaN, Infinity and -Infinity may stand for numbers.
 *
 * @throws {QuarkError} `invalid_input` when it is no JSON, nested more than `maxDepth` levels deep, or has a number that is longer than any
 */
export function parseLenientJson(text: string, maxDepth: number): unknown {
  checkShape(text, maxDepth);
  try {
    return JSON.parse(text);
  } catch (error) {
    const strict = quoteNonFinite(text);
    if (strict === undefined) throw notJson(error);
    try {
      return JSON.parse(strict, (_, value: unknown) =>
        typeof value === 'string' && value.startsWith(MARK)
          ? Number(value.slice(MARK.length))
          : value,
      );
    } catch (cause) {
      throw notJson(cause);
    }
  }
}

/** No text that anybody writes starts with it; one that does is left alone by the escape below. */
const MARK = '\u0000quark:number:';

const NON_FINITE = /-?\bInfinity\b|\bNaN\b/g;

/** The words outside of strings as marked strings; undefined when there is none. Goes through the text once, whatever is in it. */
function quoteNonFinite(text: string): string | undefined {
  const parts: string[] = [];
  let found = false;
  let from = 0;
  while (from < text.length) {
    const quote = text.indexOf('"', from);
    const outside = text.slice(from, quote < 0 ? undefined : quote);
    const quoted = outside.replace(NON_FINITE, (word) => JSON.stringify(`${MARK}${word}`));
    found ||= quoted !== outside;
    parts.push(quoted);
    if (quote < 0) break;
    from = stringEnd(text, quote);
    parts.push(text.slice(quote, from));
  }
  return found ? parts.join('') : undefined;
}

/** Where the text behind a string begins; the end of the text where the string has no end. */
function stringEnd(text: string, quote: number): number {
  for (let at = quote + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === BACKSLASH) at++;
    else if (code === QUOTE) return at + 1;
  }
  return text.length;
}

/** Parsers recurse, and put a number together digit by digit: what is nested too deep or too long for a number is refused before. */
function checkShape(text: string, maxDepth: number): void {
  let depth = 0;
  let numberChars = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code >= 0x30 && code <= 0x39) {
      if (++numberChars > MAX_NUMBER_CHARS)
        throw new QuarkError(
          'invalid_input',
          `The JSON has a number of more than ${MAX_NUMBER_CHARS} digits, at character ${i}.`,
        );
      continue;
    }
    // A point is inside of a number.
    if (code !== 0x2e) numberChars = 0;
    if (code === QUOTE) i = stringEnd(text, i) - 1;
    else if (code === 0x7b || code === 0x5b) {
      if (++depth > maxDepth)
        throw new QuarkError(
          'invalid_input',
          `The JSON is nested more than ${maxDepth} levels deep (limits.maxDepth), at character ${i}.`,
        );
    } else if (code === 0x7d || code === 0x5d) depth--;
  }
}

function notJson(cause: unknown): QuarkError {
  return new QuarkError(
    'invalid_input',
    `The file is no JSON: ${cause instanceof Error ? cause.message : String(cause)}`,
    { cause },
  );
}
