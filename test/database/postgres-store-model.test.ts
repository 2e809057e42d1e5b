import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll } from 'vitest';
import { makeSchema, openSpace, type TestSchema } from '../support/postgres.ts';
import { testStoreAgainstModel } from '../property/store-commands.ts';

let schema: TestSchema;

beforeAll(async () => {
  schema = await makeSchema();
}, 120_000);
afterAll(() => schema.remove());

testStoreAgainstModel(
  'postgres',
  async (clock) => {
    const space = `model/${randomUUID()}`;
    return {
      open: () => openSpace(schema.uri, space, { clock }),
      remove: async () => undefined,
    };
  },
  10,
  50,
  120_000,
);
