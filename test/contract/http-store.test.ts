/** The store over HTTP, both ends of it: the whole contract through the handler, and through a real socket. */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAdaptorServer } from '@hono/node-server';
import type { AddressInfo } from 'node:net';
import { openFileStorage } from '../../src/store/sql/node/file-storage.ts';
import { createStoreHandler } from '../../src/service/routes/handler.ts';
import { openHttpStorage } from '../../src/wire/http-store.ts';
import { openMemoryStorage } from '../../src/store/memory/memory-store.ts';
import { isWhole } from '../support/property.ts';
import { describeStore } from './store-contract.ts';

// The socket below has the same handler under it.
const describeLong = isWhole ? describeStore : (): void => undefined;

describeLong(
  'http over memory',
  async (clock) => {
    const place = `memory:${randomUUID()}`;
    const store = await openMemoryStorage(place, { clock });
    const handler = createStoreHandler({ writable: true });
    return {
      open: () =>
        // A name that is not this machine's: bodies are packed.
        openHttpStorage('http://quark.example', {
          fetch: (request) => handler.handle(request, { store }),
        }),
      remove: () => store.close(),
    };
  },
  { sweeps: false },
);

describeStore(
  'http over sqlite, through a socket',
  async (clock) => {
    const directory = await mkdtemp(join(tmpdir(), 'quark http '));
    const store = await openFileStorage(directory, { clock });
    const handler = createStoreHandler({ writable: true });
    const server = createAdaptorServer({
      overrideGlobalObjects: false,
      fetch: (request) => handler.handle(request, { store }),
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    return {
      open: () => openHttpStorage(`http://127.0.0.1:${port}`),
      remove: async () => {
        const closed = new Promise((resolve) => server.close(resolve));
        // A client may have opened one that it never used, which is not closed with those that are idle.
        if ('closeAllConnections' in server) server.closeAllConnections();
        await closed;
        await store.close();
        await rm(directory, { recursive: true, force: true });
      },
    };
  },
  { sweeps: false },
);
