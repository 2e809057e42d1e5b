/**
 * The segments of one run on their way to the service, one request at a time. What is to be sent is read from the local
 * store each time, so memory holds one request, however long the service was away.
 *
 * A stream is sent in order and its note moved on after the service has acknowledged. When the answer is lost, or the
 * process ends in between, the same segments are sent again: the service knows them by their identities.
 */

import { batchName } from '../store/batch-ranges.ts';
import type { NewSegment, SegmentManifest, Store, StreamState } from '../store/store.ts';
import type { RefusedSegment } from '../store/sync-control.ts';
import { NOTHING_SENT, type SentNote } from '../store/unsent.ts';
import { sendBlobsOf, type SentBlobs } from './send-blobs.ts';
import { judgeMerged, type MergedVerdict } from './merged-segments.ts';
import { isMissed, kindOfFailure, problemOf } from './failures.ts';
import {
  isSuperseded,
  remoteGenerationOf,
  type BaseRun,
  type ReadNote,
  type SyncNotes,
} from './sync-notes.ts';

const MAX_MESSAGE_CHARS = 300;
/** What empties a table and fills it again holds at most so much: half of what a service takes unless told otherwise. */
const WHOLE_BYTES = 32 * 1024 * 1024;
const WHOLE_SEGMENTS = 1_024;

/** What a request holds, about: segments before compression on the wire. */
const REQUEST_BYTES: number = 4 * 1024 * 1024;
/** Segments of a request, at most. */
const REQUEST_SEGMENTS = 256;
/** Below it is the connection and not the size. */
const MIN_BYTES = 8 * 1024;

/**
 * How much goes into one request. What does not get through is made smaller until it does: a connection that breaks after a while, or
 * a slow line, lets less through than a request may have.
 */
export class RequestSize {
  #bytes = REQUEST_BYTES;

  /** Segments are added to a request until it holds so much. */
  get bytes(): number {
    return this.#bytes;
  }

  /** A request of so many bytes did not get through. */
  failed(bytes: number): void {
    this.#bytes = Math.max(MIN_BYTES, Math.min(this.#bytes, bytes) / 2);
  }

  /** One did. */
  arrived(): void {
    this.#bytes = Math.min(REQUEST_BYTES, this.#bytes * 2);
  }
}

/** What sending needs and whom it tells. */
export type SendContext = {
  readonly local: Store;
  readonly remote: Store;
  readonly notes: SyncNotes;
  readonly sentBlobs: SentBlobs;
  readonly requestSize: RequestSize;
  /** Who sends is no longer the one to: stops before the next request. */
  readonly checkActive: () => void;
  /** Something got through that need not be sent again. */
  readonly onProgress: () => void;
  readonly onAcknowledged: () => void;
  /** The service has stored rows as superseded that were not known to be: a session elsewhere has taken the run over. */
  readonly onTakenOver: (runId: string) => Promise<void>;
  readonly onRefused: (segment: RefusedSegment) => void;
  /** The service has numbered rows as if it had not some that it has acknowledged. */
  readonly onSuspect: (runId: string) => void;
};

type Part = {
  readonly stream: StreamState;
  note: ReadNote<SentNote>;
  readonly pending: readonly SegmentManifest[];
  /** How many of them go into this request. */
  readonly taken: number;
  readonly verdict: MergedVerdict;
};

/**
 * Sends one request's worth of a run. Returns whether there was anything to send.
 *
 * @throws what the service throws, but for segments that it refuses for good: those are set aside
 */
