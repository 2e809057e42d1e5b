/**
 * Curves over HTTP: downsampled here, so that a page draws a metric of a million samples from some kilobytes. What was computed is
 * answered again as long as the segments are the same.
 */
import { RunNotFoundError, SessionStoreError } from '../../base/errors.ts';
import { checkCurveQuery, metricSegments, curveSegments, namesOf } from '../../read/curves.ts';
import { encodeCurves } from '../../wire/curve-messages.ts';
import type { CurveQuery } from '../../store/curves.ts';
import type { SegmentManifest } from '../../store/store.ts';
import { json, jsonBytes, signalOf } from '../http/answers.ts';
import { LOCAL_COMPUTE, partsOf } from '../jobs/jobs.ts';
import type { StoreAsked, StoreRouteParts } from './store-routes.ts';

/** Reserved for a bucket of a curve while segments are read. */
const BYTES_PER_BUCKET = 350;
/** Reserved for segments that are being opened. */
const READING_BYTES = 32 << 20;
/** Buckets unless given: about the pixels of a screen. */
const DEFAULT_BUCKETS = 1_000;

/** Downsampled metrics of a run. */
export async function answerCurves(
  { context, scope, params, query: asked }: StoreAsked<'GET /runs/:runId/curves'>,
  { curves, onFailure }: StoreRouteParts,
): Promise<Response> {
  const { store, takeRoom, notes, compute = LOCAL_COMPUTE } = scope;
  const signal = signalOf(context);
  const { key, buckets = DEFAULT_BUCKETS, names, ...rest } = asked;
  const keys = key === undefined ? {} : { metricKeys: key };
  const query: CurveQuery = { ...rest, ...keys, ...params, buckets };
  checkCurveQuery(query);
  const listed = await metricSegments(store, query.runId);
  const manifests = curveSegments(query, listed);
  if (manifests.length === 0 && (await store.findRun(query.runId)) === undefined)
    throw new RunNotFoundError(query.runId, 'this store');
  if (names === 1) return json(context, encodeCurves(namesOf(listed)));
  // The guarded store has shown these segments to this client. Curves computed for another client of the space are the same.
  const name = curvesName(curves.spaceOf(scope), query, manifests);
  const answer = await curves.once(name, signal, async () => {
    takeRoom?.(READING_BYTES + buckets * BYTES_PER_BUCKET);
    const job = { name: 'curves', query, listed } as const;
    const task = compute.start(job, { store, notes, onFailure, signal });
    for await (const part of partsOf(task)) return part;
    throw new SessionStoreError('failed', 'The curves could not be computed.');
  });
  return jsonBytes(context, answer);
}

/**
 * The query and the bytes it is about. A checksum of each segment stands for its bytes within one space only: it has 32
 * bits, so an attacker finds other bytes with the same checksum.
 */
export function curvesName(
  space: string,
  query: object,
  manifests: readonly SegmentManifest[],
): string {
  const segments = manifests.map(
    ({ writerId, batchNumber, checksum, firstSequence }) =>
      `${writerId}/${batchNumber}/${checksum}/${firstSequence}`,
  );
  return JSON.stringify([space, query, segments]);
}
