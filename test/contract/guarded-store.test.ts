/** A space of one's own behind the guard is a store like any other, on each kind of store below. */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openFileSpaces } from '../../src/store/sql/node/file-storage.ts';
import { guardStore } from '../../src/service/access/guarded-store.ts';
import { DEFAULT_SERVICE_LIMITS } from '../../src/service/limits/limits.ts';
import { ServiceMetrics } from '../../src/service/log/metrics.ts';
import { watchStore } from '../../src/service/live/watched-store.ts';
import { openMemoryStorage } from '../../src/store/memory/memory-store.ts';
import type { Store } from '../../src/store/store.ts';
import { isWhole } from '../support/property.ts';
import { describeStore } from './store-contract.ts';

const guarded = (store: Store): Store =>
  guardStore({
    store: watchStore(store, new ServiceMetrics(), DEFAULT_SERVICE_LIMITS),
    name: 'default',
    access: 'write',
  });

describeStore(
  'guarded memory store',
  async (clock) => {
    const uri = `memory:${randomUUID()}`;
    return {
      open: async () => guarded(await openMemoryStorage(uri, { clock })),
      remove: async () => undefined,
    };
  },
  { sweeps: false },
);

// The guard is the same code; what differs below it is in the suite of that store.
if (isWhole)
  describeStore(
    'guarded space of an SQLite database',
    async (clock) => {
      const directory = await mkdtemp(join(tmpdir(), 'quark-guarded-'));
      const spaces = await openFileSpaces(directory, { clock });
      return {
        open: async () => guarded(spaces.store('user_1/default')),
        remove: async () => {
          await spaces.close();
          await rm(directory, { recursive: true, force: true });
        },
      };
    },
    { sweeps: false },
  );
