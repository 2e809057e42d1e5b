/** Stores that this user may not write: on read-only media, without the permission, of another user. */
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, describe, expect, it } from 'vitest';
import { openFileStorage } from '../../src/store/sql/node/file-storage.ts';
import { MetricsLogger, TrainingSession } from '../../src/index.ts';
import { casesOf } from '../support/long.ts';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const CLI = here('../../dist/cli.js');
/** Root may write everything: as root, the tests ask as "nobody". */
const isRoot = process.getuid?.() === 0;
const AS = isRoot ? { uid: 65_534, gid: 65_534 } : {};
const CAN_ASK =
  process.platform !== 'win32' &&
  spawnSync(process.execPath, [CLI, '--version'], { ...AS, cwd: '/' }).status === 0;
if (!CAN_ASK)
  console.warn(`${CLI} cannot be run as another user: stores that are only read are not tested.`);

setFlagsFromString('--expose_gc');
const collectGarbage = runInNewContext('gc') as () => void;

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) {
    openUp(folder);
    rmSync(folder, { recursive: true, force: true });
  }
});

/** A store with a run of 200 steps. */
async function recorded(): Promise<{ folder: string; runId: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'quark-read-only-'));
  folders.push(folder);
  const runId = await record(folder, 'completed');
  // SQLite removes its log once the last statement of the connection has been collected: not later, beside the commands.
  await expect
    .poll(() => {
      collectGarbage();
      return paths(folder).filter((path) => path.endsWith('-wal'));
    })
    .toEqual([]);
  return { folder, runId };
}

async function record(folder: string, end: 'completed' | 'no end'): Promise<string> {
  const session = await TrainingSession.startRun({
    project: 'digits',
    storageDir: folder,
    handleSignals: false,
  });
  const metrics = new MetricsLogger(session);
  for (let step = 0; step < 200; step++) metrics.log('train/loss', 1 / (step + 1), { step });
  await session.flush();
  if (end === 'completed') await session.endRun('completed');
  return session.runId;
}

const paths = (folder: string): string[] => [
  folder,
  ...readdirSync(folder, { recursive: true }).map((name) => join(folder, String(name))),
];

function closeUp(folder: string): void {
  for (const path of paths(folder).toReversed())
    chmodSync(path, statSync(path).isDirectory() ? 0o555 : 0o444);
}

function openUp(folder: string): void {
  chmodSync(folder, 0o755);
  for (const path of paths(folder)) chmodSync(path, statSync(path).isDirectory() ? 0o755 : 0o644);
}

type Ran = { readonly code: number | null; readonly out: string; readonly err: string };

function asOther(args: readonly string[]): Promise<Ran> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, {
      ...AS,
      cwd: '/',
      env: { PATH: process.env['PATH'] ?? '', TMPDIR: tmpdir(), NO_COLOR: '1' },
      timeout: 100_000,
    });
    let out = '';
    let err = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
    child.on('error', reject).on('close', (code) => resolve({ code, out, err }));
  });
}

const quark = (...args: string[]): Promise<Ran> => asOther([CLI, ...args]);

/** What a program of another user finds in the store, and how its writes are refused. */
async function program(folder: string): Promise<Record<string, unknown>> {
  const entry = (name: string): string => JSON.stringify(pathToFileURL(here(`../../dist/${name}`)));
  const { out, err } = await asOther([
    '--input-type=module',
    '-e',
    `import { openStorage, listRuns, openRun, TrainingSession } from ${entry('index.js')};
     const store = await openStorage(${JSON.stringify(folder)});
     const refusal = (promise) => promise.then(() => 'done', (error) => [error.code, error.reason, error.message]);
     const runs = await listRuns(store);
     const reader = await openRun(store, runs[0].run.id);
     const steps = await reader.readMetrics();

     console.log(JSON.stringify({
       isWritable: store.isWritable, runs: runs.length, points: steps.length,
       written: await refusal(store.ensureProject({ id: 'p', name: 'p', createdAtMs: 1 })),
       leased: await refusal(store.renewLease(runs[0].run.id, 'somebody', 1000)),
       blob: await refusal(store.putBlob('3e7077fd2f66d689e0cee6a7cf5b37bf2dca7c979af356d0a31cbc5c85605c7d', new Uint8Array(9))),
       started: await refusal(TrainingSession.startRun({ project: 'p', storage: store, handleSignals: false, strictMode: true })),
     }));
     await store.close();`,
  ]);
  if (out === '') throw new Error(err);
  return JSON.parse(out) as Record<string, unknown>;
}

