/** Parquet files that claim far more than they hold, written by hand: any number of row groups share one page. */
import {
  i32,
  i64,
  thriftList,
  struct,
  thriftText,
  thriftBytes,
} from '../../src/codecs/thrift/thrift-writer.ts';
import { bytesOf, u32, varint } from './event-file.ts';

const MAGIC = new TextEncoder().encode('PAR1');
const DOUBLE = 5;
const BYTE_ARRAY = 6;
const RLE = 3;

/** A page, and what its column says of it. */
export type SharedPage = {
  readonly type: 'DOUBLE' | 'BYTE_ARRAY';
  readonly codec: number;
  readonly encoding: number;
  readonly packed: Uint8Array;
  readonly unpacked: number;
  readonly values: number;
  readonly isOptional?: boolean;
};

/** As many row groups of one row as fit into `maxBytes`, each of the same page. */
export function sharedPageFile(page: SharedPage, maxBytes = 100_000): Uint8Array<ArrayBuffer> {
  const header = thriftBytes([
    [1, i32(0)],
    [2, i32(page.unpacked)],
    [3, i32(page.packed.length)],
    [5, struct([1, i32(page.values)], [2, i32(page.encoding)], [3, i32(RLE)], [4, i32(RLE)])],
  ]);
  const size = header.length + page.packed.length;
  const meta = struct(
    [4, i32(page.codec)],
    [5, i64(page.values)],
    [7, i64(size)],
    [9, i64(MAGIC.length)],
  );
  const group = struct([1, thriftList('struct', [struct([3, meta])])], [3, i64(1)]);
  const groupBytes = thriftBytes([[1, group]]).length;
  const count = Math.floor((maxBytes - size - 200) / groupBytes);
  const type = page.type === 'DOUBLE' ? DOUBLE : BYTE_ARRAY;
  const footer = thriftBytes([
    [
      2,
      thriftList('struct', [
        struct([4, thriftText('schema')], [5, i32(1)]),
        struct(
          [1, i32(type)],
          [3, i32(page.isOptional === true ? 1 : 0)],
          [4, thriftText('payload')],
        ),
      ]),
    ],
    [3, i64(count)],
    [4, thriftList('struct', new Array<typeof group>(count).fill(group))],
  ]);
  return bytesOf(MAGIC, header, page.packed, footer, u32(footer.length), MAGIC);
}

/** A file with nothing but a footer. */
export function footerFile(footer: Uint8Array): Uint8Array<ArrayBuffer> {
  return bytesOf(MAGIC, footer, u32(footer.length), MAGIC);
}

/** `count` numbers that rise by `by`, packed as differences. */
export function rising(count: number, first: number, by: number): Uint8Array<ArrayBuffer> {
  const zigzag = (value: number): number[] => varint(value * 2);
  const blocks = Math.ceil((count - 1) / 128);
  return bytesOf(
    varint(128),
    varint(4),
    varint(count),
    zigzag(first),
    ...Array.from({ length: blocks }, () => [...zigzag(by), 0, 0, 0, 0]),
  );
}
