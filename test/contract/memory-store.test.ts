import { randomUUID } from 'node:crypto';
import { openMemoryStorage } from '../../src/store/memory/memory-store.ts';
import { describeStore } from './store-contract.ts';

describeStore(
  'memory',
  async (clock) => {
    const uri = `memory:${randomUUID()}`;
    return { open: () => openMemoryStorage(uri, { clock }), remove: async () => undefined };
  },
  { hasNotes: true },
);
