/**
 * The backup of PostgreSQL with a bucket as docs/operations.md says: the files of the database first, between the two calls that begin
 * and end a backup, then the bucket; and back, on another server with another bucket.
 */
import { AwsClient } from 'aws4fetch';
import { spawn, type ChildProcess } from 'node:child_process';
import {
  chownSync,
  cpSync,
  lchownSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { examineStore } from '../../src/doctor/node/diagnose.ts';
import { MetricsLogger, openRun, TrainingSession } from '../../src/index.ts';
import { ArtifactStore } from '../../src/probes.ts';
import { S3Objects } from '../../src/store/objects/s3-objects.ts';
import { checkS3Options } from '../../src/store/objects/s3-config.ts';
import { openPostgresSpaces } from '../../src/store/sql/node/postgres-storage.ts';
import { ensureIdentity } from '../../src/store/sql/store-identity.ts';
import type { Store } from '../../src/store/store.ts';
import { DoomedServer } from '../support/postgres.ts';
import { postgresPackage } from '../support/postgres-place.mjs';
import { openS3Place, type S3Place } from '../support/s3-place.ts';

const segmentFiles = { minBytes: 1 };

let server: DoomedServer;
let bucket: S3Place;
let copied: S3Place;
let copyFolder = '';
let restored: ChildProcess | undefined;

beforeAll(async () => {
  [server, bucket, copied] = await Promise.all([
    DoomedServer.start(),
    openS3Place(),
    openS3Place(),
  ]);
}, 120_000);
afterAll(async () => {
  if (restored !== undefined && restored.exitCode === null && restored.signalCode === null) {
    const ended = new Promise((resolve) => restored?.once('exit', resolve));
    restored.kill('SIGQUIT');
    await ended;
  }
  await Promise.all([server.remove(), bucket.close(), copied.close()]);
  if (copyFolder !== '') rmSync(copyFolder, { recursive: true, force: true });
});

async function train(store: Store, rows: number): Promise<string> {
  const session = await TrainingSession.startRun({
    project: 'digits',
    storage: store,
    handleSignals: false,
  });
  const metrics = new MetricsLogger(session);
  const artifacts = new ArtifactStore(session);
  for (let step = 0; step < rows; step++) {
    metrics.log('train/loss', 1 / (1 + step), { step });
    if (step % 100 === 0) await metrics.flush();
  }
  await artifacts.store('checkpoint', 'weights', new Uint8Array(400_000).fill(rows % 251));
  await session.endRun('completed');
  return session.runId;
}

async function copyBucket(): Promise<void> {
  const from = new S3Objects(checkS3Options(bucket.options), AwsClient);
  const to = new S3Objects(checkS3Options(copied.options), AwsClient);
  for (const start of ['blobs/', 'segments/'])
    for await (const { key } of from.list(start)) {
      const bytes = await from.get(key, 2 ** 30);
      if (bytes !== undefined) await to.put(key, bytes);
    }
}

/** The files of a server as they are while it goes on, and what its end of the backup says. */
async function copyServer(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ data_directory: string }>('SHOW data_directory');
  const data = rows[0]?.data_directory ?? '';
  copyFolder = join(dirname(data), 'copy');
  await client.query("SELECT pg_backup_start('quark', true)");
  cpSync(data, copyFolder, {
    recursive: true,
    verbatimSymlinks: true,
    filter: (path) => !/postmaster\.(pid|opts)$/.test(path),
  });
  const { rows: ended } = await client.query<{ labelfile: string }>(
    'SELECT labelfile FROM pg_backup_stop(false)',
  );
  // The log up to the end of the backup is part of it.
  cpSync(join(data, 'pg_wal'), join(copyFolder, 'pg_wal'), { recursive: true, force: true });
  writeFileSync(join(copyFolder, 'backup_label'), ended[0]?.labelfile ?? '');
  writeFileSync(join(copyFolder, 'recovery.signal'), '');
  const { gid, uid } = statSync(data);
  chownSync(copyFolder, uid, gid);
  for (const name of readdirSync(copyFolder, { recursive: true, encoding: 'utf8' }))
    lchownSync(join(copyFolder, name), uid, gid);
}

