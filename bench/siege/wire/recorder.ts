/** What a real client and a service say to each other: a proxy between them writes down every request. */
import { createServer, request as forward } from 'node:http';
import type { AddressInfo } from 'node:net';
import { openHttpStorage } from '../../../src/wire/http-store.ts';
import { openFileStorage } from '../../../src/store/sql/node/file-storage.ts';
import { openOutbox } from '../../../src/sync/open-outbox.ts';
import { makeRun, segmentOf } from '../../../test/faults/rows.ts';
import { random as randomFrom } from '../../../test/support/tensors.ts';
import { addArtifact, noise } from '../scene.ts';

/** A request as it was on the wire, without the headers of its connection. */
export type RecordedRequest = {
  readonly method: string;
  readonly path: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
};

const OF_THE_CONNECTION = new Set(['host', 'connection', 'content-length', 'transfer-encoding']);
const BATCHES = 6;
const ROWS = 40;
const SYNC_LIMIT_MS = 60_000;

/**
 * Records a run through an outbox with everything that a client sends: rows, changes, leases, a payload; then reads all of it.
 *
 * @param folder of the local store of the client
 */
export async function recordTraffic(
  port: number,
  client: { readonly folder: string; readonly userKey: string; readonly runId: string },
): Promise<readonly RecordedRequest[]> {
  const recorded: RecordedRequest[] = [];
  const proxy = createServer((incoming, answer) => {
    const parts: Buffer[] = [];
    incoming.on('data', (part: Buffer) => parts.push(part));
    incoming.on('end', () => {
      const body = Buffer.concat(parts);
      const { method = 'GET', url: path = '/', rawHeaders } = incoming;
      const pairs: (readonly [string, string])[] = [];
      for (let i = 0; i < rawHeaders.length; i += 2)
        pairs.push([rawHeaders[i] ?? '', rawHeaders[i + 1] ?? '']);
      const headers = pairs.filter(([name]) => !OF_THE_CONNECTION.has(name.toLowerCase()));
      recorded.push({ method, path, headers, body });
      const to = { host: '127.0.0.1', port, method, path, headers: incoming.headers };
      const outgoing = forward(to, (response) => {
        answer.writeHead(response.statusCode ?? 502, response.headers);
        response.pipe(answer);
      });
      outgoing.on('error', () => answer.destroy());
      outgoing.end(body);
    });
  });
  await new Promise<void>((resolve) => {
    proxy.listen(0, '127.0.0.1', resolve);
  });
  try {
    await useService(`http://127.0.0.1:${(proxy.address() as AddressInfo).port}/`, client);
  } finally {
    proxy.closeAllConnections();
    await new Promise((resolve) => proxy.close(resolve));
  }
  return recorded;
}

async function useService(
  url: string,
  client: { readonly folder: string; readonly userKey: string; readonly runId: string },
): Promise<void> {
  const { folder, userKey, runId } = client;
  const outbox = openOutbox(await openFileStorage(folder), {
    url,
    userKey,
    space: 'default',
    timeoutMs: SYNC_LIMIT_MS,
  });
  await makeRun(outbox, runId);
  await outbox.renewLease(runId, 'client', 30_000);
  for (let batch = 0; batch < BATCHES; batch++) {
    await outbox.appendSegments([segmentOf('client', batch, ROWS, runId)]);
    if (batch % 2 === 0) await outbox.sync.synced({ timeoutMs: SYNC_LIMIT_MS });
  }
  const sha256 = await addArtifact(outbox, runId, noise(randomFrom(1), 300_000));
  const run = await outbox.findRun(runId);
  if (run !== undefined) await outbox.updateRun({ ...run, tags: ['recorded'] });
  await outbox.sync.synced({ timeoutMs: SYNC_LIMIT_MS });
  await outbox.releaseLease(runId, 'client');
  await outbox.sync.synced({ timeoutMs: SYNC_LIMIT_MS });
  await outbox.close();

  const remote = await openHttpStorage(url, { userKey, space: 'default' });
  await remote.listProjects();
  await remote.listRuns({ tags: ['recorded'] });
  await remote.listLeases([runId]);
  const segments = await remote.listSegments({ runId, table: 'metrics' });
  await remote.readSegments(segments);
  await remote.getBlob(sha256);
  await remote.readCurves?.({ runId, buckets: 100 });
  await remote.close();
}
