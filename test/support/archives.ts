/** Archives as programs make them, for tests of what reads them. */
import { deflateRawSync, gzipSync } from 'node:zlib';

type Content = Readonly<Record<string, string | Uint8Array>>;

/** A gzip file; `bytes` cuts it off. */
export function gzip(content: string | Uint8Array, bytes?: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(gzipSync(content)).slice(0, bytes);
}

/** A ZIP archive. A name that ends in "!" is stored as it is, others are deflated. */
export function zip(
  files: Content,
  { isWide = false, flags = 0 }: { readonly isWide?: boolean; readonly flags?: number } = {},
): Uint8Array<ArrayBuffer> {
  const parts: Buffer[] = [];
  const list: Buffer[] = [];
  let at = 0;
  const add = (part: Buffer): void => {
    parts.push(part);
    at += part.length;
  };
  for (const [written, content] of Object.entries(files)) {
    const isStored = written.endsWith('!');
    const name = Buffer.from(isStored ? written.slice(0, -1) : written);
    const plain = Buffer.from(content);
    const data = isStored ? plain : deflateRawSync(plain);
    const local = Buffer.alloc(30);
    local.writeUInt32LE(0x04034b50, 0);
    local.writeUInt16LE(isStored ? 0 : 8, 8);
    local.writeUInt16LE(name.length, 26);
    const offset = at;
    for (const part of [local, name, data]) add(part);
    const extra = Buffer.alloc(isWide ? 28 : 0);
    if (isWide) {
      extra.writeUInt16LE(1, 0);
      extra.writeUInt16LE(24, 2);
      extra.writeBigUInt64LE(BigInt(plain.length), 4);
      extra.writeBigUInt64LE(BigInt(data.length), 12);
      extra.writeBigUInt64LE(BigInt(offset), 20);
    }
    const entry = Buffer.alloc(46);
    entry.writeUInt32LE(0x02014b50, 0);
    entry.writeUInt16LE(flags, 8);
    entry.writeUInt16LE(isStored ? 0 : 8, 10);
    entry.writeUInt32LE(isWide ? 0xffffffff : data.length, 20);
    entry.writeUInt32LE(isWide ? 0xffffffff : plain.length, 24);
    entry.writeUInt16LE(name.length, 28);
    entry.writeUInt16LE(extra.length, 30);
    entry.writeUInt32LE(isWide ? 0xffffffff : offset, 42);
    list.push(entry, name, extra);
  }
  const listOffset = at;
  for (const part of list) add(part);
  const listBytes = at - listOffset;
  const count = Object.keys(files).length;
  if (isWide) {
    const wide = Buffer.alloc(56 + 20);
    wide.writeUInt32LE(0x06064b50, 0);
    wide.writeBigUInt64LE(BigInt(count), 32);
    wide.writeBigUInt64LE(BigInt(listBytes), 40);
    wide.writeBigUInt64LE(BigInt(listOffset), 48);
    wide.writeUInt32LE(0x07064b50, 56);
    wide.writeBigUInt64LE(BigInt(at), 64);
    add(wide);
  }
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(isWide ? 0xffff : count, 10);
  end.writeUInt32LE(isWide ? 0xffffffff : listBytes, 12);
  end.writeUInt32LE(isWide ? 0xffffffff : listOffset, 16);
  add(end);
  return new Uint8Array(Buffer.concat(parts));
}

/** A TAR archive; names of over 100 characters as GNU or pax headers write them. */
export function tar(files: Content, longNames: 'gnu' | 'pax' = 'gnu'): Uint8Array<ArrayBuffer> {
  const parts = Object.entries(files).flatMap(([name, content]) => {
    const data = Buffer.from(content);
    const file = block(name.slice(0, 100), '0', data);
    if (name.length <= 100) return [file];
    const record = `${name.length + 6 + String(name.length + 9).length} path=${name}\n`;
    return longNames === 'gnu'
      ? [block('././@LongLink', 'L', Buffer.from(`${name}\0`)), file]
      : [block('PaxHeader', 'x', Buffer.from(record)), file];
  });
  return new Uint8Array(Buffer.concat([...parts, Buffer.alloc(1024)]));
}

function block(name: string, type: string, data: Buffer): Buffer {
  const header = Buffer.alloc(512);
  header.write(name, 0);
  header.write('0000644\0', 100);
  header.write(`${data.length.toString(8).padStart(11, '0')}\0`, 124);
  header.write('14000000000\0', 136);
  header.write('        ', 148);
  header.write(type, 156);
  header.write('ustar\u000000', 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  const rest = (512 - (data.length % 512)) % 512;
  return Buffer.concat([header, data, Buffer.alloc(rest)]);
}
