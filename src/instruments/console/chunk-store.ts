/**
 * Stores the lines of a capture as artifacts, a chunk a time: compressed by the platform in turns of the event loop, and at the last
 * moment of a process before it returns. What is under way then is stored once more: readers take a line once.
 */
import type { RunContext } from '../../session/run-context.ts';
import type { TrainingSession } from '../../session/training-session.ts';
import { MAX_BLOB_BYTES_NOW } from '../../store/limits.ts';
import { ArtifactStore } from '../artifacts/artifact-store.ts';
import { CHUNK_KEY, CHUNK_TYPE, chunkToMetadata } from './chunk-metadata.ts';
import { takeColors } from './colors.ts';
import { packLines, packLinesNow, type ConsoleLine } from './console-line.ts';
import { lineBytes, type TakenLines } from './line-ring.ts';
import type { SecretCutter } from './secrets.ts';

/** Lines of one artifact: bounds the memory of readers. */
export const CHUNK_BYTES: number = 8 * 1024 * 1024;

type Chunk = TakenLines & { readonly firstLine: number };

/** See the top of this file. */
export class ChunkStore {
  readonly #captureId: string;
  readonly #cutter: SecretCutter;
  readonly #artifacts: ArtifactStore;
  readonly #active = new Map<Promise<void>, Chunk>();
  #storedLines = 0;
  #storedBytes = 0;
  #droppedLines = 0;

  constructor(session: TrainingSession | RunContext, captureId: string, cutter: SecretCutter) {
    this.#captureId = captureId;
    this.#cutter = cutter;
    this.#artifacts = new ArtifactStore(session);
  }

  get storedLines(): number {
    return this.#storedLines;
  }

  /** Memory that the stored lines took. */
  get storedBytes(): number {
    return this.#storedBytes;
  }

  /** Lines that were dropped before the stored ones. */
  get droppedLines(): number {
    return this.#droppedLines;
  }

  /** What is being stored. */
  get active(): readonly Promise<void>[] {
    return [...this.#active.keys()];
  }

  /** Begins to store lines. Rejects where the store fails; the lines then count as not taken. */
  begin(taken: TakenLines): Promise<void> {
    const chunk = this.#count(taken);
    const work = this.#store(chunk)
      .catch((error: unknown) => {
        this.#storedLines -= chunk.lines.length;
        this.#droppedLines -= chunk.dropped;
        throw error;
      })
      .finally(() => this.#active.delete(work));
    this.#active.set(work, chunk);
    return work;
  }

  /** Stores what is under way, and these lines, before it returns. Throws nothing: nobody could do anything about it. */
  storeNow(taken: readonly TakenLines[]): void {
    const waiting = [...this.#active.values(), ...taken.map((one) => this.#count(one))];
    const packed = waiting.flatMap((chunk) => this.#pack(chunk));
    if (packed.length > 0) this.#artifacts.storeNow(CHUNK_TYPE, CHUNK_KEY, packed);
  }

  /** Waits for what is being stored, and takes nothing more. */
  close(): Promise<void> {
    return this.#artifacts.close();
  }

  #count(taken: TakenLines): Chunk {
    const firstLine = this.#storedLines + this.#droppedLines + taken.dropped;
    this.#storedLines += taken.lines.length;
    this.#droppedLines += taken.dropped;
    for (const line of taken.lines) this.#storedBytes += lineBytes(line);
    return { ...taken, firstLine };
  }

  async #store(chunk: Chunk): Promise<void> {
    const lines = this.#clean(chunk);
    await this.#artifacts.store(CHUNK_TYPE, CHUNK_KEY, packLines(lines), {
      payloadFormat: 'bytes',
      metadata: this.#metadataOf(chunk),
    });
  }

  /** A chunk, in halves as long as it is larger than what is stored at once. */
  #pack(chunk: Chunk): {
    readonly bytes: Uint8Array<ArrayBuffer>;
    readonly metadata: ReturnType<typeof chunkToMetadata>;
  }[] {
    const bytes = packLinesNow(this.#clean(chunk));
    if (bytes === undefined) return [];
    if (bytes.byteLength <= MAX_BLOB_BYTES_NOW)
      return [{ bytes, metadata: this.#metadataOf(chunk) }];
    const half = chunk.lines.length >> 1;
    if (half === 0) return [];
    return [
      { ...chunk, lines: chunk.lines.slice(0, half) },
      { lines: chunk.lines.slice(half), dropped: 0, firstLine: chunk.firstLine + half },
    ].flatMap((part) => this.#pack(part));
  }

  /** The lines without colours and secrets, in this order: a secret in two colours is one text by then. */
  #clean({ lines }: Chunk): ConsoleLine[] {
    return lines.map((line): ConsoleLine => {
      const { level, source, timeMs } = line;
      const { spans, text } = this.#cutter.cut(takeColors(line.text), line.isCut);
      return { timeMs, source, level, text, spans };
    });
  }

  #metadataOf({ dropped, firstLine, lines }: Chunk): ReturnType<typeof chunkToMetadata> {
    return chunkToMetadata({
      format: 1,
      captureId: this.#captureId,
      firstLine,
      lineCount: lines.length,
      droppedLines: dropped,
      cutLines: lines.filter(({ isCut }) => isCut).length,
      firstTimeMs: lines[0]?.timeMs ?? 0,
      lastTimeMs: lines.at(-1)?.timeMs ?? 0,
    });
  }
}
