import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe } from 'vitest';
import { findPgbouncer } from '../support/pgbouncer-program.mjs';
import { makeSchema, openSpace, throughPooler, type TestSchema } from '../support/postgres.ts';
import { isWhole } from '../support/property.ts';
import { describeStore } from './store-contract.ts';

let schema: TestSchema;

beforeAll(async () => {
  schema = await makeSchema();
}, 120_000);
afterAll(() => schema.remove());

function describePostgres(name: string, address: () => Promise<string>): void {
  describeStore(
    name,
    async (clock) => {
      // A space a test: what the others have left in theirs is not seen.
      const space = `test/${randomUUID()}`;
      const uri = await address();
      return {
        open: () => openSpace(uri, space, { clock }),
        damage: async (segment) => {
          await schema.query(
            `UPDATE segment_bytes SET bytes = substr(bytes, 1, 5) WHERE segment_key IN
             (SELECT segment_key FROM segments JOIN streams ON streams.stream_key = segments.stream_key
              WHERE space = $1 AND writer_id = $2 AND batch_number = $3)`,
            [space, segment.writerId, segment.batchNumber],
          );
        },
        countBytes: async (runId) => {
          const [row] = await schema.query(
            `SELECT coalesce(sum(length(bytes)), 0) AS total FROM segment_bytes
             JOIN segments ON segments.segment_key = segment_bytes.segment_key
             JOIN streams ON streams.stream_key = segments.stream_key
             WHERE run_id = $1 AND space IN ($2, $3)`,
            [runId, space, `~${space}`],
          );
          return Number(row?.['total']);
        },
        remove: async () => undefined,
      };
    },
    { hasNotes: true },
  );
}

describePostgres('postgres', async () => schema.uri);

// `database/pgbouncer` has the paths of a pooler.
describe.skipIf(!isWhole || findPgbouncer() === undefined)(
  'pgbouncer in transaction mode, with its defaults otherwise (skipped where there is none: apt-get install pgbouncer)',
  () => {
    describePostgres('postgres through pgbouncer', () => throughPooler(schema.uri));
  },
);
