import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStorage } from '../../src/index.ts';
import { isWhole } from '../support/property.ts';
import { describeStore } from './store-contract.ts';

describeStore(
  'tee of two stores in memory',
  async (clock) => {
    const uri = `tee:memory:${randomUUID()}|memory:${randomUUID()}`;
    return { open: () => openStorage(uri, { clock }), remove: async () => undefined };
  },
  { hasNotes: true },
);

if (isWhole)
  describeStore(
    'tee of a file store and one in memory',
    async (clock) => {
      const directory = await mkdtemp(join(tmpdir(), 'quark-tee-'));
      const uri = `tee:file:${directory}|memory:${randomUUID()}`;
      return {
        open: () => openStorage(uri, { clock }),
        remove: () => rm(directory, { recursive: true, force: true }),
      };
    },
    { hasNotes: true },
  );
