import { spawnSync } from 'node:child_process';
import {
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import Database from 'libsql';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openFileStorage, parseFileUri } from '../../../src/store/sql/node/file-storage.ts';
import { sha256Hex } from '../../../src/store/blob-rules.ts';
import type { Store } from '../../../src/store/store.ts';
import { bytesOf, mergeOf, RUN_ID, runOf, segmentOf } from '../../support/segments.ts';

let directory: string;
const opened: Store[] = [];

const dbPath = (): string => join(directory, '.quark', 'quark.db');

async function open(
  uri = directory,
  options: Parameters<typeof openFileStorage>[1] = {},
): Promise<Store> {
  const store = await openFileStorage(uri, options);
  opened.push(store);
  return store;
}

/** The error of a promise that must reject. */
async function failureOf(work: Promise<unknown>): Promise<{ reason: string; message: string }> {
  const error: unknown = await work.then(
    () => {
      throw new Error('It should have failed.');
    },
    (reason: unknown) => reason,
  );
  return error as { reason: string; message: string };
}

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'quark file '));
});
afterEach(async () => {
  for (const store of opened.splice(0)) await store.close();
  await rm(directory, { recursive: true, force: true });
});

describe('the URI', () => {
  const here = process.cwd();
  test.skipIf(process.platform === 'win32').each([
    ['', here],
    ['.', here],
    ['runs', join(here, 'runs')],
    ['a%20b', join(here, 'a%20b')],
    ['/data/a?b#c', '/data/a?b#c'],
    ['file:', here],
    ['file:runs', join(here, 'runs')],
    ['file:./a%20b', join(here, 'a b')],
    ['file:/data/x', '/data/x'],
    ['file:///data/x%3Fy', '/data/x?y'],
    ['file:///data/x#1', '/data/x#1'],
    ['FILE:/data', '/data'],
    ['file://localhost/data', '/data'],
    ['file:../up', join(here, '../up')],
    ['file:/data?synchronous=full', '/data'],
  ])('%s is %s', (uri, wanted) => {
    expect(parseFileUri(uri).directory).toBe(wanted);
  });

  test.runIf(process.platform === 'win32').each([
    ['C:\\data\\x', 'C:\\data\\x'],
    ['file:///C:/data%20x', 'C:\\data x'],
    ['file:/C:/data', 'C:\\data'],
    ['file:C:\\data', 'C:\\data'],
    ['file://server/share/x', '\\\\server\\share\\x'],
  ])('%s is %s', (uri, wanted) => {
    expect(parseFileUri(uri).directory).toBe(wanted);
  });

  test('the option says how far a write goes', () => {
    expect(parseFileUri('file:x').synchronous).toBe('normal');
    expect(parseFileUri('file:x?synchronous=full').synchronous).toBe('full');
  });

  test.each(['file:100%', 'file:%zz', 'file:x?sync=1', 'file:x?synchronous=maybe', 'a\u0000b'])(
    '%s is refused',
    (uri) => {
      expect(() => parseFileUri(uri)).toThrow(expect.objectContaining({ code: 'invalid_input' }));
    },
  );

  test.skipIf(process.platform === 'win32')('another host is refused', () => {
    expect(() => parseFileUri('file://elsewhere/data')).toThrow('storage must be');
  });
});

