/**
 * Where SQLite waits for the disk, by the system calls of a recording (`strace`), compared with where this siege cuts: at the ends of
 * transactions in the log, and between the log and the database file.
 */
import { spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { DATABASE, LOG } from './files.ts';
import type { Synchronous } from './recording.ts';
import type { Moment } from './states.ts';
import { readWal, WAL_HEADER_BYTES } from './wal.ts';

/** The command before a program that writes its system calls to a file: with paths, and with the first bytes of what is written. */
export function tracer(path: string): readonly string[] {
  const calls = 'trace=pwrite64,fsync,fdatasync,ftruncate';
  return [
    'strace',
    '-f',
    '-y',
    '-qq',
    '-x',
    '-s',
    String(WAL_HEADER_BYTES),
    '-e',
    calls,
    '-o',
    path,
  ];
}

/** Whether this machine has `strace`, and lets it trace. */
export function canTrace(): boolean {
  return spawnSync('strace', ['-o', '/dev/null', 'true']).status === 0;
}

/** What comparing found. */
export type SyncCounts = {
  /** Times that SQLite waited for the log, after its header not counted. */
  readonly syncs: number;
  /** Ends of transactions in the logs of the recording. */
  readonly boundaries: number;
  readonly wrong: readonly string[];
};

/** @param path the file of {@link tracer} @param moments what was recorded meanwhile */
export async function compareSyncs(
  path: string,
  moments: readonly Moment[],
  synchronous: Synchronous,
): Promise<SyncCounts> {
  return comparedSyncs(await readFile(path, 'latin1'), moments, synchronous);
}

/** The same, from the text of the file. */
export function comparedSyncs(
  text: string,
  moments: readonly Moment[],
  synchronous: Synchronous,
): SyncCounts {
  const disk = new Disk();
  for (const call of callsIn(text)) disk.take(call);
  const wrong = [...disk.wrong];
  const boundaries = new Map<string, Set<number>>();
  for (const { files } of moments) {
    const { salt, commits } = readWal(files.get(LOG) ?? Buffer.alloc(0));
    const known = boundaries.get(salt) ?? new Set();
    for (const end of commits) known.add(end);
    boundaries.set(salt, known);
  }
  for (const [salt, ends] of boundaries) {
    const synced = disk.syncs.get(salt) ?? new Set();
    // Waiting after each transaction is what `full` means.
    if (synchronous === 'full')
      for (const end of ends)
        if (!synced.has(end))
          wrong.push(`log ${salt}: no wait at ${end}, the end of a transaction`);
    for (const end of synced)
      if (!ends.has(end)) wrong.push(`log ${salt}: a wait at ${end}, where no transaction ends`);
  }
  const sum = (all: ReadonlyMap<string, ReadonlySet<number>>): number =>
    [...all.values()].reduce((total, { size }) => total + size, 0);
  return { syncs: sum(disk.syncs), boundaries: sum(boundaries), wrong };
}

/** A system call on a file of the store. */
type Call = {
  readonly name: string;
  readonly file: string;
  /** The first bytes of what was written. */
  readonly bytes: Buffer;
  readonly numbers: readonly number[];
};

/** The calls of all threads, in the order in which they ended. */
function* callsIn(text: string): Generator<Call> {
  const unfinished = new Map<string, string>();
  for (const line of text.split('\n')) {
    const [, thread = '', said = ''] = /^(\d+)\s+(.*)$/.exec(line) ?? [];
    const begun = /^(.*) <unfinished \.\.\.>$/.exec(said)?.[1];
    if (begun !== undefined) {
      unfinished.set(thread, begun);
      continue;
    }
    const rest = /^<\.\.\. \w+ resumed>(.*)$/.exec(said)?.[1];
    const whole = rest === undefined ? said : `${unfinished.get(thread) ?? ''}${rest}`;
    const call = /^(\w+)\(\d+<([^>]*)>(?:, "([^"]*)"(?:\.\.\.)?)?((?:, \d+)*)\s*\)\s+= \d+$/.exec(
      whole,
    );
    if (call === null) continue;
    const [, name = '', path = '', bytes = '', numbers = ''] = call;
    yield {
      name,
      file: path.slice(path.lastIndexOf('/') + 1),
      bytes: Buffer.from(bytes.replaceAll('\\x', ''), 'hex'),
      numbers: numbers.split(', ').slice(1).map(Number),
    };
  }
}

/** What is on the disk for sure, as the calls go by. */
class Disk {
  /** How far the log was written each time that SQLite waited for it, by its salt. */
  readonly syncs = new Map<string, Set<number>>();
  readonly wrong: string[] = [];
  #salt = '';
  #end = 0;
  #isLogWaiting = false;
  #isDatabaseWaiting = false;

  take({ name, file, bytes, numbers }: Call): void {
    const [first = 0, offset = 0] = numbers;
    if (file === DATABASE) {
      if (name === 'pwrite64') this.#writeDatabase();
      else if (name !== 'ftruncate') this.#isDatabaseWaiting = false;
    } else if (file === LOG) {
      if (name === 'pwrite64') this.#writeLog(bytes, first, offset);
      else if (name !== 'ftruncate') this.#syncLog();
      else if (first === 0) this.#begin('', 0);
    }
  }

  #writeDatabase(): void {
    if (this.#isLogWaiting) this.wrong.push('a page of the database is written before its log');
    this.#isDatabaseWaiting = true;
  }

  #writeLog(bytes: Buffer, length: number, offset: number): void {
    if (offset === 0) this.#begin(bytes.toString('hex', 16, 24), WAL_HEADER_BYTES);
    else this.#end = Math.max(this.#end, offset + length);
    this.#isLogWaiting = true;
  }

  #begin(salt: string, end: number): void {
    if (this.#isDatabaseWaiting) this.wrong.push('the log begins anew before the database file');
    [this.#salt, this.#end, this.#isLogWaiting] = [salt, end, false];
  }

  #syncLog(): void {
    this.#isLogWaiting = false;
    if (this.#end <= WAL_HEADER_BYTES) return;
    const known = this.syncs.get(this.#salt) ?? new Set();
    this.syncs.set(this.#salt, known.add(this.#end));
  }
}
