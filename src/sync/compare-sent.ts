/**
 * Compares what a service has acknowledged with what it has. A database that was restored from a backup, or has lost the end of its log
 * with the power, lacks batches that it had acknowledged: those that are stored here are sent again, and those that are not are told.
 *
 * What was acknowledged is read first, and the service asked then: what is acknowledged in between is not looked for. Nothing but the
 * names of batches is compared, so a run costs some hundred bytes.
 */
import { createId } from '../base/ids.ts';
import { xxh32 } from '../base/xxh32.ts';
import {
  batchesOf,
  batchName,
  coalesceRanges,
  isWithin,
  rangesWithout,
} from '../store/batch-ranges.ts';
import type {
  BatchRange,
  SegmentManifest,
  Store,
  StoredBatches,
  StreamState,
  TableBatches,
} from '../store/store.ts';
import { NOTHING_SENT, type SentNote } from '../store/unsent.ts';
import { isNoAccess, noAccess } from './failures.ts';
import type { Loss, LossNotes, LostCount, NotedRun, NotedTable } from './loss-notes.ts';
import type { BaseRun, Member, ReadNote, SyncNotes } from './sync-notes.ts';

/** What a comparison needs. */
export type CompareParts = {
  readonly local: Store;
  readonly notes: SyncNotes;
  readonly losses: LossNotes;
  /** Names the service. */
  readonly remoteUri: string;
  readonly nowMs: number;
};

/** What a service has lost of a run. */
export type RunLoss = { readonly runId: string; readonly tables: Loss['tables'] };

/** No count of a stream: a note with it makes the table be sent as a whole. */
const NEVER_SENT = -1;

type AckedTable = {
  readonly stream: StreamState;
  readonly note: ReadNote<SentNote>;
  /** All segments here, and those of them that were acknowledged. Of rows that were deleted here, nothing is to be sent again. */
  readonly here: readonly SegmentManifest[];
  readonly acked: readonly SegmentManifest[];
};

type AckedRun = {
  readonly runId: string;
  readonly isHere: boolean;
  readonly member: ReadNote<Member> | undefined;
  readonly base: BaseRun | undefined;
  readonly tables: readonly AckedTable[];
  readonly seen: NotedRun | undefined;
};

type Verdict = LostCount & { readonly seen: NotedTable; readonly sent?: SentNote };

const NOTHING_LOST: LostCount = { again: 0, missing: 0 };

/**
 * Compares these runs, at most 100, with the service; notes as not sent what it lacks, and returns what that is.
 *
 * @throws {NotesTaken} when somebody else sends meanwhile
 * @throws {SessionStoreError} when the service cannot be asked
 * @throws {QuarkError} `unsupported` when it is too old to be asked
 */
export async function compareSent(
  parts: CompareParts,
  remote: Pick<Store, 'listBatches' | 'listDeletedRuns'>,
  runIds: readonly string[],
): Promise<readonly RunLoss[]> {
  const runs: AckedRun[] = [];
  for (const runId of runIds) runs.push(await readAcked(parts, runId));
  const there = await remote.listBatches?.(runIds);
  if (there === undefined) return [];
  const gone = await findGone(parts, remote, runs, there);
  const found: RunLoss[] = [];
  for (const run of runs) {
    const isHidden = there.hidden?.includes(run.runId) === true;
    await noteAccess(parts, run, isHidden);
    if (isHidden) continue;
    if (there.runs.every(({ id }) => id !== run.runId) && !gone.has(run.runId)) continue;
    const tables = await settle(parts, run, there);
    if (tables.length > 0) found.push({ runId: run.runId, tables: Object.fromEntries(tables) });
  }
  return found;
}

