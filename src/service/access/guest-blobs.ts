/**
 * Which blobs of a space a guest may read, who sees only some of its projects: blobs that artifacts of these projects name, and
 * blobs that the guest has uploaded. Knowing the hash of another blob gives no access.
 */
import { SessionStoreError } from '../../base/errors.ts';
import { nextTask } from '../../base/next-task.ts';
import { checkPosition } from '../../read/filters.ts';
import { tableBatches } from '../../read/table-batches.ts';
import { artifactTable } from '../../records/artifact.ts';
import { addBlobNames } from '../../segment/blob-names.ts';
import { openSegment } from '../../segment/open-segment.ts';
import type { NewSegment, Store, StoreNotes } from '../../store/store.ts';

/** Runs that are read before other requests have a turn. */
const RUNS_AT_ONCE = 64;
/** Hashes that are remembered of a space. */
const MAX_HASHES = 1_000_000;

type Known = {
  readonly nextSequence: number;
  readonly replaceCount: number;
  readonly hashes: Set<string>;
};

/** The blobs that the runs of one space name, as far as somebody has asked. It follows what is written. */
export class BlobIndex {
  readonly #runs = new Map<string, Known>();
  #count = 0;

  /** Whether a run of these projects names this blob now. */
  async isNamed(store: Store, projects: Iterable<string>, sha256: string): Promise<boolean> {
    const open = new Set(projects);
    for (const [runId, { hashes }] of this.#runs) {
      if (!hashes.has(sha256)) continue;
      const run = await store.findRun(runId);
      if (run === undefined) this.#forget(runId);
      else if (open.has(run.projectName)) return true;
    }
    for (const projectName of open)
      for (let offset = 0; ; offset += RUNS_AT_ONCE) {
        const runs = await store.listRuns({ projectName, limit: RUNS_AT_ONCE, offset });
        for (const { id } of runs) if ((await this.#newIn(store, id)).has(sha256)) return true;
        if (runs.length < RUNS_AT_ONCE) break;
        await nextTask();
      }
    return false;
  }

  /** What a run names besides what is known of it. */
  async #newIn(store: Store, runId: string): Promise<ReadonlySet<string>> {
    const streams = (await store.listStreams?.(runId)) ?? [];
    const state = streams.find(({ table }) => table === artifactTable.table);
    const { nextSequence = 0, replaceCount = 0 } = state ?? {};
    const known = this.#runs.get(runId);
    const isSame = known?.replaceCount === replaceCount;
    if (isSame && known.nextSequence === nextSequence) return NOTHING;
    if (!isSame) this.#forget(runId);
    const found = new Set<string>();
    const sequenceMin = isSame ? known.nextSequence : 0;
    const rows = { position: checkPosition({ sequenceMin }, []), conditions: {} };
    // Segments that cannot be read name nothing.
    for await (const batch of tableBatches(store, artifactTable, runId, { rows }))
      addBlobNames(batch, found);
    const hashes = isSame ? known.hashes : new Set<string>();
    const before = hashes.size;
    for (const hash of found) hashes.add(hash);
    this.#count += hashes.size - before;
    this.#runs.set(runId, { nextSequence, replaceCount, hashes });
    if (this.#count > MAX_HASHES) {
      this.#runs.clear();
      this.#count = 0;
    }
    return found;
  }

  #forget(runId: string): void {
    this.#count -= this.#runs.get(runId)?.hashes.size ?? 0;
    this.#runs.delete(runId);
  }
}

const NOTHING: ReadonlySet<string> = new Set();

/** What {@link GuestBlobs} are made of. */
export type GuestBlobParts = {
  /** The whole space. */
  readonly store: Store;
  /** Names of the projects that are open. */
  readonly projects: Iterable<string>;
  readonly index?: BlobIndex | undefined;
  /** Id of the user who asks. */
  readonly userId?: string | undefined;
  /** Where it is noted what they have sent; in memory unless given. */
  readonly notes?: Pick<StoreNotes, 'read' | 'write'> | undefined;
};

/** The blobs of a space as a guest may use them. */
export class GuestBlobs {
  readonly #parts: GuestBlobParts;
  readonly #index: BlobIndex;
  readonly #sent = new Set<string>();

  constructor(parts: GuestBlobParts) {
    this.#parts = parts;
    this.#index = parts.index ?? new BlobIndex();
  }

  async mayRead(sha256: string): Promise<boolean> {
    const { store, projects } = this.#parts;
    return (await this.#hasSent(sha256)) || this.#index.isNamed(store, projects, sha256);
  }

  /** Notes a blob whose bytes the guest had. */
  async sent(sha256: string): Promise<void> {
    this.#sent.add(sha256);
    await this.#parts.notes?.write(this.#noteOf(sha256), 'sent');
  }

  /**
   * Segments of artifacts name only blobs that the guest may read: a record that names another one would open it.
   *
   * @throws {SessionStoreError} `unauthorised` (403)
   */
  async checkNamed(segments: readonly NewSegment[]): Promise<void> {
    const named = new Set<string>();
    for (const { manifest, bytes } of segments) {
      if (manifest.table !== artifactTable.table) continue;
      const placed = { ...manifest, firstSequence: 0, lastSequence: 0 };
      const result = await openSegment(artifactTable, placed, { kind: 'bytes', bytes });
      if (result.kind === 'opened') addBlobNames(result.segment.batch, named);
    }
    for (const sha256 of named)
      if (!(await this.mayRead(sha256)))
        throw new SessionStoreError(
          'unauthorised',
          `An artifact names the blob ${sha256}, which is in no project that is shared with you. Upload the blob first.`,
          { details: { sha256, httpStatus: 403 } },
        );
  }

  async #hasSent(sha256: string): Promise<boolean> {
    if (this.#sent.has(sha256)) return true;
    return (await this.#parts.notes?.read(this.#noteOf(sha256))) !== undefined;
  }

  #noteOf(sha256: string): string {
    return `guest-blobs/${this.#parts.userId ?? 'guest'}/${sha256}`;
  }
}
