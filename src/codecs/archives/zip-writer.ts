/** ZIP archives, written without compression: what has little to compress, and readers that have no library. */
import { crc32 } from '../../base/crc32.ts';
import { invalidInput } from '../../base/errors.ts';

/** A file of an archive. */
export type StoredFile = { readonly path: string; readonly bytes: Uint8Array };

const LOCAL_BYTES = 30;
const ENTRY_BYTES = 46;
const END_BYTES = 22;
/** ZIP64, which has more, is not written. */
const MAX_BYTES = 0xffff_ffff;
/** 1980-01-01, the first day of ZIP: equal files give equal archives. */
const DATE = 0x21;
/** Names are UTF-8. */
const FLAGS = 0x800;

/** An archive as chunks; those of the files are the arrays that were given. @throws {QuarkError} `invalid_input` beyond 4 GiB */
export function storedZip(files: readonly StoredFile[]): Uint8Array[] {
  const encoder = new TextEncoder();
  const chunks: Uint8Array[] = [];
  const entries: Uint8Array[] = [];
  let offset = 0;
  let listBytes = 0;
  for (const { bytes, path } of files) {
    const name = encoder.encode(path);
    const fields = new Uint8Array(26);
    const view = new DataView(fields.buffer);
    view.setUint16(0, 20, true);
    view.setUint16(2, FLAGS, true);
    view.setUint16(8, DATE, true);
    view.setUint32(10, crc32(bytes), true);
    view.setUint32(14, bytes.byteLength, true);
    view.setUint32(18, bytes.byteLength, true);
    view.setUint16(22, name.byteLength, true);
    const local = new Uint8Array(LOCAL_BYTES + name.byteLength);
    new DataView(local.buffer).setUint32(0, 0x04034b50, true);
    local.set(fields, 4);
    local.set(name, LOCAL_BYTES);
    const entry = new Uint8Array(ENTRY_BYTES + name.byteLength);
    const entryView = new DataView(entry.buffer);
    entryView.setUint32(0, 0x02014b50, true);
    entryView.setUint16(4, 20, true);
    entry.set(fields, 6);
    entryView.setUint32(42, offset, true);
    entry.set(name, ENTRY_BYTES);
    chunks.push(local, bytes);
    entries.push(entry);
    offset += local.byteLength + bytes.byteLength;
    listBytes += entry.byteLength;
    if (offset + listBytes + END_BYTES > MAX_BYTES)
      throw invalidInput('files', `${offset} bytes`, 'less than 4 GiB together');
  }
  const end = new Uint8Array(END_BYTES);
  const view = new DataView(end.buffer);
  view.setUint32(0, 0x06054b50, true);
  view.setUint16(8, files.length, true);
  view.setUint16(10, files.length, true);
  view.setUint32(12, listBytes, true);
  view.setUint32(16, offset, true);
  return [...chunks, ...entries, end];
}
