/** The parts of a `.quark` file: by its index, or one after the other where the end is missing. */
import { isQuarkError } from '../../../base/errors.ts';
import { crc32 } from '../../../base/crc32.ts';
import {
  FILE_END_BYTES,
  FILE_HEADER_BYTES,
  FILE_VERSION,
  fileVersion,
  INDEX_ENTRY_BYTES,
  PART_HEADER_BYTES,
  partEnd,
  readFileEnd,
  readIndex,
  readPartHeader,
  readPartMeta,
  type PartEntry,
} from '../../../codecs/quark/quark-file.ts';
import { damaged } from '../../../codecs/arrow/flatbuffer.ts';
import type { InputFile } from '../../../codecs/input.ts';
import type { ImportContext } from '../sink/importer.ts';
import type { ImportLimits } from '../../../codecs/limits.ts';
import { manifestShape } from '../../../records/shapes/manifest.ts';
import { checkShape, shapeFromJson } from '../../../schema/shape.ts';
import type { SegmentManifest } from '../../../store/store.ts';

/** A part with what it says of itself. */
export type QuarkPart = { readonly entry: PartEntry; readonly meta: unknown };

export class QuarkParts {
  readonly #file: InputFile;
  readonly #context: ImportContext;
  readonly #limits: ImportLimits;
  /** False once it is known that parts are missing at the end. */
  isWhole = true;

  constructor(file: InputFile, context: ImportContext) {
    this.#file = file;
    this.#context = context;
    this.#limits = context.limits;
  }

  /** The parts that are whole, in their order. What is damaged is reported and passed over. @throws {Error} when it is no such file */
  async *all(): AsyncGenerator<QuarkPart, void, undefined> {
    const version = fileVersion(await this.#file.slice(0, FILE_HEADER_BYTES));
    if (version === undefined) throw new Error('It does not begin as a .quark file.');
    if (version > FILE_VERSION)
      throw new Error(`It is of version ${version}, which this Quark does not know yet.`);
    const entries = await this.#index();
    if (entries === undefined) {
      this.isWhole = false;
      this.#problem(null, 'It is cut off, or its index is damaged: what is whole is imported.');
      yield* this.#scan();
      return;
    }
    for (const entry of entries) {
      try {
        yield { entry, meta: await this.#meta(entry) };
      } catch (error) {
        this.#report(entry, error);
      }
    }
  }

  /** The bytes of a part; undefined where they are damaged, which is reported. */
  async body(entry: PartEntry): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const bytes = await this.#bodyOf(entry, this.#limits.maxRecordBytes);
    if (typeof bytes !== 'string') return bytes;
    this.#problem(partLocationOf(entry), `It is left out: ${bytes}.`);
    return undefined;
  }

  /** The bytes, or what is wrong with them. */
  async #bodyOf(entry: PartEntry, maxBytes: number): Promise<Uint8Array<ArrayBuffer> | string> {
    if (entry.bodyBytes > maxBytes)
      return `it has ${entry.bodyBytes} bytes; it may have ${maxBytes} (limits.maxRecordBytes)`;
    const start = entry.offset + PART_HEADER_BYTES + entry.metaBytes;
    const bytes = await this.#file.slice(start, start + entry.bodyBytes);
    if (bytes.length !== entry.bodyBytes) return 'it is cut off';
    return crc32(bytes) === entry.bodyChecksum ? bytes : 'its checksum does not match';
  }

  async #meta(entry: PartEntry): Promise<unknown> {
    const end = entry.offset + PART_HEADER_BYTES + entry.metaBytes;
    return readPartMeta(await this.#file.slice(entry.offset, end), entry);
  }

  async #index(): Promise<PartEntry[] | undefined> {
    const { sizeBytes } = this.#file;
    if (sizeBytes < FILE_HEADER_BYTES + FILE_END_BYTES) return undefined;
    const end = readFileEnd(await this.#file.slice(sizeBytes - FILE_END_BYTES, sizeBytes));
    if (end === undefined) return undefined;
    const length = end.count * INDEX_ENTRY_BYTES;
    const { maxTableChunks } = this.#limits;
    if (end.count > maxTableChunks)
      throw new Error(
        `It has ${end.count} parts; it may have ${maxTableChunks} (limits.maxTableChunks).`,
      );
    if (end.offset + length + FILE_END_BYTES !== sizeBytes) return undefined;
    try {
      const entries = readIndex(
        await this.#file.slice(end.offset, end.offset + length),
        end.checksum,
      );
      if (entries === undefined) return undefined;
      // Each part begins where the one before ends, and the index behind the last: nothing lies in between, or in one another.
      let at = FILE_HEADER_BYTES;
      for (const entry of entries) {
        if (entry.offset !== at) return undefined;
        at = partEnd(entry);
      }
      return at === end.offset ? entries : undefined;
    } catch (error) {
      if (isQuarkError(error, 'segment_damaged')) return undefined;
      throw error;
    }
  }

  /** Part after part, as far as each says where the next begins. */
  async *#scan(): AsyncGenerator<QuarkPart, void, undefined> {
    let offset = FILE_HEADER_BYTES;
    for (let count = 0; count < this.#limits.maxTableChunks; count++) {
      let part: QuarkPart;
      try {
        const header = await this.#file.slice(offset, offset + PART_HEADER_BYTES);
        if (header.length === 0) return;
        const entry = readPartHeader(header, offset);
        part = { entry, meta: await this.#meta(entry) };
      } catch (error) {
        if (!isQuarkError(error, 'segment_damaged')) throw error;
        this.#problem(
          `byte ${offset}`,
          `Nothing more can be read: ${String(error.details['reason'])}.`,
        );
        return;
      }
      offset = partEnd(part.entry);
      yield part;
    }
  }

  #report(entry: PartEntry, error: unknown): void {
    if (!isQuarkError(error, 'segment_damaged')) throw error;
    this.isWhole = false;
    this.#problem(partLocationOf(entry), `It is left out: ${String(error.details['reason'])}.`);
  }

  #problem(location: string | null, reason: string): void {
    this.#context.problem({ file: this.#file.path, place: location, reason });
  }
}

/** Where a part is, for people. */
export function partLocationOf({ kind, offset }: PartEntry): string {
  return `${kind} at byte ${offset}`;
}

/**
 * The manifest in the description of a segment. This is where a manifest of a file is checked: it comes from outside.
 *
 * @throws {QuarkError} `segment_damaged` naming the field
 */
export function manifestIn(meta: unknown): SegmentManifest {
  const misfit = (field: string): Error => damaged(`its description has no sensible ${field}`);
  const manifest = shapeFromJson(manifestShape, meta, misfit);
  try {
    checkShape(manifestShape, manifest);
  } catch (error) {
    throw isQuarkError(error, 'invalid_input') ? misfit(String(error.details['field'])) : error;
  }
  return manifest;
}

/** A field of an object; undefined when there is none. */
export function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? Reflect.get(value, name)
    : undefined;
}
