/** What guests of a project may read, and that it ends when a key or a share does: in every process over one database. */
import { createHash, randomBytes } from 'node:crypto';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { startRun } from '../../src/index.ts';
import { ArtifactStore } from '../../src/probes.ts';
import type { ServedService } from '../../src/service/node/serve-service.ts';
import { segmentChecksum } from '../../src/segment/checksum.ts';
import type { NewSegment, Store } from '../../src/store/store.ts';
import { makeSchema, type TestSchema } from '../support/postgres.ts';
import { metricSegmentOf } from '../support/real-segments.ts';
import { runOf } from '../support/segments.ts';
import { ask, bearer, RunningServices, storeOf } from './running-service.ts';

const services = new RunningServices();
let schema: TestSchema | undefined;
afterEach(async () => {
  await services.clear();
  await schema?.remove();
  schema = undefined;
});

const keyOf = async (service: ServedService, user: string): Promise<string> =>
  (await service.access.createKey({ user })).key;
const sha256Of = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

type Begun = { readonly finish: () => Promise<IncomingMessage> };

/** A request with the first half of its body; `finish` sends the other one. */
function beginRequest(
  port: number,
  { method, path }: { readonly method: string; readonly path: string },
  headers: Readonly<Record<string, string>>,
  body: Uint8Array | string,
): Begun {
  const bytes = Buffer.from(body);
  const request = httpRequest({ port, host: '127.0.0.1', method, path, headers });
  const answer = new Promise<IncomingMessage>((resolve, reject) => {
    request.on('response', (response) => resolve(response.resume())).on('error', reject);
  });
  // Heard where it is finished, which a test that failed before does not come to.
  answer.catch(() => undefined);
  const half = bytes.byteLength >> 1;
  request.write(bytes.subarray(0, half));
  return {
    finish: () => {
      request.end(bytes.subarray(half));
      return answer;
    },
  };
}

function beginUpload(
  port: number,
  headers: Readonly<Record<string, string>>,
): Begun & { readonly sha256: string } {
  const bytes = randomBytes(64);
  const sha256 = sha256Of(bytes);
  const path = `/api/v1/blobs/${sha256}`;
  return { sha256, ...beginRequest(port, { method: 'PUT', path }, headers, bytes) };
}

/** Waits until a service has so many requests under way. */
async function underWay(service: ServedService, count: number): Promise<void> {
  for (;;) {
    const { text } = await ask(service.port, '/metrics');
    // With the one that asks.
    if (text.includes(`quark_http_requests_in_flight ${count + 1}\n`)) return;
    await new Promise(setImmediate);
  }
}

/** An artifact in a run of this project; returns the run and the hash of its bytes. */
async function recordArtifact(
  store: Store,
  project: string,
  text: string,
): Promise<{ readonly runId: string; readonly sha256: string }> {
  const session = await startRun({ project, storage: store });
  const artifacts = new ArtifactStore(session);
  await artifacts.store('notes', 'thing', new TextEncoder().encode(text));
  await artifacts.close();
  await session.endRun();
  return { runId: session.runId, sha256: sha256Of(new TextEncoder().encode(text)) };
}

