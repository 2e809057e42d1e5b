/**
 * The parts of a `.quark` file, as docs/formats.md describes them: a header, parts that each carry their checksums, an index of all parts,
 * and an end by which the index is found. Writer and reader take the layout from here.
 */
import { crc32 } from '../../base/crc32.ts';
import { damaged } from '../arrow/flatbuffer.ts';

/** "QUARKF1\n". */
export const FILE_MAGIC: Uint8Array = Uint8Array.of(0x51, 0x55, 0x41, 0x52, 0x4b, 0x46, 0x31, 0x0a);
export const FILE_VERSION = 1;
export const FILE_HEADER_BYTES = 16;
export const PART_HEADER_BYTES = 32;
export const INDEX_ENTRY_BYTES = 32;
export const FILE_END_BYTES = 32;
/** Of a run with all of its configuration, or the manifest of a segment with all of its keys. */
export const MAX_META_BYTES: number = 8 * 1024 * 1024;

const PART_MAGIC = 0x54525051; // "QPRT"
const END_MAGIC = 0x444e4551; // "QEND"

/** What a part holds. */
export const PART_KINDS = ['run', 'segment', 'blob'] as const;
export type PartKind = (typeof PART_KINDS)[number];

/** A part as its header and the index describe it. */
export type PartEntry = {
  /** Where its header begins. */
  readonly offset: number;
  readonly kind: PartKind;
  readonly metaBytes: number;
  readonly bodyBytes: number;
  /** CRC-32 of header and meta. */
  readonly headChecksum: number;
  /** CRC-32 of the body. */
  readonly bodyChecksum: number;
};

/** The first bytes of a file. */
export function fileHeader(): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(FILE_HEADER_BYTES);
  bytes.set(FILE_MAGIC);
  new DataView(bytes.buffer).setUint32(8, FILE_VERSION, true);
  return bytes;
}

/** The version of a file; undefined when it is none. */
export function fileVersion(bytes: Uint8Array): number | undefined {
  if (bytes.length < FILE_HEADER_BYTES) return undefined;
  if (FILE_MAGIC.some((byte, i) => bytes[i] !== byte)) return undefined;
  return viewOf(bytes).getUint32(8, true);
}

/** Header and meta of a part; its body follows. */
export function partHead(
  kind: PartKind,
  offset: number,
  meta: object,
  body: Uint8Array,
): { readonly bytes: Uint8Array<ArrayBuffer>; readonly entry: PartEntry } {
  const text = new TextEncoder().encode(JSON.stringify(meta));
  const bytes = new Uint8Array(PART_HEADER_BYTES + text.length);
  const view = viewOf(bytes);
  const bodyChecksum = crc32(body);
  view.setUint32(0, PART_MAGIC, true);
  view.setUint32(4, PART_KINDS.indexOf(kind), true);
  view.setUint32(8, text.length, true);
  view.setUint32(12, bodyChecksum, true);
  view.setFloat64(16, body.length, true);
  bytes.set(text, PART_HEADER_BYTES);
  const headChecksum = headChecksumOf(bytes);
  view.setUint32(28, headChecksum, true);
  return {
    bytes,
    entry: {
      offset,
      kind,
      metaBytes: text.length,
      bodyBytes: body.length,
      headChecksum,
      bodyChecksum,
    },
  };
}

/**
 * The part whose header begins at `offset`.
 *
 * @throws {QuarkError} `segment_damaged`
 */
export function readPartHeader(bytes: Uint8Array, offset: number): PartEntry {
  if (bytes.length < PART_HEADER_BYTES) throw damaged('it is cut off');
  const view = viewOf(bytes);
  if (view.getUint32(0, true) !== PART_MAGIC) throw damaged('no part begins here');
  return checkEntry({
    offset,
    kind: kindOf(view.getUint32(4, true)),
    metaBytes: view.getUint32(8, true),
    bodyChecksum: view.getUint32(12, true),
    bodyBytes: view.getFloat64(16, true),
    headChecksum: view.getUint32(28, true),
  });
}

/**
 * The meta of a part, whose header and meta are `bytes`.
 *
 * @throws {QuarkError} `segment_damaged`
 */
