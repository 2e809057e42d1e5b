/**
 * What was appended to the tables that a watch reads: stored bytes, since the poll before. What this session appended
 * itself is known without asking the store; anything else is listed from the position on.
 */
import { SessionStoreError } from '../../base/errors.ts';
import { overlapGroups } from '../../read/table-batches.ts';
import type { SegmentManifest, SegmentRead, SegmentSource } from '../../store/store.ts';
import { WATCH_TABLES, type Load, type SegmentBatch, type WatchTable } from './messages.ts';

/** Segments of one table that are remembered from one poll to the next; where there are more, the store is asked. */
const MAX_FRESH = 4096;
/** Bytes that are handed over at a time, at least, before more are read. */
const LOAD_BYTES = 8 << 20;
/** Bytes of segments begin at multiples of it, as Arrow would have them. */
const ALIGNMENT = 64;
/** A merge under way may take segments away between listing and reading; it cannot do so for ever. */
const MAX_ATTEMPTS = 8;

/** How far a table was read. */
type Progress = {
  /** First sequence number that was not read. */
  next: number;
  /** First that no rule has been asked about. */
  judged: number;
  isDirty: boolean;
  fresh: SegmentManifest[];
};

type SegmentWithBytes = { readonly manifest: SegmentManifest; readonly read: SegmentRead };

export class WatchFeed {
  readonly #store: SegmentSource;
  readonly #runId: string;
  readonly #progress = new Map<string, Progress>(
    WATCH_TABLES.map((table) => [table, { next: 0, judged: 0, isDirty: true, fresh: [] }]),
  );

  constructor(store: SegmentSource, runId: string) {
    this.#store = store;
    this.#runId = runId;
  }

  /** Notes what was appended; false for a table that a watch does not read. */
  appended(table: string, segments: readonly SegmentManifest[]): boolean {
    const progress = this.#progress.get(table);
    if (progress === undefined) return false;
    progress.isDirty = true;
    if (progress.fresh.length + segments.length > MAX_FRESH) progress.fresh = [];
    else progress.fresh.push(...segments);
    return true;
  }

  /** There may be more in any table. */
  markAll(): void {
    for (const progress of this.#progress.values()) progress.isDirty = true;
  }

  /**
   * What is new, in loads of bounded size.
   *
   * @throws {SessionStoreError} after all that could be read; the rest comes with the next call
   */
  async *read(): AsyncGenerator<Load, void, undefined> {
    const load = new LoadInProgress();
    const failures: unknown[] = [];
    for (const table of WATCH_TABLES) {
      const progress = this.#progress.get(table);
      if (progress?.isDirty !== true) continue;
      progress.isDirty = false;
      try {
        for await (const loaded of this.#groups(table, progress)) {
          const last = loaded.reduce(
            (max, { manifest }) => Math.max(max, manifest.lastSequence),
            0,
          );
          load.add({ table, sequenceMin: progress.next, isKnown: last < progress.judged }, loaded);
          progress.next = last + 1;
          if (load.byteLength >= LOAD_BYTES) yield load.take();
        }
      } catch (error) {
        progress.isDirty = true;
        failures.push(error);
      }
    }
    if (load.byteLength > 0) yield load.take();
    if (failures.length > 0) throw failures[0];
  }

  /** Whatever was read has been judged. */
  settle(): void {
    for (const progress of this.#progress.values()) progress.judged = progress.next;
  }

  /** From the beginning again, for somebody who knows nothing of the run. */
  rewind(): void {
    for (const progress of this.#progress.values()) {
      progress.next = 0;
      progress.isDirty = true;
      progress.fresh = [];
    }
  }

  /** Segments with their bytes, a group of those that overlap at a time. */
  async *#groups(
    table: WatchTable,
    progress: Progress,
  ): AsyncGenerator<readonly SegmentWithBytes[]> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      let isGone = false;
      const manifests = await this.#manifests(table, progress);
      for (const group of overlapGroups(manifests).flatMap((one) => cutAt(one, progress.judged))) {
        const reads = await this.#store.readSegments(group);
        const loaded = group.map((manifest, i): SegmentWithBytes => ({
          manifest,
          read: reads[i] ?? { kind: 'gone' },
        }));
        isGone = loaded.some(({ read }) => read.kind === 'gone');
        if (isGone) break;
        attempt = 0;
        yield loaded;
      }
      if (!isGone) return;
    }
    throw new SessionStoreError(
      'busy',
      `The ${table} of run ${this.#runId} were merged again and again while they were watched. The next poll tries again.`,
      { details: { runId: this.#runId } },
    );
  }

  async #manifests(table: WatchTable, progress: Progress): Promise<readonly SegmentManifest[]> {
    const { fresh, next } = progress;
    progress.fresh = [];
    if (fresh.length > 0 && followsOn(fresh, next)) return fresh;
    const from = next > 0 ? { sequenceMin: next } : {};
    return this.#store.listSegments({ runId: this.#runId, table, ...from });
  }
}

/** Whether these are all that there is from `next` on up to the last of them: another session may write, too. */
function followsOn(segments: readonly SegmentManifest[], next: number): boolean {
  let expected = next;
  for (const { firstSequence, lastSequence, rowCount } of segments) {
    if (firstSequence !== expected || lastSequence - firstSequence + 1 !== rowCount) return false;
    expected = lastSequence + 1;
  }
  return true;
}

/** What was judged and what was not, apart, unless there are segments that hold some of both. */
function cutAt(group: SegmentManifest[], judged: number): readonly SegmentManifest[][] {
  const before = group.filter(({ lastSequence }) => lastSequence < judged);
  const after = group.filter(({ firstSequence }) => firstSequence >= judged);
  const isWhole = before.length + after.length === group.length;
  return isWhole && before.length > 0 && after.length > 0 ? [before, after] : [group];
}

/** Puts the bytes of segments into one buffer, which can be handed to another thread. */
class LoadInProgress {
  #batches: SegmentBatch[] = [];
  #bytes: Uint8Array[] = [];
  byteLength = 0;

  add(where: Omit<SegmentBatch, 'segments'>, loaded: readonly SegmentWithBytes[]): void {
    const segments = loaded.map(({ manifest, read }) => {
      // What cannot be read is reported as damaged by the reader that opens it, because it has no bytes.
      const bytes = read.kind === 'bytes' ? read.bytes : new Uint8Array(0);
      const byteOffset = this.byteLength;
      this.#bytes.push(bytes);
      this.byteLength += Math.max(1, Math.ceil(bytes.byteLength / ALIGNMENT)) * ALIGNMENT;
      return { manifest, byteOffset, byteLength: bytes.byteLength };
    });
    this.#batches.push({ ...where, segments });
  }

  take(): Load {
    const buffer = new ArrayBuffer(this.byteLength);
    const target = new Uint8Array(buffer);
    let i = 0;
    for (const { segments } of this.#batches)
      for (const { byteOffset } of segments) target.set(this.#bytes[i++] ?? [], byteOffset);
    const load = { batches: this.#batches, buffer };
    this.#batches = [];
    this.#bytes = [];
    this.byteLength = 0;
    return load;
  }
}
