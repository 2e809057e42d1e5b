/** What guests of a project may read, and that it ends when a key or a share does: in every process over one database. */
import { createHash } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { startRun } from '../../src/index.ts';
import { ArtifactStore } from '../../src/probes.ts';
import type { ServedService } from '../../src/node/serve-service.ts';
import { segmentChecksum } from '../../src/segment/checksum.ts';
import type { Store } from '../../src/store/store.ts';
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
});