export function readPartMeta(bytes: Uint8Array, entry: PartEntry): unknown {
  if (bytes.length !== PART_HEADER_BYTES + entry.metaBytes) throw damaged('it is cut off');
  const head = readPartHeader(bytes, entry.offset);
  const isSame =
    head.kind === entry.kind &&
    head.metaBytes === entry.metaBytes &&
    head.bodyBytes === entry.bodyBytes &&
    head.headChecksum === entry.headChecksum &&
    head.bodyChecksum === entry.bodyChecksum;
  if (!isSame || headChecksumOf(bytes) !== entry.headChecksum)
    throw damaged('the checksum of its head does not match');
  try {
    return JSON.parse(new TextDecoder().decode(bytes.subarray(PART_HEADER_BYTES)));
  } catch {
    throw damaged('its description is no JSON');
  }
}

/** The index and the end of a file. */
export function fileEnd(
  entries: readonly PartEntry[],
  indexOffset: number,
): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(entries.length * INDEX_ENTRY_BYTES + FILE_END_BYTES);
  const view = viewOf(bytes);
  for (const [i, entry] of entries.entries()) {
    const at = i * INDEX_ENTRY_BYTES;
    view.setFloat64(at, entry.offset, true);
    view.setFloat64(at + 8, entry.bodyBytes, true);
    view.setUint32(at + 16, entry.metaBytes, true);
    view.setUint32(at + 20, PART_KINDS.indexOf(entry.kind), true);
    view.setUint32(at + 24, entry.headChecksum, true);
    view.setUint32(at + 28, entry.bodyChecksum, true);
  }
  const end = entries.length * INDEX_ENTRY_BYTES;
  view.setUint32(end, END_MAGIC, true);
  view.setUint32(end + 4, crc32(bytes, 0, end), true);
  view.setFloat64(end + 8, indexOffset, true);
  view.setUint32(end + 16, entries.length, true);
  view.setUint32(end + 20, crc32(bytes, end, end + 20), true);
  bytes.set(FILE_MAGIC, end + 24);
  return bytes;
}

/** Where the index is; undefined when the bytes are no end of a file. */
export function readFileEnd(
  bytes: Uint8Array,
): { readonly offset: number; readonly count: number; readonly checksum: number } | undefined {
  if (bytes.length !== FILE_END_BYTES) return undefined;
  const view = viewOf(bytes);
  if (view.getUint32(0, true) !== END_MAGIC) return undefined;
  if (FILE_MAGIC.some((byte, i) => bytes[24 + i] !== byte)) return undefined;
  if (view.getUint32(20, true) !== crc32(bytes, 0, 20)) return undefined;
  const offset = view.getFloat64(8, true);
  if (!Number.isSafeInteger(offset) || offset < FILE_HEADER_BYTES) return undefined;
  return { offset, count: view.getUint32(16, true), checksum: view.getUint32(4, true) };
}

/** The parts that an index lists; undefined when its checksum does not match. */
export function readIndex(bytes: Uint8Array, checksum: number): PartEntry[] | undefined {
  if (crc32(bytes) !== checksum) return undefined;
  const view = viewOf(bytes);
  return Array.from({ length: Math.floor(bytes.length / INDEX_ENTRY_BYTES) }, (_, i) => {
    const at = i * INDEX_ENTRY_BYTES;
    return checkEntry({
      offset: view.getFloat64(at, true),
      bodyBytes: view.getFloat64(at + 8, true),
      metaBytes: view.getUint32(at + 16, true),
      kind: kindOf(view.getUint32(at + 20, true)),
      headChecksum: view.getUint32(at + 24, true),
      bodyChecksum: view.getUint32(at + 28, true),
    });
  });
}

/** Where the next part begins. */
export function partEnd({ offset, metaBytes, bodyBytes }: PartEntry): number {
  return offset + PART_HEADER_BYTES + metaBytes + bodyBytes;
}

function checkEntry(entry: PartEntry): PartEntry {
  const { offset, metaBytes, bodyBytes } = entry;
  if (!Number.isSafeInteger(offset) || offset < FILE_HEADER_BYTES)
    throw damaged('a part lies outside of the file');
  if (!Number.isSafeInteger(bodyBytes) || bodyBytes < 0 || metaBytes > MAX_META_BYTES)
    throw damaged('a part has no sensible size');
  return entry;
}

function kindOf(code: number): PartKind {
  const kind = PART_KINDS[code];
  if (kind === undefined) throw damaged(`there is no part of kind ${code}`);
  return kind;
}

/** Of everything but itself. */
function headChecksumOf(bytes: Uint8Array): number {
  return crc32(bytes, PART_HEADER_BYTES, bytes.length, crc32(bytes, 0, 28));
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
