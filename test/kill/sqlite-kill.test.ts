/** SQLite, with processes killed at random moments, two at a time on one database. */
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import Database from 'libsql';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openFileStorage } from '../../src/node/file-storage.ts';
import { bundle } from '../support/bundle.mjs';
import { inspect } from './workload.ts';

const ROUNDS = 26;
const CHILDREN = 2;
const MAX_LIFE_MS = 150;

let program: string;
let directory: string;

beforeAll(async () => {
  // Inside the repository, where the child finds the driver.
  const build = join(import.meta.dirname, '../../build');
  await mkdir(build, { recursive: true });
  program = await bundle('test/kill/kill-child.ts', {
    folder: await mkdtemp(join(build, 'kill-')),
  });
  directory = await mkdtemp(join(tmpdir(), 'quark-kill-'));
}, 60_000);

afterAll(async () => {
  await rm(dirname(program), { recursive: true, force: true });
  await rm(directory, { recursive: true, force: true });
});

test(`${ROUNDS * CHILDREN} processes killed: what was acknowledged is there exactly once`, async () => {
  const acknowledged: string[] = [];
  // The first two make the database, at the same time.
  for (let round = 0; round < ROUNDS; round++) {
    const children = Array.from({ length: CHILDREN }, (_, i) => runAndKill(`w${round}-${i}`));
    acknowledged.push(...(await Promise.all(children)).flat());
    const store = await openFileStorage(directory);
    expect(await inspect(store, acknowledged)).toEqual([]);
    await store.close();
  }
  expect(acknowledged.length).toBeGreaterThan(ROUNDS * CHILDREN);
  const database = new Database(join(directory, '.quark', 'quark.db'));
  expect(database.pragma('integrity_check')).toEqual([{ integrity_check: 'ok' }]);
  database.close();
}, 240_000);

/** Starts a child, kills it some time after it has begun to work, returns what it acknowledged. */
function runAndKill(writerId: string): Promise<string[]> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [program, directory, writerId], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    let problems = '';
    child.stdout.on('data', (data: Buffer) => {
      if (output === '') setTimeout(() => child.kill('SIGKILL'), Math.random() * MAX_LIFE_MS);
      output += data.toString();
    });
    child.stderr.on('data', (data: Buffer) => {
      problems += data.toString();
    });
    child.on('error', reject);
    child.on('close', (_code, signal) => {
      if (signal !== 'SIGKILL') reject(new Error(`The child ended by itself: ${problems}`));
      // What follows the last line break was cut off: it does not count.
      else resolve(output.split('\n').slice(1, -1));
    });
  });
}
