/** Segments in IndexedDB. Every function runs inside one transaction and awaits only its requests. */
import { segmentName } from '../../records/shapes/manifest.ts';
import { generationOf } from '../../records/shapes/run.ts';
import { RunNotFoundError, SessionStoreError } from '../../base/errors.ts';
import { checkMergeSources, coalesceRanges, rangesContain } from '../batch-ranges.ts';
import type { DeletedRunSource } from '../blob-sweep.ts';
import type { IdbConnection } from './idb-connection.ts';
import { checkNotDeleted, findDeleted } from './idb-deletion.ts';
import {
  keysUnder,
  segmentKey,
  type IdbStoreName,
  type IdbTransaction,
  type StreamKey,
  type WriterKey,
} from './idb-layout.ts';
import { segmentTaken } from '../run-rules.ts';
import {
  checkLive,
  compareManifests,
  copyManifest,
  findMerged,
  matchesSegmentFilter,
  numberSegment,
  underGeneration,
} from '../segment-rules.ts';
import type {
  BatchRange,
  MergedSegment,
  NewSegment,
  RunGeneration,
  SegmentFilter,
  SegmentIdentity,
  SegmentManifest,
  SegmentRead,
  SegmentReference,
} from '../store.ts';

/** The object stores that {@link appendSegments} and the others that write need. */
export const SEGMENT_STORES: IdbStoreName[] = [
  'runs',
  'deletedRuns',
  'counters',
  'manifests',
  'bytes',
  'merged',
];

/** The object stores that {@link readSegmentBytes} needs. */
export const READ_STORES: IdbStoreName[] = ['deletedRuns', 'manifests', 'bytes'];

/** The same for {@link replaceTable}. */
export const REPLACE_STORES: IdbStoreName[] = [...SEGMENT_STORES, 'replacements'];

type ReadWrite = IdbTransaction<'readwrite'>;
type Merged = ReadonlyMap<string, readonly BatchRange[]>;

/** Appends new segments, gives the rest as they are stored. */
export async function appendSegments(
  tx: ReadWrite,
  segments: readonly NewSegment[],
  where: string,
  live: readonly RunGeneration[] = [],
): Promise<readonly SegmentManifest[]> {
  const manifests = segments.map((segment) => segment.manifest);
  const [counters, stored, merged, generations] = await Promise.all([
    readCounters(tx, manifests),
    Promise.all(manifests.map((manifest) => tx.objectStore('manifests').get(segmentKey(manifest)))),
    readMerged(tx, manifests),
    readGenerations(tx, manifests, where),
  ]);
  const currentOf = (runId: string): number => generations.get(runId) ?? 1;
  checkLive(live, currentOf);
  const known = new Map<string, SegmentManifest>();
  for (const manifest of stored)
    if (manifest !== undefined) known.set(segmentName(manifest), manifest);
  const placed: SegmentManifest[] = [];
  const writes: Promise<unknown>[] = [];
  const grown = new Set<string>();
  for (const { manifest, bytes } of segments) {
    const name = segmentName(manifest);
    const own = known.get(name);
    if (own !== undefined) {
      placed.push(own);
      continue;
    }
    if (rangesContain(merged.get(writerName(manifest)) ?? [], manifest)) {
      placed.push(await readHolder(tx, manifest));
      continue;
    }
    const stream = streamName(manifest);
    const added = numberSegment(
      underGeneration(manifest, currentOf(manifest.runId)),
      counters.get(stream) ?? 0,
    );
    counters.set(stream, added.lastSequence + 1);
    grown.add(stream);
    known.set(name, added);
    placed.push(added);
    writes.push(...putSegment(tx, added, bytes));
  }
  for (const stream of grown) {
    writes.push(
      tx.objectStore('counters').put(counters.get(stream) ?? 0, stream.split('/') as StreamKey),
    );
  }
  await Promise.all(writes);
  return placed;
}

/** Live segments of a filter. */
export async function listSegments(
  tx: IdbTransaction<'readonly'>,
  filter: SegmentFilter,
): Promise<readonly SegmentManifest[]> {
  return (await findDeleted(tx, [filter.runId])).size > 0 ? [] : listStored(tx, filter);
}

