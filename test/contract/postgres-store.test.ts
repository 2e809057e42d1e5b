import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll } from 'vitest';
import { openPostgresSpaces } from '../../src/node/postgres-storage.ts';
import type { Store } from '../../src/store/store.ts';
import { makeSchema, type TestSchema } from '../support/postgres.ts';
import { describeStore } from './store-contract.ts';

let schema: TestSchema;

beforeAll(async () => {
  schema = await makeSchema();
}, 120_000);
afterAll(() => schema.remove());

describeStore('postgres', async (clock) => {
  // A space a test: what the others have left in theirs is not seen.
  const space = `test/${randomUUID()}`;
  return {
    async open(): Promise<Store> {
      const spaces = await openPostgresSpaces(schema.uri, { clock, maxConnections: 4 });
      const store = spaces.store(space);
      const close = store.close.bind(store);
      store.close = async () => {
        await close();
        await spaces.close();
      };
      return store;
    },
    damage: async (segment) => {
      await schema.query(
        `UPDATE segment_bytes SET bytes = substr(bytes, 1, 5) WHERE segment_key IN
           (SELECT segment_key FROM segments JOIN streams ON streams.stream_key = segments.stream_key
            WHERE space = $1 AND writer_id = $2 AND batch_number = $3)`,
        [space, segment.writerId, segment.batchNumber],
      );
    },
    remove: async () => undefined,
  };
});
