/**
 * Runs that were taken over from the service to be gone on with: what was recorded before is there, what is recorded here
 * is here until it has arrived.
 */
import { batchesOf, rangesContain } from '../store/batch-ranges.ts';
import { compareManifests, matchesSegmentFilter } from '../store/segment-rules.ts';
import type {
  SegmentFilter,
  SegmentManifest,
  SegmentRead,
  SegmentReference,
  Store,
} from '../store/store.ts';
import type { SentNote } from '../store/unsent.ts';
import type { RemoteStore } from './remote-store.ts';
import { isSuperseded, type SupersededRows } from './sync-notes.ts';

/**
 * The segments of both sides. What has not arrived yet is numbered behind what has; it gets its lasting numbers there.
 * Without the service, what is here.
 */
export async function listAdopted(
  local: Store,
  remote: RemoteStore,
  filter: SegmentFilter,
  sent: SentNote,
  superseded?: SupersededRows,
): Promise<readonly SegmentManifest[]> {
  const { runId, table } = filter;
  const flagged = async (sequenceMin: number): Promise<readonly SegmentManifest[]> => {
    const found = await local.listSegments({ runId, table, sequenceMin, superseded: true });
    return found.map((one) => (isSuperseded(one, superseded) ? { ...one, superseded: true } : one));
  };
  const own = async (): Promise<readonly SegmentManifest[]> =>
    (await flagged(0)).filter((one) => matchesSegmentFilter(one, filter));
  const waiting = await flagged(sent.through);
  if (waiting.length === 0)
    return (await remote.tryTo((store) => store.listSegments(filter))) ?? own();
  const arrived = await remote.tryTo((store) =>
    store.listSegments({ runId, table, superseded: true }),
  );
  if (arrived === undefined) return own();
  const known = arrived.flatMap(batchesOf);
  const behind = arrived.reduce((most, one) => Math.max(most, one.lastSequence + 1), 0);
  const first = waiting.reduce((least, one) => Math.min(least, one.firstSequence), Infinity);
  const shifted = waiting
    .filter((one) => !rangesContain(known, one))
    .map((one) => ({
      ...one,
      firstSequence: one.firstSequence - first + behind,
      lastSequence: one.lastSequence - first + behind,
    }));
  return [...arrived, ...shifted]
    .filter((one) => matchesSegmentFilter(one, filter))
    .sort(compareManifests);
}

/** The bytes from where they are; what is here comes from here. */
export async function readAdopted(
  local: Store,
  remote: RemoteStore,
  segments: readonly SegmentReference[],
  isWholeHere: (runId: string) => Promise<boolean>,
): Promise<readonly SegmentRead[]> {
  const reads: SegmentRead[] = [...(await local.readSegments(segments))];
  const elsewhere = new Set<string>();
  const incomplete = segments.filter((_, i) => reads[i]?.kind !== 'bytes');
  for (const runId of new Set(incomplete.map((segment) => segment.runId)))
    if (!(await isWholeHere(runId))) elsewhere.add(runId);
  const missing = segments.flatMap((segment, i) =>
    reads[i]?.kind !== 'bytes' && elsewhere.has(segment.runId) ? [{ segment, i }] : [],
  );
  if (missing.length === 0) return reads;
  const store = await remote.open();
  const found = await store.readSegments(missing.map(({ segment }) => segment));
  missing.forEach(({ i }, at) => {
    const read = found[at];
    if (read !== undefined) reads[i] = read;
  });
  return reads;
}
