/** Part 10: SQLite, PostgreSQL and the bucket under a full disk, a full quota and a slow disk. */
import { spawnSync } from 'node:child_process';
import { timingSafeEqual } from 'node:crypto';
import { mkdir, rm, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { AccessBook } from '../../src/service/access/access-book.ts';
import { openSpaces } from '../../src/store/sql/node/open-spaces.ts';
import { makeBucket } from './disks/bucket.ts';
import { slowProxy } from './disks/slow-proxy.ts';
import { tryDisk, type DiskOutcome, type DiskTrial } from './disks/trial.ts';
import { criterion, progress, type Report, type Siege } from './report.ts';
import { ServiceUnderSiege, type StartOptions } from './service.ts';

const DISK_MB = 24;
const SPARE_BYTES = 200_000;
const SLOW_MS = 40;
const USER = 'worker';

type Outcome = DiskOutcome | string;
type Trial = Omit<DiskTrial, 'port'>;

/** One storage of the campaign, with what its disk is. */
type Bench = {
  readonly siege: Siege;
  readonly requests: number;
};

/** Serves a storage and runs a trial on it. */
async function serveAndTry(
  { siege }: Bench,
  storage: string,
  trial: Trial,
  options: StartOptions = {},
): Promise<DiskOutcome> {
  const service = await ServiceUnderSiege.start(siege.dist, storage, 0, options);
  try {
    const outcome = await tryDisk({ ...trial, port: service.port });
    return service.isRunning ? outcome : { ...outcome, wrong: [...outcome.wrong, 'it has ended'] };
  } finally {
    await service.stop();
  }
}

/** A file system of a few MiB; undefined where none can be mounted. */
async function smallDisk(path: string): Promise<(() => void) | undefined> {
  await mkdir(path, { recursive: true });
  const args = ['-t', 'tmpfs', '-o', `size=${DISK_MB}m,mode=0777`, 'tmpfs', path];
  if (process.platform !== 'linux' || spawnSync('mount', args).status !== 0) return undefined;
  return () => spawnSync('umount', ['-l', path]);
}

/** Fills a file system but for a little, and gives the room back. */
function ballastOf(path: string): Required<Pick<DiskTrial, 'fill' | 'free'>> {
  const ballast = join(path, 'ballast');
  return {
    fill: async () => {
      const { bavail, bsize } = await statfs(path);
      const size = Math.max(bsize, bavail * bsize - SPARE_BYTES);
      await writeFile(ballast, Buffer.alloc(size)).catch(() => 'the service was quicker');
    },
    free: () => rm(ballast, { force: true }),
  };
}

async function fullSqlite(bench: Bench): Promise<Outcome> {
  const path = join(bench.siege.folder, 'small');
  const unmount = await smallDisk(path);
  if (unmount === undefined) return 'left out: no small file system can be mounted here';
  const { requests } = bench;
  try {
    return await serveAndTry(bench, path, {
      writes: 'rows',
      refusals: ['full'],
      requests,
      ...ballastOf(path),
    });
  } finally {
    unmount();
  }
}

/** Quotas: what there is already is all that there may be. */
async function fullQuota(
  bench: Bench,
  storage: string,
  writes: Trial['writes'],
  options: StartOptions = {},
): Promise<Outcome> {
  const spaces = await openSpaces(storage);
  const access = new AccessBook({ database: spaces.database, clock: Date, timingSafeEqual });
  const { requests } = bench;
  try {
    const { key: userKey } = await access.createKey({ user: USER });
    const set = async (bytes: number | null): Promise<void> => {
      await access.quotas.set({ user: USER, bytes });
    };
    return await serveAndTry(
      bench,
      storage,
      {
        writes,
        refusals: ['quota'],
        requests,
        userKey,
        fill: () => set(1),
        free: () => set(null),
      },
      options,
    );
  } finally {
    await spaces.close();
  }
}

async function slowSqlite(bench: Bench): Promise<Outcome> {
  if (spawnSync('strace', ['-V']).status !== 0) return 'left out: strace is not installed';
  const path = join(bench.siege.folder, 'slow');
  await mkdir(path);
  const delay = `inject=fsync,fdatasync:delay_enter=${SLOW_MS * 1_000}`;
  const before = [
    'strace',
    // It is beside the service, which gets the signals.
    '-D',
    '-f',
    '-qq',
    '-e',
    'trace=fsync,fdatasync',
    '-e',
    delay,
    '-o',
    '/dev/null',
  ];
  const { requests } = bench;
  const trial: Trial = { writes: 'rows', refusals: [], requests };
  return serveAndTry(bench, `file:${path}?synchronous=full`, trial, { before });
}

/** PostgreSQL whose tables are in a small file system: its log has room, as an operator would have it. */
async function fullPostgres(bench: Bench, uri: string): Promise<Outcome> {
  const path = join('/tmp', `quark-siege-${process.pid}`);
  const unmount = await smallDisk(path);
  if (unmount === undefined) return 'left out: no small file system can be mounted here';
  const admin = new pg.Client({ connectionString: uri });
  await admin.connect();
  const { requests } = bench;
  try {
    const folder = join(path, 'tables');
    await mkdir(folder, { mode: 0o777 });
    // The server is a user of its own where the campaign is root.
    if (process.getuid?.() === 0) spawnSync('chown', ['postgres', folder]);
    await admin.query(`CREATE TABLESPACE small LOCATION '${folder}'`);
    await admin.query('CREATE DATABASE small TABLESPACE small');
    const url = new URL(uri);
    url.pathname = '/small';
    return await serveAndTry(bench, url.href, {
      writes: 'rows',
      refusals: ['full'],
      requests,
      ...ballastOf(path),
    });
  } finally {
    await admin.query('DROP DATABASE IF EXISTS small WITH (FORCE)').catch(() => undefined);
    await admin.query('DROP TABLESPACE IF EXISTS small').catch(() => undefined);
    await admin.end();
    unmount();
    await rm(path, { recursive: true, force: true });
  }
}

async function slowPostgres(bench: Bench, uri: string): Promise<Outcome> {
  const url = new URL(uri);
  const proxy = await slowProxy({ host: url.hostname, port: Number(url.port) }, SLOW_MS);
  try {
    url.host = `127.0.0.1:${proxy.port}`;
    const { requests } = bench;
    return await serveAndTry(bench, url.href, { writes: 'rows', refusals: [], requests });
  } finally {
    await proxy.close();
  }
}

/** What the bucket does is its own; the database beside it is on a good disk. */
async function besideBucket(bench: Bench, kind: 'full' | 'quota' | 'slow'): Promise<Outcome> {
  const path = join(bench.siege.folder, `bucket-${kind}`);
  await mkdir(path);
  const bucket = await makeBucket();
  const { requests } = bench;
  const options = { environment: bucket.environment };
  try {
    if (kind === 'quota') return await fullQuota(bench, path, 'blobs', options);
    if (kind === 'slow') bucket.delayMs = 5 * SLOW_MS;
    const setFull = (isFull: boolean) => (): Promise<void> => {
      bucket.isFull = isFull;
      return Promise.resolve();
    };
    return await serveAndTry(
      bench,
      path,
      {
        writes: 'blobs',
        refusals: kind === 'full' ? ['full'] : [],
        requests,
        ...(kind === 'full' ? { fill: setFull(true), free: setFull(false) } : {}),
      },
      options,
    );
  } finally {
    await bucket.close();
  }
}

export async function siegeOfDisks(siege: Siege): Promise<Report> {
  const bench: Bench = { siege, requests: siege.isLong ? 60 : 8 };
  const found: [string, string, Outcome][] = [];
  const add = async (store: string, disk: string, work: () => Promise<Outcome>): Promise<void> => {
    progress(`disks: ${store}, ${disk}`);
    found.push([store, disk, await work()]);
  };
  const quota = join(siege.folder, 'quota');
  await mkdir(quota);
  await add('SQLite', 'full disk', () => fullSqlite(bench));
  await add('SQLite', 'full quota', () => fullQuota(bench, quota, 'rows'));
  await add('SQLite', `slow disk (${SLOW_MS} ms a sync)`, () => slowSqlite(bench));
  const server = await siege.servers?.postgres();
  if (server === undefined) found.push(['PostgreSQL', 'all', 'left out: no PostgreSQL']);
  else
    try {
      await add('PostgreSQL', 'full disk', () => fullPostgres(bench, server.uri));
      await add('PostgreSQL', `slow (${SLOW_MS} ms each way)`, () =>
        slowPostgres(bench, server.uri),
      );
      // Last: a service with a key asks everybody for one.
      await add('PostgreSQL', 'full quota', () => fullQuota(bench, server.uri, 'rows'));
    } finally {
      await server.stop();
    }
  await add('bucket', 'full disk (507)', () => besideBucket(bench, 'full'));
  await add('bucket', 'full quota', () => besideBucket(bench, 'quota'));
  await add('bucket', `slow (${5 * SLOW_MS} ms an answer)`, () => besideBucket(bench, 'slow'));
  const rows = found.map(([store, disk, one]) =>
    typeof one === 'string'
      ? [store, disk, one, '']
      : [
          store,
          disk,
          one.refused,
          one.wrong.length === 0 ? one.acknowledged : one.wrong.join('; '),
        ],
  );
  const tried = found.flatMap(([store, disk, one]) =>
    typeof one === 'string' ? [] : [{ what: `${store}, ${disk}`, ...one }],
  );
  const wrong = tried.filter((one) => one.wrong.length > 0);
  return {
    tables: [
      {
        title: 'Disks that are full or slow',
        head: ['store', 'disk', 'refused with', 'acknowledged, and there'],
        rows,
      },
    ],
    criteria: [
      criterion(
        'disks: refusals say why, what is acknowledged can be read meanwhile and afterwards, and it goes on with room',
        wrong.length === 0 && tried.length > 0,
        wrong.length === 0
          ? `${tried.length} of ${found.length} tried`
          : wrong.map((one) => `${one.what}: ${one.wrong.slice(0, 2).join('; ')}`).join(' | '),
      ),
    ],
    figures: [`${tried.length} of ${found.length} disks tried`],
  };
}
