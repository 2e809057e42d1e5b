/** Merges on a thread, in processes that are killed in the middle of them, and with threads that are ended from outside. */
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'libsql';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openFileStorage } from '../../src/store/sql/node/file-storage.ts';
import { bundledProgram, removeProgram } from '../support/bundled-program.ts';
import { longTest } from '../support/long.ts';
import { rounds } from '../support/property.ts';
import { runAndKill } from '../support/run-and-kill.ts';
import { inspectMerges } from './merge-rows.ts';

/** From what on a process lives how long, in milliseconds. */
const MOMENTS = [
  { from: 'merging', lifeMs: 300 },
  { from: 'exchanging', lifeMs: 20 },
  { from: 'exchanged', lifeMs: 5 },
  { from: 'rows 1000', lifeMs: 3000 },
];
const ROUNDS = rounds(5);
const ENDED_ROWS = 400_000;

let program: string;
let directory: string;

beforeAll(async () => {
  program = await bundledProgram('test/kill/merge-child.ts');
  directory = await mkdtemp(join(tmpdir(), 'quark-merge-kill-'));
}, 120_000);

afterAll(async () => {
  await removeProgram(program);
  await rm(directory, { recursive: true, force: true });
});

/** What is wrong with what a process recorded that said this, and with the database. */
async function problemsAfter(lines: readonly string[]): Promise<readonly string[]> {
  const last = (word: string): string =>
    lines.findLast((line) => line.startsWith(`${word} `))?.slice(word.length + 1) ?? '';
  const store = await openFileStorage(directory);
  const wrong = await inspectMerges(store, last('run'), Number(last('rows')));
  await store.close();
  const database = new Database(join(directory, '.quark', 'quark.db'));
  const [found] = database.pragma('integrity_check') as { readonly integrity_check: string }[];
  database.close();
  return found?.integrity_check === 'ok' ? wrong : [...wrong, 'the database is damaged'];
}

test(
  `${ROUNDS} processes killed while a thread merges: what was acknowledged is there exactly once, in order`,
  async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const { from, lifeMs } = MOMENTS[round % MOMENTS.length] ?? { from: 'merging', lifeMs: 0 };
      const lines = await runAndKill([program, directory], lifeMs, from);
      expect(lines).toContain(from);
      expect(await problemsAfter(lines)).toEqual([]);
    }
  },
  60_000 + ROUNDS * 20_000,
);

longTest(
  'threads that are ended from outside in the middle of merges cost nothing but time',
  async () => {
    for (let round = 0; round < rounds(5); round++) {
      const { status, stderr, stdout } = spawnSync(
        process.execPath,
        [program, directory, String(ENDED_ROWS)],
        { encoding: 'utf8' },
      );
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
      const lines = stdout.split('\n');
      expect(lines).toContain('thread lost');
      expect(lines).toContain('exchanged');
      expect(await problemsAfter(lines)).toEqual([]);
    }
  },
  200_000,
);
