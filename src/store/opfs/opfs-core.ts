/**
 * What all calls of an engine work with: the first shard, for what concerns all runs, and one for each run. A call that changes a run and
 * the first shard takes the lock of the run first.
 */
import { RunNotFoundError } from '../../base/errors.ts';
import { generationOf } from '../../records/shapes/run.ts';
import { runDeleted } from '../deletion.ts';
import { liveRuns } from '../run-rules.ts';
import type {
  DeletedRun,
  SegmentRead,
  SegmentReference,
  StoredRun,
  StreamState,
} from '../store.ts';
import { opfsFileName, folderIn, type FileLocks, type FolderEntry } from './opfs-files.ts';
import { RootState, type RootChange } from './opfs-root.ts';
import { isLostSegment, RunState, type RunFrame } from './opfs-run.ts';
import { Shard, type ShardAccess } from './opfs-shard.ts';

/** The first shard: its folder and its lock. */
export const ROOT = 'root';
/** The lock of a run stays so long after an append, in milliseconds: a lock and a list of the files take longer than writing. */
const LINGER_MS = 2;
/** Files are written anew when more bytes than these, and than there are in use, are in use no more. */
const MIN_WASTE_BYTES = 1024 * 1024;
/** Runs of which the segments are known, besides those that something is under way with. */
const MAX_KNOWN_RUNS = 64;
/** Somebody who has a file open that is to be removed has so many milliseconds. */
export const CLOSING_MS = 2000;
export const PAUSE_MS = 20;
/** Runs that are looked at together. */
const RUNS_AT_ONCE = 8;

/** Where an engine works. */
export type EngineParts = {
  readonly uri: string;
  /** The folder of the store. */
  readonly folder: FolderEntry;
  /** Begins the names of locks. */
  readonly lockPrefix: string;
  readonly locks: FileLocks;
  /** Asks all other threads to close their files of a shard. */
  readonly askToClose: (shard: string) => void;
  /** Whether appends survive a loss of power, too. */
  readonly isFull: boolean;
};

type RunShard = {
  readonly shard: Shard<RunState>;
  /** What the first shard said of the run, at this count of fences. */
  asked: { readonly fences: number; readonly generation: number } | undefined;
};

/** See the top of this file. */
export class OpfsCore {
  /** The time of the store's clock, as the last call has said. */
  nowMs = 0;
  readonly parts: EngineParts;
  readonly root: Shard<RootState>;
  readonly runs = new Map<string, RunShard>();

  constructor(parts: EngineParts) {
    this.parts = parts;
    this.root = this.shard(ROOT, new RootState(), (create) => folderIn(parts.folder, ROOT, create));
  }

  shard<S extends RootState | RunState>(
    name: string,
    state: S,
    folder: (create: boolean) => Promise<FolderEntry | undefined>,
    names?: ShardAccess['names'],
  ): Shard<S> {
    const { askToClose, lockPrefix, locks } = this.parts;
    return new Shard(state, {
      folder,
      locks,
      lockName: `${lockPrefix} ${name}`,
      lingerMs: name === ROOT ? 0 : LINGER_MS,
      askToClose: () => askToClose(name),
      ...(names === undefined ? {} : { names }),
    });
  }

