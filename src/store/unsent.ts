/**
 * What an outbox has noted about its uploads, as far as merging has to know: a segment that was not acknowledged yet must
 * keep its identity, because the service tells by it what it has.
 *
 * A stream (a table of a run) is sent in the order of its sequence numbers, so that one number says how far it is.
 */
import { batchName } from './batch-ranges.ts';
import type { RefusedSegment } from './sync-control.ts';
import type { SegmentManifest, Store, StoreNotes } from './store.ts';

/** What is noted of a stream for one service. */
export type SentNote = {
  /** Every row before this sequence number was acknowledged or is in `refused`. */
  readonly through: number;
  /** How often the table had been emptied when that was. */
  readonly replaceCount: number;
  /** Rows acknowledged, counted once. */
  readonly rows: number;
  readonly refused: readonly RefusedSegment[];
  /** `writer/batch` of acknowledged segments with rows at or after `through`: parts of a merge that lie among each other. */
  readonly ahead: readonly string[];
  /** One more than the largest sequence number that the service has given to a row; absent where that is not known. */
  readonly serviceNext?: number;
};

/** Of a stream of which nothing was sent. */
export const NOTHING_SENT: SentNote = Object.freeze({
  through: 0,
  replaceCount: 0,
  rows: 0,
  refused: Object.freeze([]),
  ahead: Object.freeze([]),
});

/** Where a run is noted for sending: one note for each service. */
export function memberPrefix(runId: string): string {
  return `sync/run/${runId}/`;
}

/** Where the last common state of a run document is noted: one note for each service. */
export function basePrefix(runId: string): string {
  return `sync/base/${runId}/`;
}

/** Where a stream is noted: one note for each service. */
export function sentPrefix(runId: string, table?: string): string {
  return table === undefined ? `sync/sent/${runId}/` : `sync/sent/${runId}/${table}/`;
}

/** A note as it was written; of nothing sent, where there is none or it cannot be read. */
export function parseSent(text: string | undefined): SentNote {
  if (text === undefined) return NOTHING_SENT;
  try {
    const { through, replaceCount, rows, refused, ahead, serviceNext } = JSON.parse(
      text,
    ) as Partial<SentNote>;
    if (typeof through !== 'number' || typeof replaceCount !== 'number') return NOTHING_SENT;
    return {
      through,
      replaceCount,
      rows: rows ?? 0,
      refused: refused ?? [],
      ahead: ahead ?? [],
      ...(typeof serviceNext === 'number' ? { serviceNext } : {}),
    };
  } catch {
    // Sending again changes nothing at the service.
    return NOTHING_SENT;
  }
}

/** Live segments of a table that may be merged. */
export type MergeableSegments = {
  readonly segments: readonly SegmentManifest[];
  /** The first sequence number of those that wait for their acknowledgement; infinite where none does. */
  readonly waiting: number;
};

/** All where the run is not to be sent, else those that were acknowledged; without those that end before a sequence number. */
export async function mergeableSegments(
  store: Store,
  runId: string,
  table: string,
  sequenceMin = 0,
): Promise<MergeableSegments> {
  const { notes, sync } = store;
  const isSent = notes === undefined ? undefined : await sentTest(notes, runId, table);
  // A run that only the service has is merged there.
  const isElsewhere =
    sync !== undefined && isSent === undefined && (await notes?.survey(runId))?.runs.length === 0;
  if (isElsewhere) return { segments: [], waiting: sequenceMin };
  const filter = { runId, table, ...(sequenceMin > 0 ? { sequenceMin } : {}) };
  const segments = await store.listSegments(filter);
  if (isSent === undefined) return { segments, waiting: Number.POSITIVE_INFINITY };
  const waiting = segments.filter((one) => !isSent(one)).map((one) => one.firstSequence);
  return { segments: segments.filter(isSent), waiting: Math.min(...waiting) };
}

/** Tells acknowledged segments from others; undefined where the run is not to be sent. */
export async function sentTest(
  notes: StoreNotes,
  runId: string,
  table: string,
): Promise<((segment: SegmentManifest) => boolean) | undefined> {
  const members = await notes.list(memberPrefix(runId));
  if (members.length === 0) return undefined;
  const sent = await Promise.all(
    members.map(async ({ name }) =>
      parseSent(
        await notes.read(sentPrefix(runId, table) + name.slice(memberPrefix(runId).length)),
      ),
    ),
  );
  const through = Math.min(...sent.map((note) => note.through));
  const refused = new Set(sent.flatMap((note) => note.refused.map(batchName)));
  return (segment) => segment.lastSequence < through && !refused.has(batchName(segment));
}
