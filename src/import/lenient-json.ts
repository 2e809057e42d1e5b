/** JSON as Python writes it: with bare NaN, Infinity and -Infinity. */
import { QuarkError } from '../base/errors.ts';
import type { InputFile } from './input.ts';
import type { ImportLimits } from './limits.ts';

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
 * @throws {QuarkError} `invalid_input` when it is no JSON, or nested more than `maxDepth` levels deep
 */
export function parseLenientJson(text: string, maxDepth: number): unknown {
  checkDepth(text, maxDepth);
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

/** The words outside of strings as marked strings; undefined when there is none. */
function quoteNonFinite(text: string): string | undefined {
  let found = false;
  const quoted = text.replace(/"(?:[^"\\]|\\.)*"|-?\bInfinity\b|\bNaN\b/gs, (part) => {
    if (part.startsWith('"')) return part;
    found = true;
    return JSON.stringify(`${MARK}${part}`);
  });
  return found ? quoted : undefined;
}

/** Parsers recurse: what is nested too deep is refused before. */
function checkDepth(text: string, maxDepth: number): void {
  let depth = 0;
  let isText = false;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (isText) {
      if (code === 0x5c) i++;
      else if (code === 0x22) isText = false;
    } else if (code === 0x22) isText = true;
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
