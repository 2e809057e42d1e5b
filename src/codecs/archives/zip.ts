/** ZIP archives (APPNOTE 6.3): the list of files at the end, and each file as bytes to inflate. Encrypted and split ones are not read. */
import { QuarkError } from '../../base/errors.ts';
import type { InputFile } from '../input.ts';

/** A file in an archive. */
export type ZipEntry = {
  readonly path: string;
  /** Of the content, as the archive says. */
  readonly sizeBytes: number;
  readonly compressedBytes: number;
  /** 0 is stored, 8 is DEFLATE. */
  readonly method: number;
  readonly isEncrypted: boolean;
  /** Where its local header begins. */
  readonly offset: number;
};

const END_BYTES = 22;
const MAX_COMMENT_BYTES = 65_535;
const END_MARK = 0x06054b50;
const END64_MARK = 0x06064b50;
const LOCATOR_MARK = 0x07064b50;
const ENTRY_MARK = 0x02014b50;
const LOCAL_MARK = 0x04034b50;
const ALL_16 = 0xffff;
const ALL_32 = 0xffffffff;

/**
 * The files of an archive, in the order of its list; folders are left out.
 *
 * @throws {QuarkError} `invalid_input` when the list is missing, damaged, or longer than it may be
 */
export async function readZipEntries(
  file: InputFile,
  limits: { readonly maxEntries: number; readonly maxListBytes: number },
): Promise<ZipEntry[]> {
  const { count, listBytes, listOffset } = await endOf(file);
  if (count > limits.maxEntries)
    throw bad(`it has ${count} files; it may have ${limits.maxEntries} (limits.maxFiles)`);
  if (listBytes > limits.maxListBytes)
    throw bad(`its list has ${listBytes} bytes; it may have ${limits.maxListBytes}`);
  const bytes = await file.slice(listOffset, listOffset + listBytes);
  const view = viewOf(bytes);
  const entries: ZipEntry[] = [];
  for (let at = 0; at + 46 <= bytes.byteLength && entries.length < count;) {
    if (view.getUint32(at, true) !== ENTRY_MARK) throw bad('its list of files is damaged');
    const nameBytes = view.getUint16(at + 28, true);
    const extraBytes = view.getUint16(at + 30, true);
    const end = at + 46 + nameBytes + extraBytes + view.getUint16(at + 32, true);
    if (end > bytes.byteLength) throw bad('its list of files is cut off');
    const path = new TextDecoder().decode(bytes.subarray(at + 46, at + 46 + nameBytes));
    const wide = wideFields(view, at, at + 46 + nameBytes, extraBytes);
    if (!path.endsWith('/'))
      entries.push({
        path,
        ...wide,
        method: view.getUint16(at + 10, true),
        isEncrypted: (view.getUint16(at + 8, true) & 1) === 1,
      });
    at = end;
  }
  return entries;
}

/** Where the bytes of a file of the archive are. @throws {QuarkError} `invalid_input` when they are not where the list says */
export async function zipPart(
  file: InputFile,
  { compressedBytes, offset }: ZipEntry,
): Promise<{ readonly offset: number; readonly sizeBytes: number }> {
  const header = await file.slice(offset, offset + 30);
  const view = viewOf(header);
  if (header.byteLength < 30 || view.getUint32(0, true) !== LOCAL_MARK)
    throw bad('a file in it is not where its list says');
  const start = offset + 30 + view.getUint16(26, true) + view.getUint16(28, true);
  return { offset: start, sizeBytes: compressedBytes };
}

type End = { readonly count: number; readonly listBytes: number; readonly listOffset: number };

async function endOf(file: InputFile): Promise<End> {
  const from = Math.max(0, file.sizeBytes - END_BYTES - MAX_COMMENT_BYTES);
  const tail = await file.slice(from, file.sizeBytes);
  const view = viewOf(tail);
  let at = tail.byteLength - END_BYTES;
  while (at >= 0 && view.getUint32(at, true) !== END_MARK) at--;
  if (at < 0) throw bad('its list of files is missing: it is cut off');
  const found = {
    count: view.getUint16(at + 10, true),
    listBytes: view.getUint32(at + 12, true),
    listOffset: view.getUint32(at + 16, true),
  };
  const isWide =
    found.count === ALL_16 || found.listBytes === ALL_32 || found.listOffset === ALL_32;
  const end = isWide ? await wideEnd(file, view, at - 20, found) : found;
  if (end.listOffset + end.listBytes > file.sizeBytes) throw bad('its list of files is cut off');
  return end;
}

/** The end of an archive of over 65,534 files or 4 GiB; `at` is where its locator would be. */
async function wideEnd(file: InputFile, tail: DataView, at: number, narrow: End): Promise<End> {
  if (at < 0 || tail.getUint32(at, true) !== LOCATOR_MARK) return narrow;
  const offset = safe(tail.getBigUint64(at + 8, true));
  const record = viewOf(await file.slice(offset, offset + 56));
  if (record.byteLength < 56 || record.getUint32(0, true) !== END64_MARK)
    throw bad('its list of files is damaged');
  return {
    count: safe(record.getBigUint64(32, true)),
    listBytes: safe(record.getBigUint64(40, true)),
    listOffset: safe(record.getBigUint64(48, true)),
  };
}

/** Sizes and offset of an entry; those that do not fit 32 bits are in its extra field 1. */
function wideFields(
  view: DataView,
  at: number,
  extraAt: number,
  extraBytes: number,
): Pick<ZipEntry, 'sizeBytes' | 'compressedBytes' | 'offset'> {
  const fields = [24, 20, 42].map((field) => view.getUint32(at + field, true));
  for (let i = extraAt; i + 4 <= extraAt + extraBytes;) {
    const length = view.getUint16(i + 2, true);
    const end = Math.min(i + 4 + length, extraAt + extraBytes);
    if (view.getUint16(i, true) === 1)
      for (let field = 0, from = i + 4; field < 3; field++) {
        if (fields[field] !== ALL_32 || from + 8 > end) continue;
        fields[field] = safe(view.getBigUint64(from, true));
        from += 8;
      }
    i += 4 + length;
  }
  const [sizeBytes = 0, compressedBytes = 0, offset = 0] = fields;
  return { sizeBytes, compressedBytes, offset };
}

function safe(value: bigint): number {
  if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw bad('its list of files is damaged');
  return Number(value);
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function bad(reason: string): QuarkError {
  return new QuarkError('invalid_input', `The archive cannot be read: ${reason}.`);
}