export async function sendSome(
  context: SendContext,
  streams: readonly StreamState[],
): Promise<boolean> {
  const { local, notes } = context;
  const parts: Part[] = [];
  let room = context.requestSize.bytes;
  let count = 0;
  for (const stream of streams) {
    const note = await notes.readSent(stream.runId, stream.table);
    if (note.value.replaceCount !== stream.replaceCount) {
      await sendWhole(context, stream, note);
      return true;
    }
    if (note.value.through >= stream.nextSequence) continue;
    const pending = await pendingOf(local, stream, note.value);
    const verdict = await judgeMerged(context, stream, pending);
    if (verdict.isWhole) {
      await sendWhole(context, stream, note);
      return true;
    }
    let taken = 0;
    while (taken < pending.length && room > 0 && count < REQUEST_SEGMENTS) {
      room -= pending[taken]?.sizeBytes ?? 0;
      taken++;
      count++;
    }
    parts.push({ stream, note, pending, taken, verdict });
    if (room <= 0 || count >= REQUEST_SEGMENTS) break;
  }
  if (parts.length === 0) return false;
  await sendParts(context, parts);
  return true;
}

/** Segments of a stream that are neither acknowledged nor set aside, in order. */
export async function pendingOf(
  store: Store,
  stream: Pick<StreamState, 'runId' | 'table' | 'replaceCount'>,
  sent: SentNote,
): Promise<readonly SegmentManifest[]> {
  const note = sent.replaceCount === stream.replaceCount ? sent : NOTHING_SENT;
  const { through, refused, ahead } = note;
  const { runId, table } = stream;
  const segments = await store.listSegments({
    runId,
    table,
    sequenceMin: through,
    superseded: true,
  });
  if (refused.length === 0 && ahead.length === 0) return segments;
  const aside = new Set([...refused.map(batchName), ...ahead]);
  return segments.filter((segment) => !aside.has(batchName(segment)));
}

async function sendParts(context: SendContext, parts: Part[]): Promise<void> {
  const { local } = context;
  const wanted = parts.flatMap(({ pending, taken }) => pending.slice(0, taken));
  const reads = await local.readSegments(wanted);
  const sending: NewSegment[] = [];
  const refused: RefusedSegment[] = [];
  let isWhole = true;
  for (const [i, manifest] of wanted.entries()) {
    const read = reads[i];
    const part = parts.find(({ stream }) => stream.table === manifest.table);
    if (part?.verdict.known.has(batchName(manifest)) === true) continue;
    // Merged behind the outbox's back. What came from where cannot be told apart, and nothing may arrive twice.
    const isMixed = manifest.firstSequence < (part?.note.value.through ?? 0);
    if (isMixed || part?.verdict.unclear.has(batchName(manifest)) === true)
      refused.push(
        refusal(
          manifest,
          'merged',
          'It was merged from rows that the service has and rows that it has not.',
        ),
      );
    else if (read?.kind === 'bytes') sending.push({ manifest, bytes: read.bytes });
    else if (read?.kind === 'damaged') refused.push(refusal(manifest, 'corrupt', read.reason));
    else isWhole = false;
  }
  // Merged or replaced since it was listed: the next round lists again.
  if (!isWhole) return;
  await sendBlobsOf(context, sending);
  const stored: SegmentManifest[] = [];
  refused.push(...(await append(context, sending, stored)));
  for (const part of parts) await noteSent(context, part, refused, stored);
  context.onAcknowledged();
  for (const segment of refused) context.onRefused(segment);
}

/**
 * Appends; returns what is refused for good. All or none of a request is taken, so a refused one is sent again in halves
 * until the segment is found that is the reason.
 *
 * @param placed gets the manifests as the service has them
 */