describe.skipIf(!CAN_ASK)('a store that this user may not write', () => {
  it('is read by every command that reads, and stays as it is', async () => {
    const { folder, runId } = await recorded();
    closeUp(folder);
    const before = paths(folder).map((path) => [path, statSync(path).mtimeMs]);
    const commands = [
      [['show', 'latest'], runId],
      [['analyze', 'latest'], 'score'],
      [['query', 'select count(*) as n from metrics'], '200'],
      [['runs'], 'digits'],
      [['metrics', 'latest'], 'train/loss'],
      [['events', 'latest'], 'run_started'],
      [['phases', 'latest'], ''],
      [['report', 'latest'], 'train/loss'],
    ] as const;
    for (const [args, text] of casesOf(commands, 3)) {
      const { code, out, err } = await quark(...args, '--storage-dir', folder);
      expect([args, code, err]).toEqual([args, 0, '']);
      expect(out.toLowerCase()).toContain(text.toLowerCase());
    }
    expect(paths(folder).map((path) => [path, statSync(path).mtimeMs])).toEqual(before);
  });

  it('is read by a program, and refuses to be written with a sentence', async () => {
    const { folder } = await recorded();
    closeUp(folder);
    const found = await program(folder);
    expect(found).toMatchObject({ isWritable: false, runs: 1, points: 200 });
    for (const what of ['written', 'leased', 'blob', 'started'])
      expect([what, found[what]]).toEqual([
        what,
        ['store_failed', 'read_only', expect.stringContaining('can only be read')],
      ]);
  });

  it('shows what a killed writer left in its log, also without the index of it', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'quark-read-only-'));
    folders.push(folder);
    const writer = spawnSync(
      process.execPath,
      [
        '--input-type=module',
        '-e',
        `import { TrainingSession, MetricsLogger } from ${JSON.stringify(pathToFileURL(here('../../dist/index.js')))};
         const session = await TrainingSession.startRun({ project: 'killed', storageDir: ${JSON.stringify(folder)}, handleSignals: false });
         const metrics = new MetricsLogger(session);
         for (let step = 0; step < 200; step++) metrics.log('train/loss', 1, { step });
         await session.flush();
         process.kill(process.pid, 'SIGKILL');`,
      ],
      { timeout: 100_000 },
    );
    expect(writer.signal).toBe('SIGKILL');
    const database = join(folder, '.quark', 'quark.db');
    expect(statSync(`${database}-wal`).size).toBeGreaterThan(0);
    closeUp(folder);
    expect(await program(folder)).toMatchObject({ isWritable: false, runs: 1, points: 200 });
    openUp(folder);
    rmSync(`${database}-shm`);
    closeUp(folder);
    expect(await program(folder)).toMatchObject({ isWritable: false, runs: 1, points: 200 });
    // Nothing was made beside it, and the copy is gone.
    expect(readdirSync(join(folder, '.quark')).toSorted()).toEqual([
      'quark.db',
      'quark.db-wal',
      'runs',
    ]);
  });

  it('shows what its owner records meanwhile', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'quark-read-only-'));
    folders.push(folder);
    const store = await openFileStorage(folder);
    try {
      const session = await TrainingSession.startRun({
        project: 'live',
        storage: store,
        handleSignals: false,
      });
      const metrics = new MetricsLogger(session);
      for (let step = 0; step < 200; step++) metrics.log('train/loss', 1, { step });
      await session.flush();
      // The owner's files, in a folder that others may enter and not write.
      for (const path of paths(folder))
        chmodSync(path, statSync(path).isDirectory() ? 0o755 : 0o644);
      expect(await program(folder)).toMatchObject({ isWritable: !isRoot, points: 200 });
      metrics.log('train/loss', 1, { step: 200 });
      await session.flush();
      expect(await program(folder)).toMatchObject({ isWritable: !isRoot, points: 201 });
      await session.endRun('completed');
    } finally {
      await store.close();
    }
  });
});