/** Starts a server on the copied files; its address, and what it has said where it does not start. */
async function startCopy(uri: string): Promise<string> {
  const port = await new Promise<number>((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() =>
        resolve(typeof address === 'object' && address !== null ? address.port : 0),
      );
    });
  });
  const { uid, gid } = statSync(copyFolder);
  const settings = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    // Recovery refuses less than the server had.
    max_connections: '200',
    restore_command: 'false',
    fsync: 'off',
  };
  restored = spawn(
    join(postgresPackage().native, 'native/bin/postgres'),
    [
      '-D',
      copyFolder,
      '-p',
      String(port),
      ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    ],
    { stdio: ['ignore', 'ignore', 'pipe'], ...(process.getuid?.() === 0 ? { uid, gid } : {}) },
  );
  let said = '';
  restored.stderr?.on('data', (data: Buffer) => {
    said += data.toString();
  });
  const address = new URL(uri);
  address.port = String(port);
  for (;;) {
    const client = new pg.Client({ connectionString: address.href });
    client.on('error', () => undefined);
    try {
      await client.connect();
      const { rows } = await client.query<{ waits: boolean }>(
        'SELECT pg_is_in_recovery() AS waits',
      );
      if (rows[0]?.waits === false) return address.href;
    } catch {
      if (restored.exitCode !== null) throw new Error(`The copy does not start: ${said}`);
    } finally {
      // Does not return for a connection that was never made.
      client.end().catch(() => undefined);
    }
    await new Promise((resolve) => {
      setTimeout(resolve, 50);
    });
  }
}

test('the database first, then the bucket: everything acknowledged before is there, and the doctor says what is missing', async () => {
  const spaces = await openPostgresSpaces(server.uri, { objects: bucket.options, segmentFiles });
  const store = spaces.store('');
  const before = await train(store, 500);
  const client = new pg.Client({ connectionString: server.uri });
  await client.connect();
  const timeline = 'SELECT timeline_id FROM pg_control_checkpoint()';
  const { rows: old } = await client.query<{ timeline_id: number }>(timeline);
  // Others go on while the files are copied, and merge what the copy names.
  const training = train(store, 300);
  await copyServer(client);
  await training;
  await client.end();
  await copyBucket();
  await spaces.close();

  const uri = await startCopy(server.uri);
  const again = await openPostgresSpaces(uri, { objects: copied.options, segmentFiles });
  const run = await openRun(again.store(''), before);
  expect(await run.readMetrics()).toHaveLength(500);
  expect(run.damage).toEqual([]);
  // Recovery ends on a timeline of its own, from which a service sees that it was restored.
  const second = new pg.Client({ connectionString: uri });
  await second.connect();
  const { rows: now } = await second.query<{ timeline_id: number }>(timeline);
  // What the page says for a copy without its log.
  const epochs = 'SELECT epoch FROM store_identity';
  await again.database.transaction(() => ensureIdentity(1));
  const { rows: first } = await second.query<{ epoch: string }>(epochs);
  const page = readFileSync(join(import.meta.dirname, '../../docs/operations.md'), 'utf8');
  const statements = page.match(/^ {4}(?:UPDATE store_identity|DELETE FROM service_marks).*;$/gm);
  expect(statements).toHaveLength(2);
  for (const statement of statements ?? []) await second.query(statement);
  const { rows: changed } = await second.query<{ epoch: string }>(epochs);
  expect(Number(changed[0]?.epoch)).toBeGreaterThan(Number(first[0]?.epoch));
  await second.end();
  expect(now[0]?.timeline_id).toBeGreaterThan(old[0]?.timeline_id ?? 0);

  const whole = await examineStore(uri, { objects: copied.options });
  expect(whole.findings.filter(({ severity }) => severity !== 'note')).toEqual([]);
  expect(whole.segments).toBeGreaterThan(0);

  // Bucket first: objects that were written in between are in the database only.
  const [, segment = ''] =
    /"(segments\/[^"]+)"/.exec(JSON.stringify(await again.database.read(listObjects))) ?? [];
  const objects = new S3Objects(checkS3Options(copied.options), AwsClient);
  await objects.delete(segment);
  for await (const { key } of objects.list('blobs/')) {
    await objects.delete(key);
    break;
  }
  const damaged = await examineStore(uri, { objects: copied.options });
  const codes = damaged.findings.map(({ code }) => code);
  expect(codes).toContain('segment_damaged');
  expect(codes).toContain('blob_damaged');
  expect(damaged.findings.find(({ code }) => code === 'segment_damaged')?.message).toContain(
    'missing from the bucket',
  );
  // Tags and counters are repaired in PostgreSQL, too.
  await again.database.transaction(function* () {
    yield { text: 'UPDATE streams SET next_sequence = 1', params: [], isSingle: false };
  });
  const repaired = await examineStore(uri, { objects: copied.options, repairs: true });
  expect(repaired.repaired.map(({ code }) => code)).toContain('sequence_low');
  expect(repaired.findings.map(({ code }) => code)).not.toContain('sequence_low');
  await again.close();
}, 240_000);

function* listObjects() {
  const rows: readonly unknown[] = yield {
    text: 'SELECT text(object_key) FROM segment_objects',
    params: [],
    isSingle: false,
  };
  return rows.map((row) =>
    Array.isArray(row)
      ? row.map((cell) =>
          cell instanceof Uint8Array ? new TextDecoder().decode(cell) : String(cell),
        )
      : [],
  );
}
