/**
 * Routes of segments: their manifests, their bytes, and the changes of tables. Whole requests are checked before anything is written.
 * Segments are checked here, manifests first and then the contents, and by no store behind.
 */
import { SessionStoreError } from '../../base/errors.ts';
import { trustedStore } from '../../store/front.ts';
import {
  checkNewSegments,
  checkReplacement,
  checkTableSegments,
} from '../../store/segment-rules.ts';
import type { SegmentRead, SegmentReference, Store } from '../../store/store.ts';
import { encodeFrames, frameBytes } from '../../wire/frames.ts';
import { FRAMES_MEDIA_TYPE, MAX_SEGMENTS_PER_READ } from '../../wire/protocol.ts';
import { decodeAppend, decodeMerge } from '../../wire/upload.ts';
import { decodeReference } from '../../wire/wire.ts';
import { HEADERS } from '../http/answers.ts';
import type { StoreHandlers } from './store-routes.ts';
import { checkMergeLosesNothing, checkTableLosesNothing } from '../limits/lost-rows.ts';
import { checkContents } from '../limits/segment-checks.ts';

/** Segments read from the store at once: bounds the memory that one answer takes beyond its target. */
const SEGMENTS_PER_STORE_READ = 8;
/** A manifest with its names, and keys as most have them. */
const MANIFEST_CHARS = 1_024;

export const segmentHandlers = {
  'GET /runs/:runId/tables/:table/segments': async ({ scope, params, query }) => {
    const { empty, key: keys, superseded, ...position } = query;
    const filter = {
      ...position,
      ...params,
      ...(keys === undefined ? {} : { keys }),
      ...(superseded === 1 ? { superseded: true } : {}),
      ...(empty === 1 ? { empty: true } : {}),
    };
    return { segments: await scope.store.listSegments(filter) };
  },

  'POST /segments/read': async ({ scope: { store, takeRoom }, body }, { settings }) => {
    const segments = (await body()).list('segments');
    if (segments.length > MAX_SEGMENTS_PER_READ)
      throw new SessionStoreError(
        'too_large',
        `At most ${MAX_SEGMENTS_PER_READ} segments can be asked for at once; got ${segments.length}.`,
        { details: { field: 'segments', rule: `at most ${MAX_SEGMENTS_PER_READ}` } },
      );
    const references = segments.map(decodeReference);
    const reads = await readSegments(store, references, settings.answerTargetBytes, takeRoom);
    return new Response(encodeFrames(reads), {
      headers: { ...HEADERS, 'content-type': FRAMES_MEDIA_TYPE, 'cache-control': 'no-store' },
    });
  },

  'POST /segments': async ({ context, scope, body }, { settings, feeds, sketches }) => {
    const { segments, seen, live } = decodeAppend(await body());
    checkNewSegments(segments);
    await checkContents(segments, settings, context);
    const stored = await trustedStore(scope.store).appendSegments(segments, seen, live);
    for (const { runId, table } of stored) feeds.notify(scope, { runId, table });
    sketches.appended(scope, stored);
    return { segments: stored };
  },

  'PUT /runs/:runId/tables/:table': async (
    { context, scope, params: { runId, table }, body },
    { settings, memory, feeds },
  ) => {
    const { segments, seen } = decodeAppend(await body());
    checkTableSegments(runId, table, segments);
    await checkContents(segments, settings, context);
    if (scope.mayPurge === false)
      await checkTableLosesNothing({ ...scope, runId, table }, segments);
    const seenCount = seen?.find((one) => one.runId === runId && one.table === table)?.replaceCount;
    const answer = await memory.once(context, MANIFEST_CHARS * segments.length, async () => ({
      segments: await trustedStore(scope.store).replaceTable(runId, table, segments, seenCount),
    }));
    feeds.notify(scope, { runId, table });
    return answer;
  },

  'POST /runs/:runId/tables/:table/merge': async (
    { context, scope, params: { runId, table }, body },
    { settings },
  ) => {
    const { remove, add } = decodeMerge(await body());
    checkReplacement(runId, table, remove, add);
    await checkContents(add, settings, context);
    if (scope.mayPurge === false)
      await checkMergeLosesNothing({ ...scope, runId, table }, remove, add);
    return { replaced: await trustedStore(scope.store).replaceSegments(runId, table, remove, add) };
  },

  'POST /reclaim': async ({ scope }) => {
    await scope.store.reclaimSpace();
    return {};
  },
} satisfies Partial<StoreHandlers>;

/** Reads until the answer is full; the first segment is always in it. */
async function readSegments(
  store: Store,
  references: readonly SegmentReference[],
  targetBytes: number,
  takeRoom: (bytes: number) => void = () => undefined,
): Promise<readonly SegmentRead[]> {
  const answer: SegmentRead[] = [];
  let bytes = 0;
  while (answer.length < references.length && bytes < targetBytes) {
    const next = references.slice(answer.length, answer.length + SEGMENTS_PER_STORE_READ);
    const { some, sizeBytes } = await fitting(store, next, targetBytes - bytes);
    if (answer.length > 0 && bytes + sizeBytes > targetBytes) return answer;
    // Once as it is read, and once in the answer: before there is anything to hold.
    takeRoom(2 * sizeBytes);
    const reads = await store.readSegments(some);
    const readBytes = reads.reduce((sum, read) => sum + frameBytes(read), 0);
    takeRoom(2 * (readBytes - sizeBytes));
    for (const read of reads) {
      bytes += frameBytes(read);
      if (answer.length > 0 && bytes > targetBytes) return answer;
      answer.push(read);
    }
  }
  return answer;
}

/** Segments from the start of `next` that are at most so large together; always the first. */
async function fitting(
  store: Store,
  next: readonly SegmentReference[],
  roomBytes: number,
): Promise<{ readonly some: readonly SegmentReference[]; readonly sizeBytes: number }> {
  const sizes = await store.segmentSizes?.(next);
  if (sizes === undefined) return { some: next, sizeBytes: 0 };
  let sizeBytes = sizes[0] ?? 0;
  let count = 1;
  while (count < next.length && sizeBytes + (sizes[count] ?? 0) <= roomBytes)
    sizeBytes += sizes[count++] ?? 0;
  return { some: next.slice(0, count), sizeBytes };
}
