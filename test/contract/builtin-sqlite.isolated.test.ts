/** The store on the SQLite of Node, as where no native package is installed. Node before 22.16 has none. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { loadDriver } from '../../src/base/node/load-driver.ts';
import { checkSqliteFile } from '../../src/store/sql/node/sqlite-check.ts';
import { openFileStorage } from '../../src/store/sql/node/file-storage.ts';
import { builtinSqlite } from '../../src/store/sql/node/sqlite-builtin.ts';
import { chooseSqlite, loadSqlite } from '../../src/store/sql/node/sqlite-driver.ts';
import { nativePackages, nativeSqlite } from '../../src/store/sql/node/sqlite-native.ts';
import { describeStore } from './store-contract.ts';
import { CUT_SEGMENT } from '../support/sqlite-segments.ts';

vi.mock('../../src/store/sql/node/sqlite-native.ts', async (original) => ({
  ...(await original<typeof import('../../src/store/sql/node/sqlite-native.ts')>()),
  nativeSqlite: () => {
    throw new Error("Cannot find module '@libsql/here'");
  },
}));

test('without either SQLite an error names the package to install', () => {
  const [name] = nativePackages();
  expect(() => chooseSqlite(nativeSqlite, () => undefined)).toThrow(
    expect.objectContaining({
      code: 'store_failed',
      message: expect.stringMatching(/@libsql\/here.*Install it with: npm install @libsql\//s),
      details: {
        reason: 'failed',
        package: name,
        install: expect.stringMatching(`npm install ${name}@`),
      },
    }),
  );
});

test.each([
  ['linux', 'x64', ['@libsql/linux-x64-gnu', '@libsql/linux-x64-musl']],
  ['linux', 'arm', ['@libsql/linux-arm-gnueabihf', '@libsql/linux-arm-musleabihf']],
  ['darwin', 'arm64', ['@libsql/darwin-arm64']],
  ['win32', 'x64', ['@libsql/win32-x64-msvc']],
])('the packages of %s on %s', (platform, arch, names) => {
  expect(nativePackages({ platform, arch })).toEqual(names);
});

test('the version that a message names is the one that is installed', () => {
  const [name = ''] = nativePackages();
  const { version } = loadDriver((require): { version: string } => require(`${name}/package.json`));
  expect(() => chooseSqlite(nativeSqlite, () => undefined)).toThrow(`${name}@${version}`);
});

test.skipIf(builtinSqlite() === undefined)('a whole database is found whole', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'quark-builtin-'));
  try {
    await (await openFileStorage(directory)).close();
    expect(await checkSqliteFile(join(directory, '.quark', 'quark.db'))).toEqual([]);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});

if (builtinSqlite() !== undefined)
  describeStore(
    'the SQLite of Node',
    async (clock) => {
      const directory = await mkdtemp(join(tmpdir(), 'quark builtin '));
      const path = join(directory, '.quark', 'quark.db');
      return {
        open: () => openFileStorage(`file:${encodeURI(directory)}`, { clock }),
        damage: async (segment) => {
          const database = loadSqlite()(path);
          database.prepare(CUT_SEGMENT).run([segment.writerId, segment.batchNumber]);
          database.close();
        },
        countBytes: async (runId) => {
          const database = loadSqlite()(path);
          const row = database
            .prepare(
              `SELECT coalesce(sum(length(bytes)), 0) FROM segment_bytes
             LEFT JOIN segments ON segments.segment_key = segment_bytes.segment_key
             LEFT JOIN streams ON streams.stream_key = segments.stream_key
             WHERE run_id = CAST(? AS BLOB) OR run_id = ? OR run_id IS NULL`,
            )
            .get([runId, runId]);
          database.close();
          return Number(row?.[0]);
        },
        remove: () => rm(directory, { recursive: true, force: true }),
      };
    },
    { hasNotes: true },
  );
