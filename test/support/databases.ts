/** The databases that tests of a service run on: a new folder of SQLite, and a new schema of PostgreSQL. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeSchema } from './postgres.ts';

export type DatabaseLocation = { readonly uri: string; remove(): Promise<void> };

/** For `describe.each`. */
export const DATABASES: readonly (readonly [
  name: string,
  make: () => Promise<DatabaseLocation>,
])[] = [
  [
    'SQLite',
    async () => {
      const uri = await mkdtemp(join(tmpdir(), 'quark-database-'));
      return { uri, remove: () => rm(uri, { recursive: true, force: true }) };
    },
  ],
  ['PostgreSQL', makeSchema],
];
