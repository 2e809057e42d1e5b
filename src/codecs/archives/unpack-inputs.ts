/** Files that are packed, as the files in them: gzip, ZIP, TAR, and one in the other. Text in UTF-16 is UTF-8 for those who read it. */
import { checkNotAborted } from '../../base/assert.ts';
import { isQuarkError, messageOf } from '../../base/errors.ts';
import { fileName, type InputFile } from '../input.ts';
import type { ImportLimits } from '../limits.ts';
import { inflateFile, tooLarge, type CompressedBytes, type Utf16 } from './inflated-file.ts';
import { partOfFile } from './part-file.ts';
import { isTar, readTarEntries } from './tar.ts';
import { readZipEntries, zipPart, type ZipEntry } from './zip.ts';

/** What is asked of an unpacking. */
export type UnpackConfig = {
  readonly limits: ImportLimits;
  readonly signal: AbortSignal | undefined;
  /** Told of what cannot be unpacked. */
  readonly problem: (file: string, reason: string) => void;
};

const HEAD_BYTES = 512;
/** A folder of logs in a gzipped TAR in a ZIP is as deep as people pack. */
const MAX_DEPTH = 3;
/** Files that are inflated into memory, each and together; larger ones are inflated as they are read. */
const MAX_MEMORY_BYTES = 32 * 1024 * 1024;
const ALL_MEMORY_BYTES = 256 * 1024 * 1024;
const STORED = 0;
const DEFLATED = 8;
/** What other formats that are ZIP archives have in them: office documents, Java, models. */
const NO_LOGS =
  /^(?:\[Content_Types\]\.xml|mimetype|META-INF\/.*|[^/]+\/data\.pkl|model\.weights\.h5)$/;
const NUMPY = /\.npy$/;
/** What file managers add. */
const CLUTTER = /(?:^|\/)(?:__MACOSX\/|\.DS_Store$|\._[^/]*$|Thumbs\.db$)/;

/** The files, with packed ones replaced by what is in them. What cannot be unpacked is reported; of what is damaged the rest is there. */
export async function unpackInputs(
  files: readonly InputFile[],
  config: UnpackConfig,
): Promise<readonly InputFile[]> {
  const unpacking = new Unpacking(files, config);
  for (const file of files) await unpacking.add(file, 0);
  return unpacking.files;
}

class Unpacking {
  readonly files: InputFile[] = [];
  readonly #config: UnpackConfig;
  readonly #taken: Set<string>;
  #memoryBytes = 0;
  /** What the file under way may become with all that is in it. */
  #budget = 0;

  constructor(files: readonly InputFile[], config: UnpackConfig) {
    this.#config = config;
    this.#taken = new Set(files.map(({ path }) => path));
  }

