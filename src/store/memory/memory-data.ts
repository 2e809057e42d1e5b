/** What the stores of one name in memory share. */
import type { StoredLease } from '../../records/shapes/lease.ts';
import { compareText, countedRun, isUnchanged } from '../run-rules.ts';
import type {
  BatchRange,
  DeletedRun,
  SegmentManifest,
  StoredProject,
  StoredRun,
  StoreIdentity,
  StoreNotes,
  StoreSurvey,
  StreamState,
} from '../store.ts';

/** A segment as it was given. */
export type MemorySegment = {
  readonly manifest: SegmentManifest;
  readonly bytes: Uint8Array<ArrayBuffer>;
};

/** One table of one run. */
export type MemoryStream = {
  nextSequence: number;
  readonly live: Map<string, MemorySegment>;
  /** Live segments by their last sequence number, so that a look at the end of a long run does not go through all of it; undefined until it is asked for again. */
  byEnd: MemorySegment[] | undefined;
  merged: readonly BatchRange[];
  replaceCount: number;
};

/** A blob, and when it was last put. */
export type MemoryBlob = { readonly bytes: Uint8Array<ArrayBuffer>; readonly putAtMs: number };

/** What the stores of one name share. */
export type MemoryData = {
  readonly projects: Map<string, StoredProject>;
  readonly runs: Map<string, StoredRun>;
  /** The order of the last change of each run. */
  readonly changes: Map<string, number>;
  changeCount: number;
  readonly leases: Map<string, StoredLease>;
  readonly streams: Map<string, MemoryStream>;
  readonly blobs: Map<string, MemoryBlob>;
  readonly notes: Map<string, string>;
  /** Made when somebody first asks. */
  identity: StoreIdentity | undefined;
  readonly deleted: Map<string, MemoryTombstone>;
  /** The last revision of each configuration, by its project and hash. */
  readonly configRevisions: Map<string, number>;
};

/** A deleted run, and all that it had until it is purged. */
export type MemoryTombstone = {
  readonly tombstone: DeletedRun;
  /** Undefined once it is purged. */
  readonly run: StoredRun | undefined;
  readonly streams: ReadonlyMap<string, MemoryStream>;
  readonly revision: number;
};

/** Data without anything in it. */
export function createMemoryData(): MemoryData {
  return {
    projects: new Map(),
    runs: new Map(),
    changes: new Map(),
    changeCount: 0,
    leases: new Map(),
    streams: new Map(),
    blobs: new Map(),
    notes: new Map(),
    identity: undefined,
    deleted: new Map(),
    configRevisions: new Map(),
  };
}

/** A run with the revision of its configuration, which is counted where it has none. */
export function countInMemory<T extends Omit<StoredRun, 'revision'>>(
  { configRevisions }: MemoryData,
  run: T,
): T {
  if (run.configHash === undefined) return run;
  const key = `${run.projectId}/${run.configHash}`;
  const counted = countedRun(run, configRevisions.get(key) ?? 0);
  configRevisions.set(key, counted.last);
  return counted.run;
}

/** Gives a run the greatest order of all changes. */
export function noteChange(data: MemoryData, runId: string): void {
  data.changeCount += 1;
  data.changes.set(runId, data.changeCount);
}

/** The notes in the data. */
export function memoryNotes(data: MemoryData): StoreNotes {
  const { notes } = data;
  return {
    read: async (name) => notes.get(name),
    write: async (name, text, expected) => {
      if (expected !== undefined && (notes.get(name) ?? null) !== expected) return false;
      if (text === null) notes.delete(name);
      else notes.set(name, text);
      return true;
    },
    list: async (prefix) =>
      [...notes]
        .filter(([name]) => name.startsWith(prefix))
        .map(([name, text]) => ({ name, text }))
        .sort((a, b) => compareText(a.name, b.name)),
    survey: async (runId) => snapshotOf(data, runId),
    forgetRun: async (runId, expected) => {
      if (!isUnchanged(expected, snapshotOf(data, runId))) return false;
      if (data.runs.delete(runId)) data.changes.delete(runId);
      for (const map of [data.leases, data.streams])
        for (const key of map.keys()) if (key.startsWith(`${runId}/`)) map.delete(key);
      return true;
    },
  };
}

/** What the notes know of the runs; of all of them unless one is named. */
export function snapshotOf({ runs, streams }: MemoryData, runId: string | undefined): StoreSurvey {
  const isWanted = (id: string): boolean => runId === undefined || id === runId;
  return {
    runs: [...runs.values()]
      .filter(({ id }) => isWanted(id))
      .map(({ id, revision, status }) => ({ id, status, revision })),
    streams: statesOf(streams).filter((one) => isWanted(one.runId)),
  };
}

/** How far the tables are that something was ever written to. */
export function statesOf(streams: ReadonlyMap<string, MemoryStream>): readonly StreamState[] {
  return [...streams]
    .map(([key, { nextSequence, replaceCount }]): StreamState => {
      const [id = '', table = ''] = key.split('/');
      return { runId: id, table, nextSequence, replaceCount };
    })
    .filter(({ nextSequence, replaceCount }) => nextSequence > 0 || replaceCount > 0);
}

/** Live segments, those that end first before the others. */
export function segmentsByEnd(stream: MemoryStream): readonly MemorySegment[] {
  stream.byEnd ??= [...stream.live.values()].sort(
    (a, b) => a.manifest.lastSequence - b.manifest.lastSequence,
  );
  return stream.byEnd;
}

/** Where segments begin that reach this sequence number. */
export function firstEndingAt(segments: readonly MemorySegment[], sequence: number): number {
  let from = 0;
  let to = segments.length;
  while (from < to) {
    const middle = (from + to) >> 1;
    if ((segments[middle]?.manifest.lastSequence ?? Number.POSITIVE_INFINITY) < sequence)
      from = middle + 1;
    else to = middle;
  }
  return from;
}