describe('the place', () => {
  test('is where the specification says, and its URI leads back there', async () => {
    const store = await open();
    expect(store.location).toEqual({
      storageDir: directory,
      storeRoot: join(directory, '.quark'),
      dbPath: dbPath(),
    });
    expect(store.uri).toBe(pathToFileURL(directory).href);
    await store.createRun(runOf());
    expect(statSync(join(directory, '.quark', 'runs', RUN_ID)).isDirectory()).toBe(true);
    const again = await open(store.uri);
    expect(await again.findRun(RUN_ID)).toMatchObject({ id: RUN_ID });
  });

  test('a store that waits for the disk says so in its URI', async () => {
    const store = await open(`file:${encodeURI(directory)}?synchronous=full`);
    expect(store.uri).toBe(`${pathToFileURL(directory).href}?synchronous=full`);
    await store.createRun(runOf());
    expect(await store.appendSegments([segmentOf(0)])).toHaveLength(1);
  });

  test('is not made when it must be there', async () => {
    const failure = await failureOf(open(directory, { create: false }));
    expect(failure).toMatchObject({ reason: 'missing' });
    expect(failure.message).toContain(dbPath());
    expect(readdirSync(directory)).toEqual([]);
    await (await open()).close();
    await open(directory, { create: false });
  });

  test('large blobs are files named by their hash, small ones are not', async () => {
    const store = await open();
    const large = bytesOf(256 * 1024 + 1);
    const hash = (await sha256Hex(large)) ?? '';
    await store.putBlob(hash, large);
    const small = bytesOf(256 * 1024);
    await store.putBlob((await sha256Hex(small)) ?? '', small);
    const blobs = join(directory, '.quark', 'blobs');
    expect(readFileSync(join(blobs, hash.slice(0, 2), hash)).equals(large)).toBe(true);
    const files = readdirSync(blobs, { recursive: true, withFileTypes: true });
    expect(files.filter((file) => file.isFile())).toHaveLength(1);
  });

  test('a blob file that was damaged or lost is reported, and repaired by putting it again', async () => {
    const store = await open();
    const bytes = bytesOf(300_000);
    const hash = (await sha256Hex(bytes)) ?? '';
    await store.putBlob(hash, bytes);
    const path = join(directory, '.quark', 'blobs', hash.slice(0, 2), hash);
    truncateSync(path, 1000);
    await expect(store.getBlob(hash)).rejects.toMatchObject({ reason: 'corrupt' });
    await rm(path);
    await expect(store.getBlob(hash)).rejects.toMatchObject({ reason: 'corrupt' });
    await store.putBlob(hash, bytes);
    expect(await sha256Hex((await store.getBlob(hash)) ?? bytesOf(1))).toBe(hash);
  });

  test('a blob file with other bytes of the same length is repaired by putting it again', async () => {
    const store = await open();
    const large = bytesOf(300_000, 9);
    const hash = (await sha256Hex(large)) ?? '';
    await store.putBlob(hash, large);
    const path = join(directory, '.quark', 'blobs', hash.slice(0, 2), hash);
    writeFileSync(path, Buffer.alloc(large.byteLength));
    expect(await failureOf(store.getBlob(hash))).toMatchObject({ reason: 'corrupt' });
    await store.putBlob(hash, large);
    expect(await store.getBlob(hash)).toEqual(large);
  });

  test('what an interrupted blob has left is cleared away later', async () => {
    const store = await open();
    const incoming = join(directory, '.quark', 'blobs', 'incoming');
    await mkdir(incoming, { recursive: true });
    writeFileSync(join(incoming, 'old'), 'x');
    writeFileSync(join(incoming, 'new'), 'x');
    utimesSync(join(incoming, 'old'), new Date(0), new Date(0));
    await store.reclaimSpace();
    expect(readdirSync(incoming)).toEqual(['new']);
  });

  test.skipIf(process.platform === 'win32')(
    'nothing is written, read or removed through a link below blobs',
    async () => {
      const store = await open();
      const bytes = bytesOf(300_000);
      const hash = (await sha256Hex(bytes)) ?? '';
      const blobs = join(directory, '.quark', 'blobs');
      const outside = join(directory, 'outside');
      await mkdir(blobs, { recursive: true });
      await mkdir(outside);
      writeFileSync(join(outside, 'old'), 'x');
      utimesSync(join(outside, 'old'), new Date(0), new Date(0));
      const refusal = { code: 'store_failed', reason: 'unwritable' };

      for (const name of [hash.slice(0, 2), 'incoming']) {
        await rm(join(blobs, name), { recursive: true, force: true });
        symlinkSync(outside, join(blobs, name));
        const failure = await failureOf(store.putBlob(hash, bytes));
        expect(failure).toMatchObject(refusal);
        expect(failure.message).toContain(join(blobs, name));
        await store.reclaimSpace();
        expect(readdirSync(outside)).toEqual(['old']);
        await rm(join(blobs, name));
      }

      await store.putBlob(hash, bytes);
      const path = join(blobs, hash.slice(0, 2), hash);
      const moved = join(outside, hash);
      renameSync(path, moved);
      symlinkSync(moved, path);
      expect(await failureOf(store.getBlob(hash))).toMatchObject(refusal);
      // A link to the whole folder is one that its owner made.
      await rm(path);
      renameSync(moved, path);
      renameSync(blobs, join(directory, 'larger-disk'));
      symlinkSync(join(directory, 'larger-disk'), blobs);
      expect((await store.getBlob(hash))?.byteLength).toBe(bytes.byteLength);
      const other = bytesOf(300_001);
      await store.putBlob((await sha256Hex(other)) ?? '', other);
    },
  );

  test('the file shrinks after a merge', async () => {
    const store = await open();
    await store.createRun(runOf());
    const placed = await store.appendSegments(
      Array.from({ length: 40 }, (_, i) => segmentOf(i, {}, 50_000)),
    );
    await store.reclaimSpace();
    const before = statSync(dbPath()).size;
    expect(before).toBeGreaterThan(2_000_000);
    await store.replaceSegments(RUN_ID, 'metrics', placed, [mergeOf(placed)]);
    await store.reclaimSpace();
    expect(statSync(dbPath()).size).toBeLessThan(before / 5);
    expect(statSync(`${dbPath()}-wal`).size).toBe(0);
  });
});

