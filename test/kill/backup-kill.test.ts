/** Backups of a folder that four processes write to and merge in; and processes that back up, killed at random moments. */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { listBackups } from '../../src/backup/node/list-backups.ts';
import { backupStore } from '../../src/backup/node/make-backup.ts';
import { restoreBackup } from '../../src/backup/node/restore-backup.ts';
import { verifyBackup } from '../../src/backup/node/verify-backup.ts';
import { openFileStorage } from '../../src/store/sql/node/file-storage.ts';
import { bundle } from '../support/bundle.mjs';
import { rounds } from '../support/property.ts';
import { runAndKill } from '../support/run-and-kill.ts';
import { inspect, RUN_ID } from './workload.ts';

const WRITERS = 4;
const BACKUPS = rounds(2);
const KILLS = rounds(4);
const MAX_LIFE_MS = 250;

let build: string;
let writer: string;
let saver: string;
let directory: string;
const children: ChildProcess[] = [];

beforeAll(async () => {
  // Inside the repository, where the children find the driver.
  const parent = join(import.meta.dirname, '../../build');
  await mkdir(parent, { recursive: true });
  build = await mkdtemp(join(parent, 'backup-'));
  writer = await bundle('test/kill/kill-child.ts', { folder: await mkdtemp(join(build, 'w-')) });
  saver = await bundle('test/kill/backup-child.ts', { folder: await mkdtemp(join(build, 's-')) });
}, 120_000);

afterAll(async () => {
  await rm(build, { recursive: true, force: true });
});

afterEach(async () => {
  await Promise.all(children.splice(0).map(end));
  await rm(directory, { recursive: true, force: true });
});

function end(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve();
    child.once('exit', () => resolve());
    child.kill('SIGKILL');
  });
}

/** Starts processes that write to a folder; gives a function that tells what was acknowledged so far. */
async function startWriters(source: string, count: number, name = 'w'): Promise<() => string[]> {
  const outputs: string[] = [];
  for (let i = 0; i < count; i++) {
    const child = spawn(process.execPath, [writer, source, `${name}${i}`], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    children.push(child);
    outputs[i] = '';
    await new Promise<void>((resolve) => {
      child.stdout.on('data', (data: Buffer) => {
        outputs[i] += data.toString();
        if ((outputs[i] ?? '').split('\n').length > 3) resolve();
      });
    });
  }
  return () => outputs.flatMap((output) => output.split('\n').slice(1, -1));
}

/** Rows of a table have the numbers from 0 on without a gap. */
async function isPrefix(folder: string): Promise<boolean> {
  const store = await openFileStorage(folder);
  const segments = await store.listSegments({ runId: RUN_ID, table: 'metrics' });
  const [stream] = (await store.listStreams?.(RUN_ID)) ?? [];
  await store.close();
  const rows = segments.reduce((sum, { rowCount }) => sum + rowCount, 0);
  return rows === stream?.nextSequence;
}

test(
  `${BACKUPS} backups while ${WRITERS} processes write and merge: what was acknowledged before is there, without gaps`,
  async () => {
    directory = await mkdtemp(join(tmpdir(), 'quark-backup-kill-'));
    const source = join(directory, 'source');
    const destination = join(directory, 'backup');
    const acknowledged = await startWriters(source, WRITERS);
    const made: { readonly snapshotId: string; readonly before: readonly string[] }[] = [];
    for (let i = 0; i < BACKUPS; i++) {
      const before = acknowledged();
      const { snapshotId } = await backupStore(source, destination, { verifiesAll: i % 2 === 0 });
      made.push({ snapshotId, before });
      // There is something new for the next one.
      while (acknowledged().length <= before.length)
        await new Promise((resolve) => {
          setTimeout(resolve, 20);
        });
    }
    await Promise.all(children.splice(0).map(end));
    for (const { before, snapshotId } of made) {
      expect(before.length).toBeGreaterThan(0);
      const target = join(directory, snapshotId);
      await restoreBackup(destination, target, { snapshotId });
      const store = await openFileStorage(target);
      expect(await inspect(store, before)).toEqual([]);
      await store.close();
      expect(await isPrefix(target)).toBe(true);
    }
    expect((await verifyBackup(destination)).problems).toEqual([]);
    expect((await listBackups(destination)).snapshots).toHaveLength(BACKUPS);
  },
  120_000 + BACKUPS * 20_000,
);

test(
  `${KILLS} backups killed: former snapshots stay whole, and the next one is made`,
  async () => {
    directory = await mkdtemp(join(tmpdir(), 'quark-backup-kill-'));
    const source = join(directory, 'source');
    const destination = join(directory, 'backup');
    const acknowledged = await startWriters(source, 1);
    await backupStore(source, destination);
    for (let i = 0; i < KILLS; i++) {
      const made = await runAndKill([saver, source, destination], MAX_LIFE_MS, 1);
      const { snapshots, unreadable } = await listBackups(destination);
      expect(unreadable).toEqual([]);
      const last = made.at(-1);
      // A later one may have been finished without saying so.
      if (last !== undefined)
        expect(snapshots.some(({ snapshotId }) => snapshotId >= last)).toBe(true);
      expect(snapshots.length).toBeGreaterThanOrEqual(1);
      expect((await verifyBackup(destination)).problems).toEqual([]);
    }
    const before = acknowledged();
    await backupStore(source, destination, { keep: 1 });
    expect((await verifyBackup(destination)).problems).toEqual([]);
    const target = join(directory, 'target');
    await restoreBackup(destination, target);
    const store = await openFileStorage(target);
    expect(await inspect(store, before)).toEqual([]);
    await store.close();
  },
  120_000 + KILLS * 20_000,
);
