/**
 * The files of a store as a power cut could have left them. Between two moments at which nothing is under way, each byte that
 * differs was written; which of the writes have reached the disk is drawn, within what SQLite has waited for:
 *
 * - With `synchronous=full` the log reaches the disk after each transaction, so a power cut can lose and tear only the last one.
 *   With `normal` that happens before a checkpoint, so all since then may be lost or torn, in any order.
 * - A checkpoint writes pages of the database file while the log that has them is on the disk, and begins the log anew, by
 *   overwriting it from its start, after the database file is on the disk.
 * - The file of a blob is whole and on the disk before it gets its name.
 */
import { DATABASE, LOG, type Files } from './files.ts';
import type { Synchronous } from './recording.ts';
import { readWal, WAL_HEADER_BYTES, type Wal } from './wal.ts';

/** What disks write whole. */
const SECTOR_BYTES = 512;
const PAGE_BYTES = 4096;

/** A moment of the recording: between two steps. */
export type Moment = { readonly files: Files };

/** Files after a power cut. */
export type CrashState = {
  readonly kind: string;
  /** The step during which the power was cut. */
  readonly at: number;
  /** What is on the disk for sure is what was acknowledged before this step. */
  readonly durableAt: number;
  readonly files: Files;
};

/** A file's bytes, some of them written and some not. */
type Write = { readonly from: number; readonly to: number };
type Random = () => number;

/** All states of one step, drawn from the seed. */
export function statesOf(
  moments: readonly Moment[],
  at: number,
  synchronous: Synchronous,
  random: Random,
): readonly CrashState[] {
  const [before, after] = [moments[at - 1], moments[at]];
  if (before === undefined || after === undefined) return [];
  const cut = { moments, at, before: before.files, after: after.files, random };
  // Before a checkpoint SQLite waits for the log.
  const isMoved = isMovedAt(moments, at);
  return [...(isMoved ? tornDatabase(cut) : tornLog(cut, synchronous)), ...tornBlobs(cut)];
}

/** Whether the log was copied into the database file during a step. */
function isMovedAt(moments: readonly Moment[], at: number): boolean {
  const [before, after] = [moments[at - 1]?.files, moments[at]?.files];
  if (before === undefined || after === undefined || !before.has(DATABASE)) return false;
  return !same(before.get(DATABASE), after.get(DATABASE));
}

type Cut = {
  readonly moments: readonly Moment[];
  readonly at: number;
  readonly before: Files;
  readonly after: Files;
  readonly random: Random;
};

/** A checkpoint: any of the pages, some of them in part, while the log is whole. */
function tornDatabase({ at, before, after, random }: Cut): readonly CrashState[] {
  const [old = Buffer.alloc(0), fresh = Buffer.alloc(0)] = [
    before.get(DATABASE),
    after.get(DATABASE),
  ];
  const log = before.get(LOG) ?? Buffer.alloc(0);
  const pages = changed(old, fresh, PAGE_BYTES);
  const state = (kind: string, database: Buffer, wal = log): CrashState => ({
    kind: `checkpoint: ${kind}`,
    at,
    durableAt: at - 1,
    files: new Map([...before, [DATABASE, database], [LOG, wal]]),
  });
  return [
    state('no page', old),
    state('half of the pages', written(old, fresh, some(pages, 0.5, random))),
    state('one page', written(old, fresh, pages.slice(-1))),
    state('all but one page', written(old, fresh, pages.slice(1))),
    state('pages in part', written(old, fresh, some(sectors(pages), 0.5, random))),
    state('the file not longer', written(old, fresh, pages).subarray(0, old.length)),
    state('longer, with zeros', Buffer.concat([old], Math.max(old.length, fresh.length))),
    state('all pages, the log whole', fresh),
    state('all pages, no log', fresh, Buffer.alloc(0)),
  ];
}

/** Transactions of the log that are under way: cut off, torn, reordered, zeros. */
function tornLog(cut: Cut, synchronous: Synchronous): readonly CrashState[] {
  const { after, at } = cut;
  const fresh = after.get(LOG) ?? Buffer.alloc(0);
  const wal = readWal(fresh);
  const { old, start, durableAt } = lastSync(cut, wal, synchronous);
  const commits = wal.commits.filter((end) => end > start);
  if (commits.length === 0) return [];
  if (synchronous === 'normal')
    return torn({ ...cut, old, fresh, wal, start, end: wal.end }).map(({ kind, log }) => ({
      kind: `log, not waited for: ${kind}`,
      at,
      durableAt,
      files: new Map([...after, [LOG, log]]),
    }));
  // Transactions of one step wait for the disk one after the other.
  return commits.flatMap((end, i) =>
    torn({ ...cut, old, fresh, wal, start: commits[i - 1] ?? start, end }).map(({ kind, log }) => ({
      kind: `log: ${kind}`,
      at,
      durableAt: at - 1,
      files: new Map([...after, [LOG, log]]),
    })),
  );
}