/** The runs that the service does not know and that nobody has deleted, here or there. */
async function findGone(
  { local }: CompareParts,
  remote: Pick<Store, 'listBatches' | 'listDeletedRuns'>,
  runs: readonly AckedRun[],
  there: StoredBatches,
): Promise<ReadonlySet<string>> {
  const known = new Set(there.runs.map(({ id }) => id));
  const gone = new Set<string>();
  const hidden = new Set(there.hidden);
  for (const { isHere, member, runId } of runs) {
    const isDeleted =
      member?.value.refused?.reason === 'deleted' ||
      (!isHere && (await local.findDeletedRun(runId)) !== undefined);
    if (!known.has(runId) && !hidden.has(runId) && !isDeleted) gone.add(runId);
  }
  if (gone.size === 0) return gone;
  for (const { id } of await remote.listDeletedRuns()) gone.delete(id);
  if (gone.size === 0) return gone;
  // One that was restored in between is there after all.
  for (const { id } of (await remote.listBatches?.([...gone]))?.runs ?? []) gone.delete(id);
  return gone;
}

/** Sets a run aside that this key may not see any more, and takes it up again when it may. */
async function noteAccess(
  { notes, nowMs, remoteUri }: CompareParts,
  { isHere, member, runId }: AckedRun,
  isHidden: boolean,
): Promise<void> {
  if (member === undefined || !isHere || isNoAccess(member.value.refused) === isHidden) return;
  const refused = isHidden ? noAccess(runId, remoteUri, nowMs) : null;
  await notes.writeMember(runId, member, { ...member.value, settled: null, refused });
}

async function readAcked({ local, losses, notes }: CompareParts, runId: string): Promise<AckedRun> {
  const survey = await local.notes?.survey(runId);
  const tables: AckedTable[] = [];
  for (const stream of survey?.streams ?? []) {
    const note = await notes.readSent(runId, stream.table);
    if (note.text === null) continue;
    const all = { runId, table: stream.table, superseded: true, empty: true };
    const here = await local.listSegments(all);
    // What was emptied here since is sent as a whole in any case.
    const isSame = note.value.replaceCount === stream.replaceCount;
    const isAcked = ackTest(note);
    const acked = isSame ? here.filter((one) => one.rowCount > 0 && isAcked(one)) : [];
    tables.push({ stream, note, here, acked });
  }
  return {
    runId,
    isHere: (survey?.runs.length ?? 0) > 0,
    member: await notes.findMember(runId),
    base: await notes.readBase(runId),
    tables,
    seen: await losses.readSeen(runId),
  };
}

function ackTest({
  value: { ahead, refused, through },
}: ReadNote<SentNote>): (segment: SegmentManifest) => boolean {
  const early = new Set(ahead);
  const aside = new Set(refused.map(batchName));
  return (segment) => {
    const name = batchName(segment);
    return (segment.lastSequence < through || early.has(name)) && !aside.has(name);
  };
}

/** Notes what the service has of a run, and what is to be sent again; returns what was lost, by table. */
async function settle(
  parts: CompareParts,
  run: AckedRun,
  there: StoredBatches,
): Promise<readonly (readonly [string, LostCount])[]> {
  const { losses, notes } = parts;
  const { base, runId } = run;
  const known = there.runs.find(({ id }) => id === runId);
  const tablesThere = new Map(
    there.tables.filter((one) => one.runId === runId).map((one) => [one.table, one]),
  );
  if (known === undefined) return settleGone(parts, run);
  const verdicts = judgeAll(run, tablesThere);
  const lost = [...verdicts].flatMap(([table, { again, missing }]) =>
    again + missing > 0 ? [[table, { again, missing }] as const] : [],
  );
  // First what is to be done, then what was seen: a crash in between compares again.
  if (lost.length > 0) await noteLoss(parts, run, Object.fromEntries(lost));
  for (const { note, stream } of run.tables) {
    const sent = verdicts.get(stream.table)?.sent;
    if (sent !== undefined) await notes.writeSent(runId, stream.table, note, sent);
  }
  const isOlder = base !== undefined && base.remoteRevision > known.revision;
  // What the service says of the run is what it said once: it is no change that somebody made there.
  if (isOlder) await notes.forgetBase(runId);
  const isToSend = isOlder || [...verdicts.values()].some(({ sent }) => sent !== undefined);
  if (isToSend) await unsettle(notes, runId);
  const seen = Object.fromEntries([...verdicts].map(([table, verdict]) => [table, verdict.seen]));
  if (JSON.stringify(seen) !== JSON.stringify(run.seen?.tables))
    await losses.writeSeen(runId, { tables: seen });
  return lost;
}

