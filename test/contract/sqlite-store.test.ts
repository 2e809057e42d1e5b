import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'libsql';
import { openFileStorage } from '../../src/store/sql/node/file-storage.ts';
import { casesOf } from '../support/long.ts';
import { describeStore } from './store-contract.ts';
import { CUT_SEGMENT } from '../support/sqlite-segments.ts';

// With "full" every commit waits for the disk, and those that wait at once are committed together.
for (const [name, query] of casesOf(
  [
    ['sqlite', ''],
    ['sqlite, synchronous=full', '?synchronous=full'],
  ] as const,
  1,
))
  describeStore(
    name,
    async (clock) => {
      const directory = await mkdtemp(join(tmpdir(), 'quark store '));
      return {
        open: () => openFileStorage(`file:${encodeURI(directory)}${query}`, { clock }),
        damage: async (segment) => {
          const database = new Database(join(directory, '.quark', 'quark.db'));
          database.prepare(CUT_SEGMENT).run([segment.writerId, segment.batchNumber]);
          database.close();
        },
        countBytes: async (runId) => {
          const database = new Database(join(directory, '.quark', 'quark.db'));
          const [row] = database
            .prepare(
              `SELECT coalesce(sum(length(bytes)), 0) AS total FROM segment_bytes
             LEFT JOIN segments ON segments.segment_key = segment_bytes.segment_key
             LEFT JOIN streams ON streams.stream_key = segments.stream_key
             WHERE run_id = ? OR run_id IS NULL`,
            )
            .all([runId]) as { total: number }[];
          database.close();
          return (
            Number(row?.total) + (existsSync(join(directory, '.quark', 'runs', runId)) ? 1 : 0)
          );
        },
        remove: () => rm(directory, { recursive: true, force: true }),
      };
    },
    { hasNotes: true },
  );