describe('blobs of a space with a shared project', () => {
  it('are open to a guest as far as that project names them', async () => {
    const service = await services.start();
    const [alice, bob] = [await keyOf(service, 'alice'), await keyOf(service, 'bob')];
    const own = await storeOf(service, alice);
    const shown = await recordArtifact(own, 'open', 'shown');
    const hidden = await recordArtifact(own, 'closed', 'hidden');
    const share = { owner: 'alice', project: 'open', user: 'bob', access: 'write' } as const;
    await service.access.share(share);
    const guest = await storeOf(service, bob, 'alice:default');
    const bytesOf = async (sha256: string): Promise<string | undefined> => {
      const bytes = await guest.getBlob(sha256);
      return bytes === undefined ? undefined : new TextDecoder().decode(bytes);
    };
    expect(await bytesOf(shown.sha256)).toBe('shown');
    expect(await bytesOf(hidden.sha256)).toBeUndefined();
    const headers = { ...bearer(bob), 'quark-space': 'alice:default' };
    // One that is hidden and one that is not there look the same, however they are asked for.
    for (const method of ['GET', 'HEAD'])
      for (const more of [{}, { range: 'bytes=0-0' }, { 'if-none-match': `"${hidden.sha256}"` }]) {
        const answers = [];
        for (const sha256 of [hidden.sha256, sha256Of(new Uint8Array(1))])
          answers.push(
            await ask(service.port, `/api/v1/blobs/${sha256}`, {
              method,
              headers: { ...headers, ...more },
            }),
          );
        expect(answers.map(({ status }) => status)).toEqual([404, 404]);
        expect(answers[0]?.text.replaceAll(hidden.sha256, '')).toBe(
          answers[1]?.text.replaceAll(/[0-9a-f]{64}/g, ''),
        );
      }
    // What is recorded later is open, too; what is moved away is not any more.
    const later = await recordArtifact(own, 'open', 'later');
    expect(await bytesOf(later.sha256)).toBe('later');
    const run = await own.findRun(later.runId);
    const closed = (await own.listProjects()).find(({ name }) => name === 'closed');
    if (run === undefined || closed === undefined) throw new Error('they are there');
    const document = run.document
      .replaceAll(run.projectId, closed.id)
      .replaceAll('"open"', '"closed"');
    await own.updateRun({ ...run, document, projectName: 'closed', projectId: closed.id });
    expect(await bytesOf(later.sha256)).toBeUndefined();
    expect(await bytesOf(shown.sha256)).toBe('shown');
    await service.access.unshare({ owner: 'alice', project: 'open', user: 'bob' });
    await expect(guest.getBlob(shown.sha256)).rejects.toMatchObject({ reason: 'missing' });
  });

  it('are not opened by a record that names them', async () => {
    const service = await services.start();
    const [alice, bob] = [await keyOf(service, 'alice'), await keyOf(service, 'bob')];
    const own = await storeOf(service, alice);
    await recordArtifact(own, 'open', 'shown');
    const hidden = await recordArtifact(own, 'closed', 'hidden');
    await service.access.share({ owner: 'alice', project: 'open', user: 'bob', access: 'write' });
    const guest = await storeOf(service, bob, 'alice:default');
    // A guest records what they have; the record of it is of the same bytes as the hidden one.
    const copied = await own.listSegments({ runId: hidden.runId, table: 'artifacts' });
    const [read] = await own.readSegments(copied);
    const session = await startRun({ project: 'open', storage: guest });
    const [manifest] = copied;
    if (read?.kind !== 'bytes' || manifest === undefined) throw new Error('it is there');
    const { firstSequence, lastSequence, ...rest } = manifest;
    expect([firstSequence, lastSequence]).toEqual([0, 0]);
    const forged = { ...rest, runId: session.runId, writerId: 'forger' };
    const checksum = segmentChecksum(forged, read.bytes);
    const forge = guest.appendSegments([{ manifest: { ...forged, checksum }, bytes: read.bytes }]);
    await expect(forge).rejects.toMatchObject({ reason: 'unauthorised' });
    expect(await guest.getBlob(hidden.sha256)).toBeUndefined();
    const artifacts = new ArtifactStore(session);
    await artifacts.store('notes', 'own', new TextEncoder().encode('from bob'));
    await artifacts.close();
    await session.endRun();
    const sent = sha256Of(new TextEncoder().encode('from bob'));
    expect(await guest.getBlob(sent)).toHaveLength(8);
    // Others with a share read it, as the project names it now.
    const key = await keyOf(service, 'carol');
    await service.access.share({ owner: 'alice', project: 'open', user: 'carol' });
    const carol = await storeOf(service, key, 'alice:default');
    expect(await carol.getBlob(sent)).toHaveLength(8);
    expect(await carol.getBlob(hidden.sha256)).toBeUndefined();
  });
});

/** Two segments of a metric of one row: other values, one name and one checksum, which has 32 bits and is no secret. */
function twins(): readonly { readonly value: number; readonly segment: NewSegment }[] {
  const { manifest, bytes } = metricSegmentOf(0, { rowCount: 1 });
  const at = Buffer.from(bytes).indexOf(Buffer.from(Float64Array.of(1).buffer));
  expect(at).toBeGreaterThan(0);
  const bytesWith = (value: number): Uint8Array<ArrayBuffer> => {
    const changed = bytes.slice();
    new DataView(changed.buffer).setFloat64(at, value, true);
    return changed;
  };
  const known = new Map<number, number>();
  for (let i = 1; i < 2 ** 20; i++) {
    const value = Math.sqrt(i);
    const checksum = segmentChecksum(manifest, bytesWith(value));
    const other = known.get(checksum);
    if (other !== undefined)
      return [other, value].map((one) => ({
        value: one,
        segment: { manifest: { ...manifest, checksum }, bytes: bytesWith(one) },
      }));
    known.set(checksum, value);
  }
  throw new Error('Of a million checksums of 32 bits, two are the same.');
}