/** The service does not know the run any more: all that is here is sent, and the rest is told. */
async function settleGone(
  parts: CompareParts,
  run: AckedRun,
): Promise<readonly (readonly [string, LostCount])[]> {
  const { base, isHere, runId, seen } = run;
  if (base === undefined && run.tables.length === 0 && seen === undefined) return [];
  const rowsHere = new Map(run.tables.map(({ acked, stream }) => [stream.table, rowsOf(acked)]));
  const names = new Set([...rowsHere.keys(), ...Object.keys(seen?.tables ?? {})]);
  const lost = [...names].flatMap((table) => {
    const again = isHere ? (rowsHere.get(table) ?? 0) : 0;
    const missing = Math.max(0, (seen?.tables[table]?.rowCount ?? 0) - again);
    return again + missing > 0 ? [[table, { again, missing }] as const] : [];
  });
  if (lost.length > 0) await noteLoss(parts, run, Object.fromEntries(lost));
  if (isHere) await parts.notes.forgetSent(runId);
  await parts.losses.writeSeen(runId, null);
  return lost;
}

function judgeAll(
  { member, seen, tables }: AckedRun,
  there: ReadonlyMap<string, TableBatches>,
): ReadonlyMap<string, Verdict> {
  const verdicts = new Map<string, Verdict>();
  const here = new Map(tables.map((one) => [one.stream.table, one]));
  const isAdopted = member?.value.isAdopted === true;
  for (const table of new Set([
    ...here.keys(),
    ...there.keys(),
    ...Object.keys(seen?.tables ?? {}),
  ])) {
    verdicts.set(table, judge(here.get(table), there.get(table), seen?.tables[table], isAdopted));
  }
  return verdicts;
}

function judge(
  acked: AckedTable | undefined,
  found: TableBatches | undefined,
  seen: NotedTable | undefined,
  isAdopted: boolean,
): Verdict {
  const { batches, replaceCount, rowCount } = found ?? {
    batches: [],
    replaceCount: 0,
    rowCount: 0,
  };
  const localCount = acked?.note.value.replaceCount ?? seen?.localCount ?? 0;
  const now = { replaceCount, localCount, rowCount, batches };
  const isOwn = acked !== undefined && acked.note.value.replaceCount === acked.stream.replaceCount;
  const isEmptiedHere = localCount > 0 && localCount === seen?.localCount;
  // The service had emptied the table when this was sent: it has forgotten that, or an earlier time.
  if (
    isOwn &&
    localCount > 0 &&
    (replaceCount === 0 || (isEmptiedHere && replaceCount < seen.replaceCount))
  )
    return {
      again: Math.max(1, rowsOf(acked.acked)),
      missing: 0,
      seen: { ...now, emptied: [] },
      sent: { ...NOTHING_SENT, replaceCount: NEVER_SENT },
    };
  const ackedBatches = coalesceRanges((acked?.acked ?? []).flatMap(batchesOf));
  const isEmptiedThere =
    seen !== undefined && replaceCount > seen.replaceCount && localCount === seen.localCount;
  if (isEmptiedThere)
    return { ...NOTHING_LOST, seen: { ...now, emptied: rangesWithout(ackedBatches, batches) } };
  const emptied = seen?.localCount === localCount ? rangesWithout(seen.emptied, batches) : [];
  const expected = coalesceRanges([...batches, ...emptied]);
  const lost = (acked?.acked ?? []).filter((one) => !areWithin(batchesOf(one), expected));
  const missing = missingRows(acked, now, seen, lost, emptied);
  if (acked === undefined || lost.length === 0)
    return { again: 0, missing, seen: { ...now, emptied } };
  const again = isAdopted ? rowsOf(lost) : againRows(lost, acked.note.value.rows - rowCount);
  return { again, missing, seen: { ...now, emptied }, sent: withoutLost(acked, lost, again) };
}