describe('trouble', () => {
  test('a directory that cannot be made', async () => {
    writeFileSync(join(directory, 'file'), 'x');
    const failure = await failureOf(open(join(directory, 'file', 'below')));
    expect(failure).toMatchObject({ code: 'store_failed', reason: 'unwritable' });
    expect(failure.message).toContain(join(directory, 'file', 'below'));
  });

  test.skipIf(process.platform !== 'linux')('a file system that takes no files', async () => {
    expect(await failureOf(open('/proc/quark'))).toMatchObject({ reason: 'unwritable' });
  });

  test('a database that is a directory', async () => {
    await mkdir(dbPath(), { recursive: true });
    expect(await failureOf(open())).toMatchObject({ reason: 'unwritable' });
  });

  test.each([
    ['garbage', Buffer.alloc(8192, 'no database ')],
    ['a few bytes', Buffer.from('x')],
    ['an old text file', Buffer.from('SQLite format 2\u0000'.padEnd(5000, ' '))],
  ])('%s in place of the database: refused and left as it is', async (_, content) => {
    await mkdir(join(directory, '.quark'));
    writeFileSync(dbPath(), content);
    const failure = await failureOf(open());
    expect(failure).toMatchObject({
      code: 'store_failed',
      reason: 'corrupt',
      details: { path: dbPath() },
    });
    expect(failure.message).toContain('Nothing was changed');
    expect(readFileSync(dbPath()).equals(content)).toBe(true);
  });

  test('an empty file is a database that has yet to begin', async () => {
    await mkdir(join(directory, '.quark'));
    writeFileSync(dbPath(), '');
    expect(await (await open()).createRun(runOf())).toMatchObject({ revision: 1 });
  });

  test('the database of another program: refused and left as it is', async () => {
    await mkdir(join(directory, '.quark'));
    const other = new Database(dbPath());
    other.exec('CREATE TABLE notes (text TEXT)');
    other.close();
    const before = readFileSync(dbPath());
    const failure = await failureOf(open());
    expect(failure).toMatchObject({ reason: 'corrupt' });
    expect(failure.message).toContain('another program');
    expect(readFileSync(dbPath()).equals(before)).toBe(true);
  });

  test.each([0.9, 0.5, 0.05])(
    'a database cut to %d of its length: refused and left as it is',
    async (share) => {
      const store = await open();
      await store.createRun(runOf());
      await store.appendSegments(Array.from({ length: 20 }, (_, i) => segmentOf(i, {}, 20_000)));
      await store.reclaimSpace();
      await store.close();
      const cut = await copyOf(readFileSync(dbPath()).subarray(0, statSync(dbPath()).size * share));
      const before = readFileSync(cut.dbPath);
      const failure = await failureOf(open(cut.directory));
      expect(failure).toMatchObject({ reason: 'corrupt' });
      expect(failure.message).toContain(cut.dbPath);
      expect(readFileSync(cut.dbPath).equals(before)).toBe(true);
    },
  );

  test('bytes overwritten inside the database: errors with a reason, never a crash', async () => {
    const store = await open();
    await store.createRun(runOf());
    await store.appendSegments(Array.from({ length: 20 }, (_, i) => segmentOf(i, {}, 20_000)));
    await store.reclaimSpace();
    await store.close();
    const whole = readFileSync(dbPath());
    const outcomes = new Set<string>();
    for (let page = 0; page < whole.length / 4096; page += 3) {
      const broken = Buffer.from(whole);
      broken.fill(0xff, page * 4096 + 16, page * 4096 + 1000);
      const copy = await copyOf(broken);
      outcomes.add(await readEverything(copy.directory));
      // Nobody took the damage for an empty store and wrote over it.
      expect(readFileSync(copy.dbPath).equals(broken)).toBe(true);
    }
    expect(
      [...outcomes].filter((outcome) => !['ok', 'corrupt', 'damaged'].includes(outcome)),
    ).toEqual([]);
    expect(outcomes).toContain('corrupt');
  });

  test('a database from a newer version is refused and left as it is', async () => {
    await (await open()).close();
    const database = new Database(dbPath());
    database.exec('UPDATE quark_layout SET version = 99');
    database.close();
    const failure = await failureOf(open());
    expect(failure).toMatchObject({ reason: 'version', details: { found: 99 } });
  });

  test('another process that holds the lock for long', async () => {
    const store = await open();
    await store.createRun(runOf());
    const other = new Database(dbPath());
    other.exec('BEGIN IMMEDIATE');
    const ticking = new Promise<void>((resolve) => {
      let ticks = 0;
      const timer = setInterval(() => {
        if (++ticks < 20) return;
        clearInterval(timer);
        resolve();
      }, 1);
    });
    const call = store.appendSegments([segmentOf(0)]);
    const reading = store.listSegments({ runId: RUN_ID, table: 'metrics' });
    // Readers go on, and so does everything else in this process, while the writer waits.
    expect(await reading).toEqual([]);
    await ticking;
    other.exec('COMMIT');
    other.close();
    expect(await call).toMatchObject([{ firstSequence: 0 }]);
  });

  test('eight openings at once of a place that is not there yet', async () => {
    const stores = await Promise.all(Array.from({ length: 8 }, () => open()));
    await stores[0]?.createRun(runOf());
    for (const store of stores) expect(await store.findRun(RUN_ID)).toBeDefined();
  });

  test('a store opened twice here, while another process comes and goes', async () => {
    const store = await open();
    await store.createRun(runOf());
    await open();
    const log = statSync(`${dbPath()}-wal`);
    // The last process to close a database deletes its log. Whether it is the last it finds out by a lock on the file,
    // and a process loses all its locks on a file by closing the file once more.
    const script = `
      const database = new (require('libsql'))(process.argv[1]);
      database.exec('SELECT count(*) FROM quark_layout');
      database.close();`;
    const child = spawnSync(process.execPath, ['-e', script, dbPath()], { encoding: 'utf8' });
    expect(child.stderr).toBe('');
    expect(statSync(`${dbPath()}-wal`, { throwIfNoEntry: false })?.ino).toBe(log.ino);
    expect(await store.appendSegments([segmentOf(0)])).toHaveLength(1);
  });

  test('an aborted opening leaves nothing behind', async () => {
    await expect(open(directory, { signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: 'aborted',
    });
    expect(existsSync(join(directory, '.quark'))).toBe(false);
  });
});

describe('a full disk', () => {
  const mounted = (path: string): boolean =>
    process.platform === 'linux' &&
    spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=3m', 'tmpfs', path], { stdio: 'ignore' })
      .status === 0;

  test('refuses what does not fit, keeps what did, and goes on once there is room', async (context) => {
    const small = join(directory, 'small');
    await mkdir(small);
    if (!mounted(small)) context.skip('a small file system could not be mounted here');
    try {
      const store = await open(small);
      await store.createRun(runOf());
      const ballast = join(small, 'ballast');
      writeFileSync(ballast, Buffer.alloc(500_000));
      let kept = 0;
      const fill = async (): Promise<unknown> => {
        for (;;) {
          await store.appendSegments([segmentOf(kept, {}, 100_000)]);
          kept++;
        }
      };
      const failure = await failureOf(fill());
      expect(failure).toMatchObject({ reason: 'full' });
      expect(failure.message).toContain(small);
      const blob = bytesOf(400_000);
      const hash = (await sha256Hex(blob)) ?? '';
      expect(await failureOf(store.putBlob(hash, blob))).toMatchObject({ reason: 'full' });
      expect(readdirSync(join(small, '.quark', 'blobs', 'incoming'))).toEqual([]);
      const list = await store.listSegments({ runId: RUN_ID, table: 'metrics' });
      expect(list).toHaveLength(kept);
      expect((await store.readSegments(list)).every((read) => read.kind === 'bytes')).toBe(true);
      await rm(ballast);
      expect(await store.appendSegments([segmentOf(kept, {}, 100_000)])).toMatchObject([
        { firstSequence: kept * 10 },
      ]);
      await store.close();
    } finally {
      spawnSync('umount', ['-l', small]);
    }
  });
});

/** A store whose database has this content: a file that no connection of this process knows. */
async function copyOf(content: Buffer): Promise<{ directory: string; dbPath: string }> {
  const copy = await mkdtemp(join(directory, 'copy-'));
  await mkdir(join(copy, '.quark'));
  const path = join(copy, '.quark', 'quark.db');
  writeFileSync(path, content);
  return { directory: copy, dbPath: path };
}

/** What opening and reading a whole store comes to. */
async function readEverything(path: string): Promise<string> {
  try {
    const store = await open(path);
    const runs = await store.listRuns();
    await store.listLeases();
    for (const run of runs) {
      const list = await store.listSegments({ runId: run.id, table: 'metrics' });
      const reads = await store.readSegments(list);
      if (reads.some((read) => read.kind === 'damaged')) return 'damaged';
    }
    return 'ok';
  } catch (error) {
    return (error as { reason?: string }).reason ?? String(error);
  }
}