  async add(file: InputFile, depth: number): Promise<void> {
    checkNotAborted(this.#config.signal);
    if (depth === 0) this.#budget = this.#config.limits.maxUnpackedBytes;
    try {
      const head = await file.slice(0, HEAD_BYTES);
      const kind = kindOf(head);
      const encoding = utf16Of(head);
      if (kind !== undefined && depth >= MAX_DEPTH)
        this.#problem(file, `It is packed more than ${MAX_DEPTH} times: left out.`);
      else if (kind === 'gzip') await this.#gzip(file, depth);
      else if (kind === 'zip') await this.#zip(file, depth);
      else if (kind === 'tar') await this.#tar(file, depth);
      else if (encoding !== undefined) await this.#text(file, encoding, depth);
      else this.#give(file);
    } catch (error) {
      if (isQuarkError(error, 'aborted')) throw error;
      // A file that cannot be read is reported where it is read.
      if (depth === 0 && file.sizeBytes === 0) this.#give(file);
      else this.#problem(file, messageOf(error));
    }
  }

  #give(file: InputFile): void {
    const { maxFiles } = this.#config.limits;
    if (this.files.length === maxFiles)
      this.#problem(
        file,
        `It and what follows is left out: an import may have ${maxFiles} files (limits.maxFiles).`,
      );
    if (this.files.length <= maxFiles) this.files.push(file);
  }

  async #gzip(file: InputFile, depth: number): Promise<void> {
    const path = this.#nameFor(
      file.path,
      file.path.replace(/\.tgz$/i, '.tar').replace(/\.gz$/i, ''),
    );
    await this.#inflated(file, depth, {
      path,
      modifiedAtMs: file.modifiedAtMs,
      format: 'gzip',
      compressed: () => file.stream(),
    });
  }

  /** What PowerShell writes of `>` and `Tee-Object`. */
  async #text(file: InputFile, format: Utf16, depth: number): Promise<void> {
    const { modifiedAtMs, path } = file;
    await this.#inflated(file, depth, {
      path,
      modifiedAtMs,
      format,
      compressed: () => file.stream(),
    });
  }

  async #inflated(packed: InputFile, depth: number, source: CompressedBytes): Promise<void> {
    const room = Math.max(0, ALL_MEMORY_BYTES - this.#memoryBytes);
    const { damage, file } = await inflateFile(source, {
      maxBytes: this.#budget,
      maxMemoryBytes: Math.min(MAX_MEMORY_BYTES, room),
    });
    this.#budget -= file.sizeBytes;
    if (file.sizeBytes <= Math.min(MAX_MEMORY_BYTES, room)) this.#memoryBytes += file.sizeBytes;
    if (damage !== undefined)
      this.#problem(
        packed,
        `${source.path === packed.path ? 'It' : `"${fileName(source.path)}" in it`} is cut off or damaged after ${file.sizeBytes} bytes of its content (${damage}): what comes before is read.`,
      );
    await this.add(file, depth + 1);
  }

  async #zip(file: InputFile, depth: number): Promise<void> {
    const { maxFiles, maxFooterBytes } = this.#config.limits;
    const entries = await readZipEntries(file, {
      maxEntries: maxFiles,
      maxListBytes: maxFooterBytes,
    });
    const isOther = entries.some(({ path }) => NO_LOGS.test(path));
    if (isOther || entries.every(({ path }) => NUMPY.test(path))) return this.#give(file);
    for (const entry of entries) {
      if (CLUTTER.test(entry.path)) continue;
      const path = this.#nameFor(
        `${file.path}/${plain(entry.path)}`,
        `${file.path.replace(/\.zip$/i, '')}/${plain(entry.path)}`,
      );
      if (entry.isEncrypted) this.#problem(file, `"${entry.path}" in it is encrypted: left out.`);
      else if (entry.method !== STORED && entry.method !== DEFLATED)
        this.#problem(
          file,
          `"${entry.path}" in it is compressed by method ${entry.method}: only stored files and DEFLATE are read.`,
        );
      else await this.#zipEntry(file, { ...entry, path }, depth);
    }
  }

  async #zipEntry(file: InputFile, entry: ZipEntry, depth: number): Promise<void> {
    const { path } = entry;
    const { modifiedAtMs } = file;
    try {
      const part = partOfFile(file, { path, modifiedAtMs, ...(await zipPart(file, entry)) });
      if (entry.method === DEFLATED)
        return await this.#inflated(file, depth, {
          path,
          modifiedAtMs,
          format: 'deflate-raw',
          compressed: () => part.stream(),
        });
      this.#budget -= part.sizeBytes;
      if (this.#budget < 0) throw tooLarge(this.#config.limits.maxUnpackedBytes);
      await this.add(part, depth + 1);
    } catch (error) {
      if (isQuarkError(error, 'aborted')) throw error;
      this.#problem(file, `"${fileName(path)}" in it: ${messageOf(error)}`);
    }
  }

  async #tar(file: InputFile, depth: number): Promise<void> {
    const { entries, isCut } = await readTarEntries(file, this.#config.limits.maxFiles);
    if (isCut) this.#problem(file, 'It is cut off or damaged: the files before that are read.');
    const stem = file.path.replace(/\.tar$/i, '');
    for (const entry of entries) {
      if (CLUTTER.test(entry.path)) continue;
      const inside = plain(entry.path);
      const path = this.#nameFor(`${file.path}/${inside}`, `${stem}/${inside}`);
      await this.add(
        partOfFile(file, { ...entry, path, modifiedAtMs: entry.modifiedAtMs ?? file.modifiedAtMs }),
        depth + 1,
      );
    }
  }

  /** The name without the packing, unless another file has it. */
  #nameFor(full: string, short: string): string {
    const path = this.#taken.has(short) && short !== full ? full : short;
    this.#taken.add(path);
    return path;
  }

  #problem({ path }: InputFile, reason: string): void {
    this.#config.problem(path, reason);
  }
}

function kindOf(head: Uint8Array): 'gzip' | 'zip' | 'tar' | undefined {
  if (head[0] === 0x1f && head[1] === 0x8b && head[2] === 8) return 'gzip';
  const isZip = head[0] === 0x50 && head[1] === 0x4b;
  if (isZip && ((head[2] === 3 && head[3] === 4) || (head[2] === 5 && head[3] === 6))) return 'zip';
  return isTar(head) ? 'tar' : undefined;
}

/**
 * The encoding of text that begins with the byte order mark of UTF-16. Other files that begin with these two bytes have a unit of zeros in
 * their head, or next to no characters below 256.
 */
function utf16Of(head: Uint8Array): Utf16 | undefined {
  const isLittle = head[0] === 0xff && head[1] === 0xfe;
  if (!isLittle && !(head[0] === 0xfe && head[1] === 0xff)) return undefined;
  let plainCount = 0;
  const end = head.byteLength - (head.byteLength % 2);
  for (let at = 2; at < end; at += 2) {
    const high = head[isLittle ? at + 1 : at];
    const low = head[isLittle ? at : at + 1];
    if (high === 0 && low === 0) return undefined;
    if (high === 0) plainCount++;
  }
  return plainCount * 8 >= end ? (isLittle ? 'utf-16le' : 'utf-16be') : undefined;
}

/** The path of a file in an archive without what leads out of it. */
function plain(path: string): string {
  const parts = path.split(/[/\\]/).filter((part) => part !== '' && part !== '.' && part !== '..');
  return parts.join('/') || 'file';
}