async function append(
  context: SendContext,
  segments: readonly NewSegment[],
  placed: SegmentManifest[],
): Promise<readonly RefusedSegment[]> {
  const [first] = segments;
  if (first === undefined) return [];
  context.checkActive();
  try {
    const forms = await newForms(context, segments);
    const stored = await context.remote.appendSegments(forms);
    context.requestSize.arrived();
    placed.push(...stored);
    // Before it is noted that they were sent: what was not, the session that took the run over could not see.
    const lost = stored.find((one, i) => one.superseded === true && forms[i]?.isApart !== true);
    if (lost !== undefined) await context.onTakenOver(lost.runId);
    return segments.flatMap(({ manifest }, i) => {
      const answer = stored[i];
      const isOther =
        answer !== undefined &&
        batchName(answer) === batchName(manifest) &&
        answer.sources.length === 0 &&
        answer.checksum !== manifest.checksum;
      return isOther
        ? [refusal(manifest, 'conflict', 'The service has other bytes under its identity.')]
        : [];
    });
  } catch (error) {
    noteMiss(context, segments, error);
    if (kindOfFailure(error) !== 'permanent') throw error;
    if (segments.length === 1) {
      const { message, reason } = problemOf(error, 0);
      return [refusal(first.manifest, reason, message)];
    }
    const middle = segments.length >> 1;
    return [
      ...(await append(context, segments.slice(0, middle), placed)),
      ...(await append(context, segments.slice(middle), placed)),
    ];
  }
}

/**
 * Puts the table of the service in the state of the local one: it was computed anew. In one request where it fits into one; else the
 * first emptied the table and brought as much as it holds, and the rest is noted as still to be sent, like anything else.
 */
async function sendWhole(
  context: SendContext,
  stream: StreamState,
  note: ReadNote<SentNote>,
): Promise<void> {
  const { local, remote, notes } = context;
  const { runId, table, replaceCount } = stream;
  const listed = await local.listSegments({ runId, table, superseded: true });
  const manifests = listed.slice(0, wholeCount(listed, context.requestSize.bytes));
  const rest = listed.slice(manifests.length);
  const reads = await local.readSegments(manifests);
  const segments: NewSegment[] = [];
  const refused: RefusedSegment[] = [];
  for (const [i, manifest] of manifests.entries()) {
    const read = reads[i];
    if (read?.kind === 'bytes') segments.push({ manifest, bytes: read.bytes });
    else if (read?.kind === 'damaged') refused.push(refusal(manifest, 'corrupt', read.reason));
    else return;
  }
  await sendBlobsOf(context, segments);
  context.checkActive();
  try {
    await remote.replaceTable(runId, table, await newForms(context, segments));
    context.requestSize.arrived();
  } catch (error) {
    noteMiss(context, segments, error);
    if (kindOfFailure(error) !== 'permanent') throw error;
    const { message, reason } = problemOf(error, 0);
    segments.length = 0;
    // Nothing of the new table may follow what the service still has of the old one.
    const named = new Set(refused.map(batchName));
    for (const manifest of [...manifests, ...rest.splice(0)])
      if (!named.has(batchName(manifest))) refused.push(refusal(manifest, reason, message));
  }
  const through =
    rest.length === 0
      ? endOf(stream, listed)
      : rest.reduce((least, { firstSequence }) => Math.min(least, firstSequence), Infinity);
  await notes.writeSent(runId, table, note, {
    through,
    replaceCount,
    rows: segments.reduce((sum, { manifest }) => sum + manifest.rowCount, 0),
    refused,
    ahead:
      rest.length === 0
        ? []
        : manifests.filter(({ lastSequence }) => lastSequence >= through).map(batchName),
  });
  context.onAcknowledged();
  for (const segment of refused) context.onRefused(segment);
}

