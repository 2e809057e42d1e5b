/**
 * Pickles of curves, as people save `history.history` of Keras or lists of losses: dictionaries of lists, lists of dictionaries, lists. Nothing in
 * them is run.
 */
import { fileName, type InputFile } from '../../../codecs/input.ts';
import type { JsonPart } from '../../../codecs/json/json-items.ts';
import { isPickle, readPickle } from '../../../codecs/pickle/pickle-reader.ts';
import type { PickledValue } from '../../../codecs/pickle/pickle-value.ts';
import type { Importer } from '../sink/importer.ts';
import { QuarkError } from '../../../base/errors.ts';
import { importCurves } from './json-curves.ts';

const NAME = /\.(?:pkl|pickle|p|pck|hist)$/i;
/** Values that are gone through; a list counts as several, which it takes the memory of. */
const MAX_VALUES = 16_000_000;
const LIST_COST = 8;
/** The first bytes of a list or dictionary of protocols 0 and 1, which have no mark of their own. */
const OLD = /^(?:\((?:[dl]p?\d*\n|[dl])|[}\]](?:q|\())/;

/** Pickles of plain data. */
export const pickle: Importer = {
  format: 'pickle',
  title: 'Pickle of plain data (history.history of Keras, lists of losses)',
  detect({ bytes, file, text }) {
    const isNamed = NAME.test(file.path);
    if (isPickle(bytes)) return isNamed ? 0.9 : 0.7;
    // Any other pickle by its name is refused with what it is.
    if (isNamed && bytes[0] === 0x80 && (bytes[1] ?? 9) <= 5) return 0.6;
    return isNamed && OLD.test(text) ? 0.8 : 0;
  },
  async read(files, context) {
    for (const file of files) {
      const { maxDepth, maxDocumentBytes } = context.limits;
      if (file.sizeBytes > maxDocumentBytes)
        throw new QuarkError(
          'invalid_input',
          `The file has ${file.sizeBytes} bytes; a pickle may have ${maxDocumentBytes} (limits.maxDocumentBytes).`,
        );
      const value = readPickle(await file.slice(0, file.sizeBytes));
      const parts = partsOf(value, stemOf(file), new Plain(maxDepth));
      await importCurves(file, context, () => parts);
    }
  },
};

function stemOf({ path }: InputFile): string {
  return fileName(path).replace(NAME, '') || 'values';
}

/** The value as the parts of a JSON document, which curves are read from. */
function partsOf(value: PickledValue, stem: string, plain: Plain): JsonPart[] {
  if (value instanceof Map)
    return [...value].map(([key, entry]): JsonPart => {
      const name = String(plain.of(key));
      return Array.isArray(entry)
        ? { kind: 'items', key: name, index: 0, items: entry.map((item) => plain.of(item)) }
        : { kind: 'value', key: name, value: plain.of(entry) };
    });
  if (!Array.isArray(value)) return [];
  const listOf = (key: string | null, list: readonly PickledValue[]): JsonPart => ({
    kind: 'items',
    key,
    index: 0,
    items: list.map((item) => plain.of(item)),
  });
  if (value.every((item) => typeof item === 'number')) return [listOf(stem, value)];
  if (value.every((item) => item instanceof Map)) return [listOf(null, value)];
  // Several lists in a tuple have no names of their own.
  return value.flatMap((item, i) => (Array.isArray(item) ? [listOf(`${stem}/${i}`, item)] : []));
}

/** Values of a pickle as those of JSON. A list may be in itself, and one list in many: what is gone through is bounded. */
class Plain {
  readonly #maxDepth: number;
  #left = MAX_VALUES;

  constructor(maxDepth: number) {
    this.#maxDepth = maxDepth;
  }

  of(value: PickledValue, depth = 1): unknown {
    this.#left -= typeof value === 'object' ? LIST_COST : 1;
    if (this.#left < 0)
      throw new QuarkError('invalid_input', 'The pickle has too many values in it.');
    if (value instanceof Uint8Array) return null;
    if (!Array.isArray(value) && !(value instanceof Map)) return value;
    if (depth >= this.#maxDepth)
      throw new QuarkError(
        'invalid_input',
        `The pickle is nested more than ${this.#maxDepth} levels deep (limits.maxDepth).`,
      );
    if (Array.isArray(value)) return value.map((item) => this.of(item, depth + 1));
    return Object.fromEntries(
      [...value].map(([key, item]) => [String(this.of(key, depth + 1)), this.of(item, depth + 1)]),
    );
  }
}
