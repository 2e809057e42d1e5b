/** A table of ours out of an Arrow stream. */
import { isQuarkError, QuarkError } from '../../../base/errors.ts';
import { readArrowFacts } from '../../../codecs/arrow/arrow-facts.ts';
import { decodeBatches } from '../../../segment/decode.ts';
import type { RowBatch } from '../../../codecs/arrow/vectors.ts';
import { quarkTableFacts, type QuarkTableFacts } from './quark-tables.ts';

/** Every row has an instant, of four bytes at least. */
const MIN_ROW_BYTES = 4;
/** Texts of a dictionary may be repeated by an index of a byte: characters that all cells may have, beside some for each byte of the file. */
const FREE_TEXT_CHARS = 1 << 26;
const TEXT_CHARS_PER_BYTE = 64;

/** @throws {QuarkError} `invalid_input` saying what is wrong with the bytes */
export function readArrowTable(bytes: Uint8Array<ArrayBuffer>): {
  readonly facts: QuarkTableFacts;
  readonly batches: readonly RowBatch[];
} {
  try {
    const metadata = readArrowFacts(bytes);
    const facts = quarkTableFacts(metadata);
    const version = Number(metadata.get('quark:schema_version') ?? Number.NaN);
    const batches = decodeBatches(facts.table, bytes, Number.isNaN(version) ? undefined : version);
    const rowCount = batches.reduce((sum, batch) => sum + batch.rowCount, 0);
    if (rowCount * MIN_ROW_BYTES > bytes.byteLength)
      throw new Error(`it says that it has ${rowCount} rows`);
    checkTexts(batches, bytes.byteLength);
    return { facts, batches };
  } catch (cause) {
    // Whatever hostile bytes do to the decoder, it is the file that is wrong.
    const isKnown = isQuarkError(cause) || (cause instanceof Error && cause.constructor === Error);
    const reason = isKnown ? cause.message : 'it is damaged';
    throw new QuarkError('invalid_input', `The Arrow stream cannot be read: ${reason}`, { cause });
  }
}

/** What is written has each text as often as there are cells with it. */
function checkTexts(batches: readonly RowBatch[], sizeBytes: number): void {
  const maxChars = FREE_TEXT_CHARS + TEXT_CHARS_PER_BYTE * sizeBytes;
  let chars = 0;
  for (const { columns } of batches)
    for (const column of columns.values()) {
      if (column.kind !== 'text') continue;
      for (const text of column.values) chars += text?.length ?? 0;
      if (chars > maxChars)
        throw new Error(
          `the texts of its cells have more than ${maxChars} characters, which is more than a file of its size may hold`,
        );
    }
}
