/** Transactions that wait at once: committed together, and each for itself where one fails. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { CommitGroup } from '../../../src/store/sql/node/commit-group.ts';
import { openSqlite } from '../../../src/store/sql/node/sqlite.ts';
import { numberCell, sql, type SqlWork } from '../../../src/store/sql/sql-database.ts';
import { runs } from '../../support/property.ts';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'quark-group-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

function* add(value: number): SqlWork<number> {
  yield sql("INSERT INTO notes (space, name, body) VALUES ('', ?, '')", String(value));
  if (value < 0) throw new Error(`no ${value}`);
  return value;
}

function* count(): SqlWork<number> {
  const [row] = yield sql('SELECT count(*) FROM notes');
  return row === undefined ? 0 : numberCell(row, 0);
}

test('what fails takes nothing back but its own, whatever waits with it', async () => {
  let file = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(fc.integer({ min: -50, max: 200 }), { maxLength: 120, size: 'max' }),
      async (values) => {
        const database = await openSqlite(join(folder, `${file++}.db`), { synchronous: 'full' });
        const outcomes = await Promise.allSettled(
          values.map((value) => database.transaction(() => add(value))),
        );
        expect(outcomes.map(({ status }) => status === 'fulfilled')).toEqual(
          values.map((value) => value >= 0),
        );
        expect(await database.read(count)).toBe(values.filter((value) => value >= 0).length);
        await database.close();
      },
    ),
    runs(10),
  );
});

/** A connection that counts commits, and fails at one if told to. */
function fakeConnection(failAt: number) {
  const texts: string[] = [];
  let commits = 0;
  const run = (text: string): void => {
    texts.push(text);
    if (text === 'COMMIT' && ++commits === failAt) throw new Error('the disk is full');
  };
  const drive = (work: () => SqlWork<unknown>): unknown => work().next().value;
  const group = new CommitGroup({
    run,
    drive: (work) => drive(() => work({ id: null, mayBeDone: false })),
    transact: (work) => {
      run('BEGIN IMMEDIATE');
      const value = drive(() => work({ id: null, mayBeDone: false }));
      run('COMMIT');
      return value;
    },
    isInTransaction: () => true,
    exclusively: (work) => work(),
    retry: async (work) => work(),
    failure: (error) => error,
  });
  return { group, texts, commits: () => commits };
}

// oxlint-disable-next-line require-yield -- work without a statement
function* give(value: number): SqlWork<number> {
  return value;
}

test('many that wait at once need one commit', async () => {
  const { commits, group } = fakeConnection(0);
  const all = Array.from({ length: 60 }, (_, i) => group.run(() => give(i)));
  expect(await Promise.all(all)).toEqual(all.map((_, i) => i));
  expect(commits()).toBeLessThan(10);
  await group.settle();
});

test('where the common commit fails, each is told by itself, and those that fit are done', async () => {
  const { group, texts } = fakeConnection(1);
  const all = await Promise.allSettled([1, 2, 3].map((value) => group.run(() => give(value))));
  expect(all.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'fulfilled']);
  expect(texts.filter((text) => text === 'ROLLBACK')).toHaveLength(1);
});