async function noteSent(
  { notes, onSuspect }: SendContext,
  part: Part,
  allRefused: readonly RefusedSegment[],
  stored: readonly SegmentManifest[],
): Promise<void> {
  const { stream, note, pending, taken } = part;
  const refused = allRefused.filter(({ table }) => table === stream.table);
  const aside = new Set(refused.map(batchName));
  const rest = pending.slice(taken);
  const acknowledged = pending.slice(0, taken).filter((segment) => !aside.has(batchName(segment)));
  // Up to the first row that is still to be sent; past the last one when none is.
  const through =
    rest.length === 0
      ? endOf(stream, pending)
      : rest.reduce((least, { firstSequence }) => Math.min(least, firstSequence), Infinity);
  const before = note.value;
  const there = stored.filter(({ table }) => table === stream.table);
  const serviceNext = there.reduce(
    (most, { lastSequence }) => Math.max(most, lastSequence + 1),
    before.serviceNext ?? 0,
  );
  // What is new gets numbers after all that the service has.
  const isBehind = there.some(
    ({ firstSequence, sources }) =>
      sources.length === 0 && firstSequence < (before.serviceNext ?? 0),
  );
  if (isBehind) onSuspect(stream.runId);
  await notes.writeSent(stream.runId, stream.table, note, {
    serviceNext,
    through: Math.max(before.through, through),
    replaceCount: stream.replaceCount,
    rows: before.rows + acknowledged.reduce((sum, { rowCount }) => sum + rowCount, 0),
    refused: [...before.refused, ...refused],
    ahead:
      rest.length === 0
        ? []
        : [
            ...before.ahead,
            ...acknowledged.filter(({ lastSequence }) => lastSequence >= through).map(batchName),
          ],
  });
}

/** What did not get through is tried with less. */
function noteMiss(
  { requestSize }: SendContext,
  segments: readonly { readonly bytes: Uint8Array }[],
  error: unknown,
): void {
  if (isMissed(error))
    requestSize.failed(segments.reduce((sum, { bytes }) => sum + bytes.byteLength, 0));
}

/**
 * How many segments from the start of a table go into the request that empties it: up to 32 MiB, which readers see change at once. Over a
 * line that lets less through, as much as it does.
 */
function wholeCount(listed: readonly SegmentManifest[], requestBytes: number): number {
  let room = requestBytes < REQUEST_BYTES ? requestBytes : WHOLE_BYTES;
  let count = 0;
  while (count < listed.length && count < WHOLE_SEGMENTS) {
    room -= listed[count]?.sizeBytes ?? 0;
    if (room < 0 && count > 0) break;
    count++;
  }
  return count;
}

/** Every row before this number was listed, or is gone: the overview is older than the list. */
function endOf(stream: StreamState, listed: readonly SegmentManifest[]): number {
  return listed.reduce(
    (most, { lastSequence }) => Math.max(most, lastSequence + 1),
    stream.nextSequence,
  );
}

/** A segment on its way, and whether it is known to be superseded. */
type SentForm = NewSegment & { readonly isApart: boolean };

/**
 * Segments as the service is to store them: under the generation that both sides had last, so that the service stores them as superseded
 * if a session elsewhere has taken the run over since. Rows that are known to be superseded go under an earlier one.
 */
async function newForms(
  { notes }: SendContext,
  segments: readonly NewSegment[],
): Promise<readonly SentForm[]> {
  const bases = new Map<string, BaseRun | undefined>();
  const forms: SentForm[] = [];
  for (const { manifest, bytes } of segments) {
    const { runId } = manifest;
    if (!bases.has(runId)) bases.set(runId, await notes.readBase(runId));
    const base = bases.get(runId);
    const {
      firstSequence: _first,
      lastSequence: _last,
      superseded: _superseded,
      ...rest
    } = manifest as SegmentManifest;
    const common = base === undefined ? 1 : remoteGenerationOf(base);
    const isApart = isSuperseded(manifest as SegmentManifest, base?.superseded);
    const generation = isApart
      ? Math.max(1, Math.min(manifest.generation ?? 1, common - 1))
      : common;
    forms.push({ manifest: { ...rest, generation }, bytes, isApart });
  }
  return forms;
}

function refusal(manifest: NewSegment['manifest'], reason: string, text: string): RefusedSegment {
  // It is stored in a note with all others.
  const message = text.slice(0, MAX_MESSAGE_CHARS);
  const { batchNumber, rowCount, runId, table, writerId } = manifest;
  return { runId, table, writerId, batchNumber, rowCount, reason, message };
}
