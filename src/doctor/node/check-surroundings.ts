/** What a store stands on: the space of the disk, the clock, files that killed processes have left. */
import { lstatSync, readdirSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { numberCell, sql } from '../../store/sql/sql-database.ts';
import type { StoreLocation } from '../../store/store.ts';
import type { Report } from './finding.ts';
import type { Patient } from './patient.ts';

/** Below this the next merge or backup may fail. */
const LOW_BYTES = 1024 ** 3;
/** Below this the next append may fail. */
const FULL_BYTES = 64 * 1024 ** 2;
/** Clocks that differ by less do no harm: leases take 15 seconds and more. */
const MAX_CLOCK_MS = 5_000;
/** What is this old was left by a process that ended. */
const LEFT_AFTER_MS = 60 * 60 * 1000;

/** Checks what the store stands on. */
export async function checkSurroundings(
  patient: Patient,
  nowMs: number,
  report: Report,
): Promise<void> {
  if (patient.location !== undefined) {
    checkSpace(patient.location, report);
    checkFileTimes(patient.location, nowMs, report);
    for (const path of leftovers(patient.location, nowMs))
      report({
        severity: 'note',
        code: 'leftover',
        where: path,
        message: 'A process that ended has left this.',
        advice: '--repair removes it.',
        repair: 'remove_leftovers',
        target: [path],
      });
  }
  if (!patient.isSqlite) await checkServerClock(patient, nowMs, report);
  await checkRecordedTimes(patient, nowMs, report);
}

function checkSpace({ storageDir }: StoreLocation, report: Report): void {
  const disk = statfsSync(storageDir);
  const freeBytes = disk.bavail * disk.bsize;
  if (freeBytes >= LOW_BYTES) return;
  report({
    severity: freeBytes < FULL_BYTES ? 'error' : 'warning',
    code: 'disk_full',
    where: storageDir,
    message: `${Math.floor(freeBytes / 1024 ** 2)} MiB are free on the disk.`,
    advice:
      'Free some space, or move the store: writes are refused when it is full, and nothing is lost.',
  });
}

/** A file that is of the future was written under another clock. */
function checkFileTimes({ dbPath }: StoreLocation, nowMs: number, report: Report): void {
  for (const path of [dbPath, `${dbPath}-wal`]) {
    const found = statOf(path);
    if (found === undefined || found.mtimeMs <= nowMs + MAX_CLOCK_MS) continue;
    report({
      severity: 'warning',
      code: 'clock_off',
      where: path,
      message: `It was written ${Math.round((found.mtimeMs - nowMs) / 1000)} seconds from now: the clock was turned back, or that of the file system is ahead.`,
      advice: 'Let the clocks follow a time server: leases are judged by them.',
    });
  }
}

async function checkServerClock(patient: Patient, nowMs: number, report: Report): Promise<void> {
  const start = Date.now();
  const serverMs = await patient.read(function* () {
    const [row] = yield sql(
      'SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS DOUBLE PRECISION)',
    );
    return row === undefined ? nowMs : numberCell(row, 0);
  });
  reportClock(patient.name, serverMs - (start + Date.now()) / 2, report);
}

/** Says that another clock differs from ours, where it does. */
export function reportClock(where: string, aheadMs: number, report: Report): void {
  if (Math.abs(aheadMs) <= MAX_CLOCK_MS) return;
  report({
    severity: 'warning',
    code: 'clock_off',
    where,
    message: `Its clock is ${Math.round(Math.abs(aheadMs) / 1000)} seconds ${aheadMs > 0 ? 'ahead of' : 'behind'} that of this machine.`,
    advice: 'Let the clocks follow a time server: leases are judged by them.',
  });
}

async function checkRecordedTimes(patient: Patient, nowMs: number, report: Report): Promise<void> {
  const count = await patient.read(function* () {
    const [row] = yield sql(
      'SELECT count(*) FROM runs WHERE started_at_ms > ?',
      nowMs + 86_400_000,
    );
    return row === undefined ? 0 : numberCell(row, 0);
  });
  if (count === 0) return;
  report({
    severity: 'note',
    code: 'started_in_future',
    where: patient.name,
    message: `${count} runs were started more than a day from now, by the clock of this machine.`,
    advice: 'See whether the clock of the machine that recorded them, or of this one, is wrong.',
  });
}

/** Files that processes which ended have left in a store. */
export function leftovers(
  { storageDir, storeRoot }: StoreLocation,
  nowMs: number,
): readonly string[] {
  const isOld = (path: string): boolean => nowMs - (statOf(path)?.mtimeMs ?? nowMs) > LEFT_AFTER_MS;
  const incoming = join(storeRoot, 'blobs', 'incoming');
  return [
    ...namesIn(incoming).map((name) => join(incoming, name)),
    ...namesIn(storageDir)
      .filter((name) => name.startsWith('.quark-restoring-'))
      .map((name) => join(storageDir, name)),
  ].filter(isOld);
}

function namesIn(path: string): readonly string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

function statOf(path: string): { readonly mtimeMs: number } | undefined {
  return lstatSync(path, { throwIfNoEntry: false });
}
