/** A service that is upgraded while clients hold segments of earlier days; versions that do not understand each other. */
import { copyFile, cp, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Libsql from 'libsql';
import { afterAll, beforeAll, beforeEach, afterEach, expect, test } from 'vitest';
import { openFileStorage } from '../../src/store/sql/node/file-storage.ts';
import { openRun } from '../../src/read/run-reader.ts';
import { openHttpStorage } from '../../src/wire/http-store.ts';
import { PROTOCOL_HEADER, PROTOCOL_VERSION } from '../../src/wire/protocol.ts';
import type { NewSegment, Store } from '../../src/store/store.ts';
import { contentOf } from '../../bench/siege/part-upgrade.ts';
import { buildProgram, startService, type Child, type Program } from './processes.ts';
import { compareRows, prepareRun, segmentOf } from './rows.ts';

const fixtures = join(import.meta.dirname, '../fixtures');
let program: Program;
let directory: string;
let service: Child;
let uri: string;

beforeAll(async () => {
  program = await buildProgram('fault-program.ts');
}, 120_000);

afterAll(() => program.remove());

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'quark-faults-'));
  // What the service of earlier days has left: layout 1 of the database.
  await cp(join(fixtures, 'layout-1', 'store'), join(directory, 'service', '.quark'), {
    recursive: true,
  });
  service = startService(program, { storage: join(directory, 'service') });
  uri = `http://127.0.0.1:${await service.line('listening')}/`;
});

afterEach(async () => {
  await service.stop();
  await rm(directory, { recursive: true, force: true });
});

test('the new service serves the old database, and takes what old clients still hold', async () => {
  await mkdir(join(directory, 'client', '.quark'), { recursive: true });
  await copyFile(
    join(fixtures, 'store-v0', 'quark.db'),
    join(directory, 'client', '.quark', 'quark.db'),
  );
  const local = await openFileStorage(join(directory, 'client'));
  const remote = await openHttpStorage(uri);
  const expected = JSON.parse(
    await readFile(join(fixtures, 'layout-1', 'expected.json'), 'utf8'),
  ) as { readonly runs: unknown; readonly segments: Readonly<Record<string, readonly unknown[]>> };
  expect(await remote.listRuns()).toEqual(expected.runs);

  const held = await unsent(local, 'run_v0');
  expect(held.length).toBeGreaterThan(0);
  expect(held.every(({ manifest }) => manifest.schemaVersion === 0)).toBe(true);
  const run = await local.findRun('run_v0');
  if (run === undefined) throw new Error('The fixture has no run.');
  await remote.createRun(run);
  const [first] = held;
  if (first !== undefined) await remote.appendSegments([first]);
  // The service goes away in the middle, and the client does not know what has arrived.
  await service.kill();
  service = startService(program, {
    storage: join(directory, 'service'),
    port: Number(new URL(uri).port),
  });
  await service.line('listening');
  await remote.appendSegments(held);
  await remote.appendSegments(held);

  const rowsOf = async (store: Store): Promise<unknown[]> =>
    (await (await openRun(store, 'run_v0')).readMetrics()).map((record) => record.toDict());
  const rows = await rowsOf(remote);
  expect(rows).toHaveLength(10);
  expect(rows).toEqual(await rowsOf(local));
  expect((await remote.listRuns()).filter(({ id }) => id !== 'run_v0')).toEqual(expected.runs);
  for (const [name, segments] of Object.entries(expected.segments)) {
    const [runId = '', table = ''] = name.split('/');
    expect(await remote.listSegments({ runId, table }), name).toEqual(
      segments.map((segment) => (segment as { manifest: unknown }).manifest),
    );
  }
  await remote.close();
  await local.close();
});

test('what speaks another version of the protocol is refused politely, on either side', async () => {
  const newer = await openHttpStorage(uri, {
    fetch: (request) => fetch(sentAs(request, '99')),
  }).catch((error: unknown) => error);
  expect(newer).toMatchObject({
    reason: 'version',
    message: expect.stringContaining('Update quark-sdk on the server') as string,
    details: { status: 400 },
  });
  const older = await openHttpStorage(uri, {
    fetch: (request) => fetch(sentAs(request, '0')),
  }).catch((error: unknown) => error);
  expect(older).toMatchObject({
    reason: 'version',
    message: expect.stringContaining('Update quark-sdk on the client') as string,
  });
  // A client that speaks more versions than the service gets on with it.
  const both = await openHttpStorage(uri, {
    fetch: (request) => fetch(sentAs(request, `99, ${PROTOCOL_VERSION}`)),
  });
  expect((await both.listRuns()).length).toBeGreaterThan(0);
  await both.close();
  // A service of another version.
  const strange = await openHttpStorage(uri, {
    fetch: async (request) => {
      const response = await fetch(request);
      return new Response(response.body, { headers: { [PROTOCOL_HEADER]: '99' } });
    },
  }).catch((error: unknown) => error);
  expect(strange).toMatchObject({
    reason: 'version',
    message: expect.stringContaining('version 99') as string,
  });
});

test('a newer build brings the database up to date beside a service: it says so, goes on, and does not start again', async () => {
  const storage = join(directory, 'service');
  const remote = await openHttpStorage(uri);
  await prepareRun(remote);
  await remote.appendSegments([segmentOf('beside', 0, 40)]);
  const path = join(storage, '.quark', 'quark.db');
  const newer = new Libsql(path);
  newer.prepare('INSERT INTO quark_layout (version) VALUES (?)').run([999]);
  newer.close();

  const ready = await fetch(new URL('/readyz', uri));
  expect(ready.status).toBe(503);
  expect(await ready.json()).toMatchObject({ status: 'other_layout', layout: 999 });
  await remote.appendSegments([segmentOf('beside', 1, 40)]);
  const progress = new Map([['beside', { acknowledged: 80, tried: 80 }]]);
  expect(await compareRows(remote, progress)).toEqual([]);
  await remote.close();
  expect(await service.stop()).toBe('0');

  const before = await contentOf(storage, directory);
  const refused = startService(program, { storage });
  await expect(refused.line('listening')).rejects.toThrow(/newer Quark.*Nothing was changed/);
  await expect(openFileStorage(storage)).rejects.toMatchObject({ reason: 'version' });
  expect(await contentOf(storage, directory)).toBe(before);
  // The hook after each test ends one that runs.
  service = startService(program, { storage: join(directory, 'another') });
  await service.line('listening');
});

function sentAs(request: Request, versions: string): Request {
  const changed = new Request(request);
  changed.headers.set(PROTOCOL_HEADER, versions);
  return changed;
}

async function unsent(store: Store, runId: string): Promise<NewSegment[]> {
  const manifests = await store.listSegments({ runId, table: 'metrics' });
  const reads = await store.readSegments(manifests);
  return manifests.map((manifest, i) => {
    const read = reads[i];
    if (read?.kind !== 'bytes') throw new Error(`${manifest.batchNumber} reads as ${read?.kind}`);
    return { manifest, bytes: read.bytes };
  });
}