/** A merged segment of which the service has a part counts with what it has not, as far as the numbers of rows tell. */
function againRows(lost: readonly SegmentManifest[], difference: number): number {
  const most = rowsOf(lost);
  return difference > 0 ? Math.min(most, difference) : most;
}

/** Rows that the service had when it was last compared, and that are neither there nor here. */
function missingRows(
  acked: AckedTable | undefined,
  now: Pick<NotedTable, 'rowCount' | 'replaceCount' | 'batches' | 'localCount'>,
  seen: NotedTable | undefined,
  lost: readonly SegmentManifest[],
  emptied: readonly BatchRange[],
): number {
  if (seen === undefined || seen.localCount !== now.localCount) return 0;
  const here = (acked?.here ?? []).flatMap(batchesOf);
  const known = coalesceRanges([...now.batches, ...here, ...emptied]);
  if (rangesWithout(seen.batches, known).length === 0) return 0;
  const back = lost.filter((one) => areWithin(batchesOf(one), seen.batches));
  return Math.max(1, seen.rowCount - now.rowCount - rowsOf(back));
}

/** What was acknowledged without these segments: up to the first of them, and single ones behind it. */
function withoutLost(
  { acked, note: { value } }: AckedTable,
  lost: readonly SegmentManifest[],
  rows: number,
): SentNote {
  const through = lost.reduce(
    (least, { firstSequence }) => Math.min(least, firstSequence),
    value.through,
  );
  const names = new Set(lost.map(batchName));
  // The service numbers on from where it is now.
  const { serviceNext: _next, ...rest } = value;
  return {
    ...rest,
    through,
    rows: Math.max(0, value.rows - rows),
    ahead: acked
      .filter((one) => one.lastSequence >= through && !names.has(batchName(one)))
      .map(batchName),
  };
}

async function noteLoss(
  { losses, nowMs }: CompareParts,
  { isHere, runId, seen, tables: acked }: AckedRun,
  tables: Loss['tables'],
): Promise<void> {
  const from = JSON.stringify([seen, acked.map(({ note }) => note.text)]);
  const print = xxh32(new TextEncoder().encode(from), 0);
  await losses.addMissing(runId, tables, print);
  const before = await losses.readLoss(runId);
  // There is no run to record an event in; or it is recorded already.
  if (!isHere || before?.print === print) return;
  const sum: Record<string, LostCount> = { ...before?.tables };
  for (const [table, { again, missing }] of Object.entries(tables)) {
    const known = sum[table] ?? NOTHING_LOST;
    sum[table] = { again: known.again + again, missing: known.missing + missing };
  }
  const { foundAtMs, writerId } = before ?? {
    foundAtMs: nowMs,
    writerId: createId('syn', nowMs),
  };
  await losses.writeLoss(runId, { writerId, foundAtMs, print, tables: sum });
}

async function unsettle(notes: SyncNotes, runId: string): Promise<void> {
  const member = await notes.findMember(runId);
  if (member !== undefined)
    await notes.writeMember(runId, member, { ...member.value, settled: null });
}

function rowsOf(segments: readonly SegmentManifest[]): number {
  return segments.reduce((sum, { rowCount }) => sum + rowCount, 0);
}

function areWithin(ranges: readonly BatchRange[], coalesced: readonly BatchRange[]): boolean {
  return ranges.every((range) => isWithin(range, coalesced));
}