/** What a deleted run has until it is purged. */
export function deletedRuns(connection: IdbConnection): DeletedRunSource {
  const isDeleted = async (tx: IdbTransaction<'readonly'>, runId: string): Promise<boolean> =>
    (await findDeleted(tx, [runId])).size > 0;
  return {
    listStreams: () =>
      connection.read(['deletedRuns', 'counters', 'replacements'], async (tx) => {
        const [ids, keys, next] = await Promise.all([
          tx.objectStore('deletedRuns').getAllKeys(),
          tx.objectStore('counters').getAllKeys(),
          tx.objectStore('counters').getAll(),
        ]);
        const deleted = new Set(ids);
        return keys.flatMap(([runId, table], i) =>
          deleted.has(runId) ? [{ runId, table, nextSequence: next[i] ?? 0, replaceCount: 0 }] : [],
        );
      }),
    listSegments: (filter) =>
      connection.read(['deletedRuns', 'manifests'], async (tx) =>
        (await isDeleted(tx, filter.runId)) ? listStored(tx, filter) : [],
      ),
    readSegments: (segments) =>
      connection.read(READ_STORES, (tx) =>
        Promise.all(
          segments.map(async (segment): Promise<SegmentRead> =>
            (await isDeleted(tx, segment.runId)) ? readSegment(tx, segment) : { kind: 'gone' },
          ),
        ),
      ),
  };
}

async function listStored(
  tx: IdbTransaction<'readonly'>,
  filter: SegmentFilter,
): Promise<readonly SegmentManifest[]> {
  const { runId, table, sequenceMin } = filter;
  const range =
    sequenceMin === undefined
      ? keysUnder([runId, table])
      : IDBKeyRange.bound([runId, table, sequenceMin], [runId, table, []]);
  const found = await tx.objectStore('manifests').index('bySequence').getAll(range);
  return found.filter((manifest) => matchesSegmentFilter(manifest, filter)).sort(compareManifests);
}

/** The bytes of segments, in their order. */
export async function readSegmentBytes(
  tx: IdbTransaction<'readonly'>,
  segments: readonly SegmentReference[],
): Promise<readonly SegmentRead[]> {
  const deleted = await findDeleted(
    tx,
    segments.map(({ runId }) => runId),
  );
  return Promise.all(
    segments.map(async (segment): Promise<SegmentRead> =>
      deleted.has(segment.runId) ? { kind: 'gone' } : readSegment(tx, segment),
    ),
  );
}

async function readSegment(
  tx: IdbTransaction<'readonly'>,
  segment: SegmentReference,
): Promise<SegmentRead> {
  const key = segmentKey(segment);
  const manifest = await tx.objectStore('manifests').get(key);
  if (manifest === undefined) return { kind: 'gone' };
  if (segment.checksum !== undefined && manifest.checksum !== segment.checksum)
    return { kind: 'gone' };
  const bytes: unknown = await tx.objectStore('bytes').get(key);
  if (!(bytes instanceof Uint8Array) || !(bytes.buffer instanceof ArrayBuffer)) {
    return { kind: 'damaged', reason: 'its bytes are missing from the database' };
  }
  if (bytes.byteLength !== manifest.sizeBytes) {
    return {
      kind: 'damaged',
      reason: `it has ${bytes.byteLength} bytes instead of ${manifest.sizeBytes}`,
    };
  }
  return { kind: 'bytes', bytes: bytes as Uint8Array<ArrayBuffer> };
}

/** Puts merged segments in the place of others; false when one of those is not there any more. */
export async function replaceSegments(
  tx: ReadWrite,
  runId: string,
  table: string,
  remove: readonly SegmentReference[],
  add: readonly MergedSegment[],
): Promise<boolean> {
  await checkNotDeleted(tx, [runId]);
  const manifests = tx.objectStore('manifests');
  const found = await Promise.all(remove.map((segment) => manifests.get(segmentKey(segment))));
  const removed = found.filter(
    (manifest, i) =>
      manifest !== undefined &&
      (remove[i]?.checksum === undefined || remove[i].checksum === manifest.checksum),
  ) as SegmentManifest[];
  if (removed.length !== remove.length) return false;
  const batches = checkMergeSources(removed, add);
  const leaving = new Set(removed.map(segmentName));
  const added = add.map((segment) => segment.manifest);
  const [merged, taken] = await Promise.all([
    readMerged(tx, [
      ...added,
      ...batches.map((range) => ({ runId, table, writerId: range.writerId })),
    ]),
    Promise.all(added.map((manifest) => manifests.getKey(segmentKey(manifest)))),
  ]);
  added.forEach((manifest, i) => {
    const name = segmentName(manifest);
    const isKnown =
      taken[i] !== undefined || rangesContain(merged.get(writerName(manifest)) ?? [], manifest);
    if (isKnown && !leaving.has(name)) throw segmentTaken(name);
  });
  const writes: Promise<unknown>[] = removed.flatMap((manifest) => [
    manifests.delete(segmentKey(manifest)),
    tx.objectStore('bytes').delete(segmentKey(manifest)),
  ]);
  for (const { manifest, bytes } of add)
    writes.push(...putSegment(tx, copyManifest(manifest), bytes));
  for (const writerId of new Set(batches.map((range) => range.writerId))) {
    const before = merged.get(writerName({ runId, table, writerId })) ?? [];
    const after = coalesceRanges([
      ...before,
      ...batches.filter((range) => range.writerId === writerId),
    ]);
    writes.push(tx.objectStore('merged').put(after, [runId, table, writerId]));
  }
  await Promise.all(writes);
  return true;
}

