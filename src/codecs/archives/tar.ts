/** TAR archives (POSIX ustar and pax, GNU long names): where the files in them are. Links and devices are left out. */
import { QuarkError } from '../../base/errors.ts';
import type { InputFile } from '../input.ts';

/** A file in an archive. */
export type TarEntry = {
  readonly path: string;
  readonly sizeBytes: number;
  /** Where its content begins. */
  readonly offset: number;
  readonly modifiedAtMs: number | null;
};

/** What an archive has: its files, and whether it ends within one. */
export type TarList = { readonly entries: readonly TarEntry[]; readonly isCut: boolean };

const BLOCK = 512;
const MAX_NAME_BYTES = 65_536;
/** Types whose content is the name of the next file: GNU long name, pax header. */
const GNU_NAME = 'L';
const PAX = 'x';

/** Whether bytes are the first block of an archive. */
export function isTar(head: Uint8Array): boolean {
  return head.byteLength >= BLOCK && sumIsRight(head.subarray(0, BLOCK)) && head[0] !== 0;
}

/** @throws {QuarkError} `invalid_input` when it has more files than it may */
export async function readTarEntries(file: InputFile, maxEntries: number): Promise<TarList> {
  const entries: TarEntry[] = [];
  let name: string | undefined;
  let at = 0;
  while (at + BLOCK <= file.sizeBytes) {
    const header = await file.slice(at, at + BLOCK);
    if (header.byteLength < BLOCK || header.every((byte) => byte === 0)) break;
    if (!sumIsRight(header)) return { entries, isCut: true };
    const sizeBytes = sizeIn(header);
    const type = String.fromCharCode(header[156] ?? 0);
    const offset = at + BLOCK;
    const end = offset + Math.ceil(sizeBytes / BLOCK) * BLOCK;
    if (type === GNU_NAME || type === PAX) {
      const bytes = await file.slice(offset, offset + Math.min(sizeBytes, MAX_NAME_BYTES));
      name = type === PAX ? (paxPath(bytes) ?? name) : textOf(bytes);
    } else {
      if (type === '0' || type === '\0') {
        if (entries.length >= maxEntries)
          throw new QuarkError(
            'invalid_input',
            `The archive has more than ${maxEntries} files (limits.maxFiles).`,
          );
        const isCut = offset + sizeBytes > file.sizeBytes;
        const seconds = octal(header.subarray(136, 148));
        entries.push({
          path: name ?? nameIn(header),
          sizeBytes: isCut ? file.sizeBytes - offset : sizeBytes,
          offset,
          modifiedAtMs: Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : null,
        });
        if (isCut) return { entries, isCut };
      }
      name = undefined;
    }
    if (!(end > at)) return { entries, isCut: true };
    at = end;
  }
  return { entries, isCut: false };
}

/** The checksum counts itself as blanks. */
function sumIsRight(header: Uint8Array): boolean {
  let sum = 0;
  for (const [i, byte] of header.entries()) sum += i >= 148 && i < 156 ? 0x20 : byte;
  return sum === octal(header.subarray(148, 156));
}

/** Octal digits, or from 8 GiB on a number in the last eight bytes. */
function sizeIn(header: Uint8Array): number {
  if (((header[124] ?? 0) & 0x80) === 0) return octal(header.subarray(124, 136)) || 0;
  let size = 0;
  for (const byte of header.subarray(128, 136)) size = size * 256 + byte;
  return Number.isSafeInteger(size) ? size : 0;
}

function nameIn(header: Uint8Array): string {
  const prefix =
    textOf(header.subarray(257, 262)) === 'ustar' ? textOf(header.subarray(345, 500)) : '';
  const name = textOf(header.subarray(0, 100));
  return prefix === '' ? name : `${prefix}/${name}`;
}

/** The path in the records of a pax header: `length path=value`. */
function paxPath(bytes: Uint8Array): string | undefined {
  return /(?:^|\n)\d{1,10} path=([^\n]+)\n/.exec(new TextDecoder().decode(bytes))?.[1];
}

function textOf(bytes: Uint8Array): string {
  const end = bytes.indexOf(0);
  return new TextDecoder().decode(end < 0 ? bytes : bytes.subarray(0, end));
}

function octal(bytes: Uint8Array): number {
  const digits = textOf(bytes).trim();
  return /^[0-7]{1,12}$/.test(digits) ? Number.parseInt(digits, 8) : Number.NaN;
}