  /** The names of the files of a run, in the first shard. */
  #namesOf(runId: string): NonNullable<ShardAccess['names']> {
    const { files } = this.root.state.tables;
    const prefix = `${runId}/`;
    return {
      list: () => this.root.read(() => namesUnder(files, prefix)),
      note: (made, leaving) =>
        this.root.change(
          () =>
            this.write([
              ...made.map((name): RootChange => ['files', prefix + name, true]),
              ...leaving.flatMap((name): RootChange[] =>
                files.has(prefix + name) ? [['files', prefix + name, null]] : [],
              ),
            ]),
          false,
        ),
    };
  }

  run(runId: string): RunShard {
    const known = this.runs.get(runId);
    if (known !== undefined) {
      // Those that were asked for last are last.
      this.runs.delete(runId);
      this.runs.set(runId, known);
      return known;
    }
    const folder = async (create: boolean): Promise<FolderEntry | undefined> => {
      const runs = await folderIn(this.parts.folder, 'runs', create);
      return runs && folderIn(runs, opfsFileName(runId), create);
    };
    const shard = this.shard(runLock(runId), new RunState(), folder, this.#namesOf(runId));
    const made: RunShard = { shard, asked: undefined };
    this.runs.set(runId, made);
    for (const [id, one] of this.runs) {
      if (this.runs.size <= MAX_KNOWN_RUNS) break;
      if (one.shard.isIdle && id !== runId) this.runs.delete(id);
    }
    return made;
  }

  allRuns(): StoredRun[] {
    return [...this.root.state.tables.runs.values()];
  }

  live(): ReadonlySet<string> {
    return liveRuns(this.root.state.tables.leases.values(), this.nowMs);
  }

  tombstones(): DeletedRun[] {
    return Array.from(this.root.state.tables.deleted.values(), ({ tombstone }) => tombstone);
  }

  isThere(runId: string): Promise<boolean> {
    return this.root.read(() => this.root.state.tables.runs.has(runId));
  }

  /** Whether segments of a run are shown. Inside a read of the run alone. */
  async isListed(runId: string): Promise<boolean> {
    const { asked, shard } = this.run(runId);
    return asked?.fences === shard.state.fences || this.isThere(runId);
  }

  isDeleted(runId: string): Promise<boolean> {
    return this.root.read(() => this.root.state.tables.deleted.has(runId));
  }

  /** Inside a change of the first shard alone. */
  async write(changes: readonly RootChange[]): Promise<void> {
    if (changes.length === 0) return;
    await this.root.append({ changes });
    const { baseBytes, fileBytes } = this.root;
    if (fileBytes - baseBytes > Math.max(MIN_WASTE_BYTES, baseBytes)) await this.root.rewrite();
  }

  /** Writes the segments of a run anew where more bytes are in use no more than are; all of them, where rows were deleted. */
  async tidy(shard: Shard<RunState>, isDeletion: boolean): Promise<void> {
    const { deadBytes, liveBytes } = shard.state;
    if (isDeletion || deadBytes > Math.max(MIN_WASTE_BYTES, liveBytes)) await shard.rewrite();
  }

  /** All of the changes, or none: of a process that is killed in between, those of the first runs. */
  async appendAll(changes: readonly (readonly [string, RunFrame])[]): Promise<void> {
    const takeBack: (() => void)[] = [];
    try {
      for (const [runId, { body, parts }] of changes) {
        const { shard } = this.run(runId);
        const frame = await shard.append(body, parts);
        takeBack.push(() => shard.takeBack(frame));
      }
    } catch (error) {
      for (const undo of takeBack) undo();
      throw error;
    }
  }

  async append(runId: string, { body, parts }: RunFrame): Promise<void> {
    await this.run(runId).shard.append(body, parts);
  }

  /** Does something while nobody else changes these runs. */
  inRuns<T>(runIds: readonly string[], isDurable: boolean, work: () => Promise<T>): Promise<T> {
    const [first, ...rest] = runIds;
    if (first === undefined) return work();
    return this.run(first).shard.change(() => this.inRuns(rest, isDurable, work), isDurable);
  }

  /** Changes what writers of a run have to ask for: they wait for it, and ask afterwards. */
  async fenced<T>(runId: string, work: () => Promise<T>): Promise<T> {
    // Runs that were never there, and those that are purged, get no folder.
    const isKnown = await this.root.read(() => {
      const { deleted, runs } = this.root.state.tables;
      return runs.has(runId) || deleted.get(runId)?.run !== undefined;
    });
    if (!isKnown) return work();
    return this.inRuns([runId], true, async () => {
      await this.append(runId, { body: { fence: true }, parts: [] });
      return work();
    });
  }

  /**
   * The generation of a run. Inside a change of the run alone.
   *
   * @throws {RunNotFoundError} where it has to be there
   */
  async generation(runId: string, mustBeThere = true): Promise<number> {
    const run = this.run(runId);
    const { fences } = run.shard.state;
    if (run.asked?.fences === fences) return run.asked.generation;
    const generation = await this.root.read(() => {
      this.checkNotDeleted(runId);
      const stored = mustBeThere
        ? this.requireStored(runId)
        : this.root.state.tables.runs.get(runId);
      return stored === undefined ? undefined : generationOf(stored);
    });
    // A run without a file has no fence: what is known of it is not remembered.
    if (generation !== undefined && run.shard.order > 0) run.asked = { fences, generation };
    return generation ?? 1;
  }

  checkNotDeleted(runId: string): void {
    if (this.root.state.tables.deleted.has(runId)) throw runDeleted(runId);
  }

  requireStored(runId: string): StoredRun {
    const run = this.root.state.tables.runs.get(runId);
    if (run === undefined) throw new RunNotFoundError(runId, this.parts.uri);
    return run;
  }

  async streams(runIds: readonly string[]): Promise<readonly StreamState[]> {
    const found: StreamState[] = [];
    for (let i = 0; i < runIds.length; i += RUNS_AT_ONCE) {
      const some = runIds.slice(i, i + RUNS_AT_ONCE).map((runId) => {
        const { shard } = this.run(runId);
        return shard.read(() => shard.state.streams(runId));
      });
      found.push(...(await Promise.all(some)).flat());
    }
    return found;
  }

  async readSegments(
    segments: readonly SegmentReference[],
    isThere: (runId: string) => Promise<boolean>,
  ): Promise<readonly SegmentRead[]> {
    const found = new Map<SegmentReference, SegmentRead>();
    for (const runId of new Set(segments.map((segment) => segment.runId))) {
      const { shard } = this.run(runId);
      await shard.read(async () => {
        if (!(await isThere(runId))) return;
        const { lossReason } = shard.state;
        if (lossReason !== undefined)
          for (const segment of segments)
            if (segment.runId === runId && isLostSegment(segment))
              found.set(segment, { kind: 'damaged', reason: lossReason });
        const own = segments.flatMap((segment) => {
          const placed = segment.runId === runId ? shard.state.find(segment) : undefined;
          return placed === undefined ? [] : [{ segment, placed }];
        });
        const bytes = await shard.readParts(own.map(({ placed }) => placed.part));
        own.forEach(({ segment }, i) => {
          const read = bytes[i];
          const reason = 'its bytes in the file are not those that were written';
          found.set(
            segment,
            read === undefined ? { kind: 'damaged', reason } : { kind: 'bytes', bytes: read },
          );
        });
      });
    }
    return segments.map((segment) => found.get(segment) ?? { kind: 'gone' });
  }

  lockArtifacts<T>(mode: 'shared' | 'exclusive', work: () => Promise<T>): Promise<T> {
    return this.parts.locks.request(`${this.parts.lockPrefix} artifacts`, { mode }, work);
  }

  async removeLeaving(prefix: string, remove: (name: string) => Promise<boolean>): Promise<void> {
    const leaving = await this.root.read(() => [...this.root.state.tables.leaving.keys()]);
    const gone: RootChange[] = [];
    for (const key of leaving)
      if (key.startsWith(prefix) && (await remove(key.slice(prefix.length))))
        gone.push(['leaving', key, null]);
    if (gone.length === 0) return;
    await this.root.change(() => {
      const { files, runs } = this.root.state.tables;
      const names = gone.flatMap(([, key]) => {
        const runId = key.slice(prefix.length);
        return prefix === 'run/' && !runs.has(runId)
          ? namesUnder(files, `${runId}/`).map((name) => `${runId}/${name}`)
          : [];
      });
      return this.write([...gone, ...names.map((name): RootChange => ['files', name, null])]);
    }, true);
  }
}

function namesUnder(keys: ReadonlyMap<string, unknown>, prefix: string): readonly string[] {
  return [...keys.keys()].flatMap((key) =>
    key.startsWith(prefix) ? [key.slice(prefix.length)] : [],
  );
}

/** The name of the shard of a run. */
export function runLock(runId: string): string {
  return `run ${runId}`;
}

/** Waits for somebody else to close a file. */
export function waitToClose(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, PAUSE_MS);
  });
}
