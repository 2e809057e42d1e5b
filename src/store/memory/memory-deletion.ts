/** Deletion of runs in memory. */
import { documentPrefix } from '../documents.ts';
import type { Clock } from '../../base/clock.ts';
import { RunNotFoundError } from '../../base/errors.ts';
import {
  compareDeleted,
  isPurgeDue,
  notesOfRun,
  runDeleted,
  runPurged,
  tombstoneOf,
  type RunDeletion,
} from '../deletion.ts';
import { copyRun, withArchived } from '../run-rules.ts';
import { segmentName } from '../../records/shapes/manifest.ts';
import type { DeletedRunSource } from '../blob-sweep.ts';
import { compareManifests, copyManifest, matchesSegmentFilter } from '../segment-rules.ts';
import type { SegmentRead, StoredRun } from '../store.ts';
import {
  noteChange,
  statesOf,
  type MemoryData,
  type MemorySegment,
  type MemoryStream,
} from './memory-data.ts';

/** The calls that delete, archive and restore runs of the data. */
export function memoryDeletion(
  data: MemoryData,
  clock: Pick<Clock, 'now'>,
  where: string,
): RunDeletion {
  const change = (run: StoredRun, archivedAtMs: number | undefined): StoredRun => {
    const next = copyRun(withArchived(run, archivedAtMs), run.revision + 1);
    data.runs.set(run.id, next);
    noteChange(data, run.id);
    return copyRun(next, next.revision);
  };
  return {
    deleteRun: async (runId, options) => {
      const known = data.deleted.get(runId);
      if (known !== undefined) return { ...known.tombstone };
      const run = data.runs.get(runId);
      if (run === undefined) throw new RunNotFoundError(runId, where);
      const tombstone = tombstoneOf(run, clock.now(), options);
      const { revision } = run;
      data.deleted.set(runId, { tombstone, run, revision, streams: takeStreams(data, runId) });
      data.runs.delete(runId);
      for (const key of data.leases.keys())
        if (key.startsWith(`${runId}/`)) data.leases.delete(key);
      noteChange(data, runId);
      return { ...tombstone };
    },
    archiveRun: async (runId) => {
      if (data.deleted.has(runId)) throw runDeleted(runId);
      const run = data.runs.get(runId);
      if (run === undefined) throw new RunNotFoundError(runId, where);
      return run.archivedAtMs === undefined ? change(run, clock.now()) : copyRun(run, run.revision);
    },
    restoreRun: async (runId) => {
      const deleted = data.deleted.get(runId);
      if (deleted !== undefined) {
        const { run, streams } = deleted;
        if (run === undefined) throw runPurged(runId);
        data.deleted.delete(runId);
        data.runs.set(runId, run);
        for (const [key, stream] of streams) data.streams.set(key, stream);
        noteChange(data, runId);
        return copyRun(run, run.revision);
      }
      const run = data.runs.get(runId);
      if (run === undefined) throw new RunNotFoundError(runId, where);
      return run.archivedAtMs === undefined ? copyRun(run, run.revision) : change(run, undefined);
    },
    findDeletedRun: async (runId) => {
      const deleted = data.deleted.get(runId);
      return deleted && { ...deleted.tombstone };
    },
    listDeletedRuns: async () =>
      [...data.deleted.values()].map(({ tombstone }) => ({ ...tombstone })).sort(compareDeleted),
    purgeDeletedRuns: async (nowMs = clock.now(), force = []) => {
      const due = [...data.deleted.values()].filter(({ tombstone }) =>
        isPurgeDue(tombstone, nowMs, force),
      );
      return due
        .map(({ revision, run, tombstone }) => {
          const { names, prefixes } = notesOfRun(tombstone.id);
          for (const name of data.notes.keys())
            if (names.includes(name) || prefixes.some((prefix) => name.startsWith(prefix)))
              data.notes.delete(name);
          const purged = { ...tombstone, purgedAtMs: nowMs };
          const nothing = { run: undefined, streams: new Map<string, MemoryStream>() };
          data.deleted.set(tombstone.id, { tombstone: purged, revision, ...nothing });
          if (run !== undefined) removeMemoryProject(data, run.projectId);
          return { ...purged };
        })
        .sort(compareDeleted);
    },
  };
}

/** Whether deleted runs of this project can be restored, and no run of it is there. */
export function isProjectDeleted(data: MemoryData, name: string): boolean {
  const isOf = ({ projectName }: { readonly projectName: string }): boolean => projectName === name;
  return hasDeletedRuns(data, name) && ![...data.runs.values()].some(isOf);
}

/** Removes a project that no run is in; returns whether it was there. */
export function removeMemoryProject(data: MemoryData, projectId: string): boolean {
  const name = data.projects.get(projectId)?.name;
  if (name === undefined || hasDeletedRuns(data, name)) return false;
  for (const run of data.runs.values())
    if (run.projectId === projectId || run.projectName === name) return false;
  for (const note of data.notes.keys())
    if (note.startsWith(documentPrefix(projectId))) data.notes.delete(note);
  return data.projects.delete(projectId);
}

function hasDeletedRuns(data: MemoryData, project: string): boolean {
  return [...data.deleted.values()].some(
    ({ tombstone: { projectName, purgedAtMs } }) =>
      projectName === project && purgedAtMs === undefined,
  );
}

function takeStreams(data: MemoryData, runId: string): ReadonlyMap<string, MemoryStream> {
  const taken = new Map<string, MemoryStream>();
  for (const [key, stream] of data.streams) {
    if (!key.startsWith(`${runId}/`)) continue;
    taken.set(key, stream);
    data.streams.delete(key);
  }
  return taken;
}

/** What deleted runs of the data have until they are purged. */
export function memoryDeletedRuns(data: MemoryData): DeletedRunSource {
  const liveOf = (runId: string, table: string): ReadonlyMap<string, MemorySegment> =>
    data.deleted.get(runId)?.streams.get(`${runId}/${table}`)?.live ?? new Map();
  return {
    listStreams: async () => [...data.deleted.values()].flatMap(({ streams }) => statesOf(streams)),
    listSegments: async (filter) =>
      [...liveOf(filter.runId, filter.table).values()]
        .map(({ manifest }) => copyManifest(manifest))
        .filter((manifest) => matchesSegmentFilter(manifest, filter))
        .sort(compareManifests),
    readSegments: async (segments) =>
      segments.map((segment): SegmentRead => {
        const stored = liveOf(segment.runId, segment.table).get(segmentName(segment));
        return stored === undefined
          ? { kind: 'gone' }
          : { kind: 'bytes', bytes: stored.bytes.slice() };
      }),
  };
}
