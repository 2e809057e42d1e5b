/**
 * The service as it is measured: `OPTIONS` as JSON. Beside its own routes it takes points the way that is usual
 * elsewhere, one JSON request for some points, into the same store: `POST /points/RUN`.
 */
import { timingSafeEqual } from 'node:crypto';
import { createAdaptorServer } from '@hono/node-server';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createService } from '../../src/service/node/create-service.ts';
import { openSpaces } from '../../src/store/sql/node/open-spaces.ts';
import { AccessBook } from '../../src/service/access/access-book.ts';
import { segmentOfPoints, type Point } from './points.ts';

const { storage, users = 0 } = JSON.parse(process.argv[2] ?? '{}') as {
  storage: string;
  users?: number;
};
const service = await createService({ storage });
const spaces = await openSpaces(storage);
const access = new AccessBook({ database: spaces.database, clock: Date, timingSafeEqual });
const keys = [];
for (let user = 0; user < users; user++)
  keys.push((await access.createKey({ user: `user${user}` })).key);
const local = spaces.store('');
const batches = new Map<string, number>();

async function takePoints(request: Request, runId: string): Promise<Response> {
  const points = (await request.json()) as readonly Point[];
  const batchNumber = batches.get(runId) ?? 0;
  batches.set(runId, batchNumber + 1);
  const identity = { runId, table: 'metrics', writerId: 'json', batchNumber };
  await local.appendSegments([segmentOfPoints(identity, points)]);
  return Response.json({ kept: points.length });
}

const server = createAdaptorServer({
  overrideGlobalObjects: false,
  fetch: (request, env) => {
    const runId = /\/points\/([^/]+)$/.exec(request.url)?.[1];
    if (runId !== undefined) return takePoints(request, runId);
    return service(request, {
      remoteAddress: (env.incoming as IncomingMessage).socket.remoteAddress,
    });
  },
});
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  process.send?.({ uri: `http://127.0.0.1:${port}/`, keys });
});
process.once('SIGTERM', () => process.exit());
process.on('disconnect', () => process.exit());
process.on('message', () =>
  process.send?.({ memory: process.memoryUsage(), cpu: process.cpuUsage() }),
);