/** Forgets all of a table and appends. */
export async function replaceTable(
  tx: ReadWrite,
  runId: string,
  table: string,
  add: readonly NewSegment[],
  where: string,
): Promise<readonly SegmentManifest[]> {
  const all = keysUnder([runId, table]);
  const replacements = tx.objectStore('replacements');
  await Promise.all([
    replacements
      .get([runId, table])
      .then((count) => replacements.put((count ?? 0) + 1, [runId, table])),
    readGenerations(tx, [{ runId }], where),
    tx.objectStore('manifests').delete(all),
    tx.objectStore('bytes').delete(all),
    tx.objectStore('merged').delete(all),
  ]);
  return appendSegments(tx, add, where);
}

function putSegment(
  tx: ReadWrite,
  manifest: SegmentManifest,
  bytes: Uint8Array,
): Promise<unknown>[] {
  // Cloning a view would store all of the buffer behind it, and shared memory cannot be stored at all.
  const isWhole =
    bytes.buffer instanceof ArrayBuffer && bytes.buffer.byteLength === bytes.byteLength;
  const whole = isWhole ? (bytes as Uint8Array<ArrayBuffer>) : new Uint8Array(bytes);
  return [
    tx.objectStore('manifests').put(manifest),
    tx.objectStore('bytes').put(whole, segmentKey(manifest)),
  ];
}

/** The generations of the runs of these segments. @throws {RunNotFoundError} */
async function readGenerations(
  tx: ReadWrite,
  segments: readonly Pick<SegmentIdentity, 'runId'>[],
  where: string,
): Promise<ReadonlyMap<string, number>> {
  const runIds = [...new Set(segments.map((segment) => segment.runId))];
  const found = await Promise.all(runIds.map((runId) => tx.objectStore('runs').get(runId)));
  const missing = runIds.find((_, i) => found[i] === undefined);
  if (missing !== undefined) {
    await checkNotDeleted(tx, runIds);
    throw new RunNotFoundError(missing, where);
  }
  return new Map(runIds.map((runId, i) => [runId, generationOf(found[i] ?? {})]));
}

async function readCounters(
  tx: ReadWrite,
  segments: readonly Pick<SegmentIdentity, 'runId' | 'table'>[],
): Promise<Map<string, number>> {
  const keys = new Map<string, StreamKey>();
  for (const { runId, table } of segments) keys.set(streamName({ runId, table }), [runId, table]);
  const entries = [...keys].map(
    async ([name, key]) => [name, (await tx.objectStore('counters').get(key)) ?? 0] as const,
  );
  return new Map(await Promise.all(entries));
}

async function readMerged(
  tx: ReadWrite,
  segments: readonly Pick<SegmentIdentity, 'runId' | 'table' | 'writerId'>[],
): Promise<Merged> {
  const keys = new Map<string, WriterKey>();
  for (const segment of segments) {
    keys.set(writerName(segment), [segment.runId, segment.table, segment.writerId]);
  }
  const entries = [...keys].map(
    async ([name, key]) => [name, (await tx.objectStore('merged').get(key)) ?? []] as const,
  );
  return new Map(await Promise.all(entries));
}

/** The segment that a known batch was merged into. */
async function readHolder(tx: ReadWrite, segment: SegmentIdentity): Promise<SegmentManifest> {
  const live = await tx.objectStore('manifests').getAll(keysUnder([segment.runId, segment.table]));
  const holder = findMerged(live, segment);
  if (holder !== undefined) return holder;
  throw new SessionStoreError(
    'corrupt',
    `Segment ${segmentName(segment)} is recorded as merged, but no segment holds it. Nothing was changed.`,
    { details: { segment: segmentName(segment) } },
  );
}

function streamName(segment: Pick<SegmentIdentity, 'runId' | 'table'>): string {
  return `${segment.runId}/${segment.table}`;
}

function writerName(segment: Pick<SegmentIdentity, 'runId' | 'table' | 'writerId'>): string {
  return `${segment.runId}/${segment.table}/${segment.writerId}`;
}