/** The log as it was when SQLite has last waited for the disk, at the latest before this step. */
function lastSync(
  { moments, at }: Cut,
  wal: Wal,
  synchronous: Synchronous,
): { readonly old: Buffer; readonly start: number; readonly durableAt: number } {
  let durableAt = at - 1;
  // A checkpoint waits for the log, and a log that has begun anew was checkpointed before.
  if (synchronous === 'normal')
    while (
      durableAt > 0 &&
      !isMovedAt(moments, durableAt) &&
      readWal(moments[durableAt]?.files.get(LOG) ?? Buffer.alloc(0)).salt === wal.salt
    )
      durableAt--;
  const old = moments[durableAt]?.files.get(LOG) ?? Buffer.alloc(0);
  const before = readWal(old);
  return { old, start: before.salt === wal.salt ? before.end : WAL_HEADER_BYTES, durableAt };
}

/** The span from `start` to `end` of the log, in every state of being written over what was there before. */
function torn({
  old,
  fresh,
  wal,
  start,
  end,
  random,
}: Cut & {
  readonly old: Buffer;
  readonly fresh: Buffer;
  readonly wal: Wal;
  readonly start: number;
  readonly end: number;
}): readonly { readonly kind: string; readonly log: Buffer }[] {
  // What is durable of this generation, over the frames of the one before.
  const base = Buffer.from(old.length > start ? old : Buffer.concat([old], start));
  fresh.copy(base, 0, 0, start);
  const frames: Write[] = [];
  for (let from = start; from < end; from += wal.frameBytes)
    frames.push({ from, to: Math.min(end, from + wal.frameBytes) });
  const parts = frames.flatMap((frame) => sectors([frame]));
  const inside = start + Math.floor(random() * (end - start));
  const whole = written(base, fresh.subarray(0, end), frames);
  return [
    { kind: 'none of it', log: base },
    ...frames.map(({ to }, i) => ({
      kind: 'cut between frames',
      log: written(base, fresh, frames.slice(0, i + 1)).subarray(0, Math.max(to, base.length)),
    })),
    { kind: 'cut inside a frame', log: fresh.subarray(0, inside) },
    { kind: 'the last frame only', log: written(base, fresh.subarray(0, end), frames.slice(-1)) },
    { kind: 'all but the first', log: written(base, fresh.subarray(0, end), frames.slice(1)) },
    {
      kind: 'some frames',
      log: written(base, fresh.subarray(0, end), some(frames, 0.6, random)),
    },
    { kind: 'some sectors', log: written(base, fresh.subarray(0, end), some(parts, 0.8, random)) },
    { kind: 'zeros', log: Buffer.concat([base], Math.max(base.length, end)) },
    {
      kind: 'zeros at the end',
      log: Buffer.concat([whole.subarray(0, inside), Buffer.alloc(whole.length - inside)]),
    },
    ...(start === WAL_HEADER_BYTES
      ? [
          {
            kind: 'half of its header',
            log: Buffer.concat([fresh.subarray(0, 16), old.subarray(16)]),
          },
        ]
      : []),
  ];
}

/** A blob that was being stored: its file under another name, cut off, or its name without a row. */
function tornBlobs({ at, before, after, random }: Cut): readonly CrashState[] {
  const made = [...after.keys()].find((name) => name.startsWith('blobs/') && !before.has(name));
  const bytes = made === undefined ? undefined : after.get(made);
  if (made === undefined || bytes === undefined) return [];
  const draft = made.replace(/[^/]+\/([^/]+)$/, 'incoming/$1.1.aaaaaaaaaaaa');
  const state = (kind: string, name: string, file: Buffer): CrashState => ({
    kind: `blob: ${kind}`,
    at,
    durableAt: at - 1,
    files: new Map([...before, [name, file]]),
  });
  const length = Math.floor(random() * bytes.length);
  return [
    state('no byte, not renamed', draft, Buffer.alloc(0)),
    state('cut off, not renamed', draft, bytes.subarray(0, length)),
    state('whole, not renamed', draft, bytes),
    state('renamed, without its row', made, bytes),
    state('no byte under its name', made, Buffer.alloc(0)),
    state('zeros under its name', made, Buffer.alloc(bytes.length)),
  ];
}

function same(a: Buffer | undefined, b: Buffer | undefined): boolean {
  return a === b || (a !== undefined && b !== undefined && a.equals(b));
}

/** Where two versions of a file differ, in units. */
function changed(old: Buffer, fresh: Buffer, unit: number): readonly Write[] {
  const found: Write[] = [];
  for (let from = 0; from < fresh.length; from += unit) {
    const to = Math.min(fresh.length, from + unit);
    if (!old.subarray(from, to).equals(fresh.subarray(from, to))) found.push({ from, to });
  }
  return found;
}

/** The same bytes in writes that begin where sectors of the disk do. */
function sectors(writes: readonly Write[]): readonly Write[] {
  const found: Write[] = [];
  for (const { from, to } of writes)
    for (let at = from; at < to; at = found.at(-1)?.to ?? to)
      found.push({
        from: at,
        to: Math.min(to, (Math.floor(at / SECTOR_BYTES) + 1) * SECTOR_BYTES),
      });
  return found;
}

function some(writes: readonly Write[], share: number, random: Random): readonly Write[] {
  return writes.filter(() => random() < share);
}

/** A file with some of the writes. It is as long as the last of them reaches; what was not written between is zeros. */
function written(old: Buffer, fresh: Buffer, writes: readonly Write[]): Buffer {
  const length = Math.max(old.length, ...writes.map(({ to }) => to));
  const bytes = Buffer.concat([old], length);
  for (const { from, to } of writes) fresh.copy(bytes, from, from, to);
  return bytes;
}