it('curves are those of the space that was asked, also where another one has a run and segments of the same names', async () => {
  const service = await services.start();
  const names = ['alice', 'mallory'];
  for (const [i, { segment, value }] of twins().entries()) {
    const store = await storeOf(service, await keyOf(service, names[i] ?? ''));
    await store.ensureProject({ id: 'id_of_open', name: 'open', createdAtMs: 1 });
    await store.createRun(runOf({ projectId: 'id_of_open', projectName: 'open' }));
    await store.appendSegments([segment]);
    const read = await store.readCurves?.({ runId: 'run_1', buckets: 2 });
    expect([...(read?.curves[0]?.values ?? [])]).toEqual([value]);
  }
});

describe.each([
  ['SQLite', async () => services.folder()],
  [
    'PostgreSQL',
    async () => {
      schema = await makeSchema();
      return schema.uri;
    },
  ],
])('two services over one database on %s', (_name, storageOf) => {
  it('end streams and long answers when a key or a share ends in the other one', async () => {
    const storage = await storageOf();
    const [here, there] = [await services.start({ storage }), await services.start({ storage })];
    const alice = await keyOf(here, 'alice');
    const own = await storeOf(here, alice);
    for (const name of ['open', 'other'])
      await own.ensureProject({ id: `id_of_${name}`, name, createdAtMs: 1 });
    await own.createRun(runOf({ projectId: 'id_of_open', projectName: 'open' }));
    for (let batch = 0; batch < 8; batch++)
      await own.appendSegments([metricSegmentOf(batch, { rowCount: 65_536 })]);
    const share = { owner: 'alice', project: 'open', user: 'bob' };
    const [bob, revoked] = [
      await here.access.createKey({ user: 'bob' }),
      await here.access.createKey({ user: 'bob' }),
    ];
    await here.access.share(share);
    const open = (service: ServedService, key: string, path: string): Promise<Response> =>
      fetch(`${service.url}api/v1/${path}`, {
        headers: { ...bearer(key), 'quark-space': 'alice:default' },
      });
    const rows = 'runs/run_1/tables/metrics/rows?format=jsonl';
    const [byRevoked, byShare] = [
      await open(there, revoked.key, 'events'),
      await open(there, bob.key, 'events'),
    ];
    const [rowsByRevoked, rowsByShare] = [
      await open(there, revoked.key, rows),
      await open(there, bob.key, rows),
    ];
    for (const { status } of [byRevoked, byShare, rowsByRevoked, rowsByShare])
      expect(status).toBe(200);
    const stays = await open(there, bob.key, 'events?run=run_1');
    await here.access.revokeKey(revoked.keyId);
    // Ends by itself: without a word in ten minutes this would wait for the test to time out.
    await byRevoked.text();
    await expect(rowsByRevoked.text()).rejects.toThrow('terminated');
    const reader = stays.body?.getReader();
    expect((await reader?.read())?.done).toBe(false);
    await here.access.unshare(share);
    await byShare.text();
    await expect(rowsByShare.text()).rejects.toThrow('terminated');
    for (;;) if ((await reader?.read())?.done !== false) break;
    expect((await open(there, bob.key, 'events')).status).toBe(404);
  });

  it('write nothing of an upload whose sender lost the right to it in the other one while it arrived', async () => {
    const storage = await storageOf();
    const [here, there] = [await services.start({ storage }), await services.start({ storage })];
    const own = await storeOf(here, await keyOf(here, 'alice'));
    await own.ensureProject({ id: 'id_of_open', name: 'open', createdAtMs: 1 });
    const share = { owner: 'alice', project: 'open', user: 'bob', access: 'write' } as const;
    const [revoked, bob, carol] = [
      await here.access.createKey({ user: 'bob' }),
      await here.access.createKey({ user: 'bob' }),
      await here.access.createKey({ user: 'carol' }),
    ];
    await here.access.share(share);
    const guest = (key: string) => ({ ...bearer(key), 'quark-space': 'alice:default' });
    const uploads = [revoked.key, bob.key].map((key) => beginUpload(there.port, guest(key)));
    const untouched = beginUpload(there.port, bearer(carol.key));
    const asking = { 'content-type': 'application/json', ...guest(revoked.key) };
    const path = '/api/v1/segments/read';
    const question = beginRequest(there.port, { method: 'POST', path }, asking, '{"segments":[]}');
    await underWay(there, 4);
    // It ends when it was looked up who may go on: those who were here before have been here for longer.
    const events = await fetch(`${there.url}api/v1/events`, { headers: bearer(revoked.key) });
    expect(events.status).toBe(200);
    await here.access.revokeKey(revoked.keyId);
    await here.access.share({ ...share, access: 'read' });
    await events.text();
    for (const [i, { finish, sha256 }] of uploads.entries()) {
      expect((await finish()).statusCode).toBe([401, 403][i]);
      expect(await own.getBlob(sha256)).toBeUndefined();
    }
    expect((await question.finish()).statusCode).toBe(401);
    expect((await untouched.finish()).statusCode).toBe(200);
  });
});
