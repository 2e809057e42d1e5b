/** Stores of every earlier layout, opened by several processes at the same moment. */
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'libsql';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SQL_LAYOUT_VERSION } from '../../src/store/sql/sql-layout.ts';
import { bundledProgram, removeProgram } from '../support/bundled-program.ts';
import { FIRST_SHARED_LAYOUT, makePostgresAt, makeSqliteAt } from '../support/earlier-layouts.ts';
import { makeSchema, type TestSchema } from '../support/postgres.ts';
import { isWhole } from '../support/property.ts';

const PROCESSES = 4;
const FIXTURE_RUNS = 5;

let program: string;

beforeAll(async () => {
  program = await bundledProgram('test/kill/kill-opener.ts');
}, 120_000);

afterAll(() => removeProgram(program));

/** Several processes open all places, beginning at the same moment; returns what each of them said of each place. */
async function openAtOnce(places: readonly string[]): Promise<string[][]> {
  const openers = Array.from({ length: PROCESSES }, () => startOpener(places));
  await Promise.all(openers.map((opener) => opener.loaded));
  return Promise.all(openers.map((opener) => opener.open()));
}

function startOpener(places: readonly string[]): {
  loaded: Promise<void>;
  open: () => Promise<string[]>;
} {
  const child = spawn(process.execPath, [program, ...places], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let output = '';
  const loaded = new Promise<void>((resolve, reject) => {
    child.on('error', reject);
    child.stdout.on('data', (data: Buffer) => {
      output += data.toString();
      resolve();
    });
  });
  const ended = new Promise<string[]>((resolve) => {
    child.on('close', () => resolve(output.trim().split('\n').slice(1)));
  });
  return {
    loaded,
    open() {
      child.stdin.end('go');
      return ended;
    },
  };
}

/** In `npm test` the first, one in the middle and the last layout. */
const someOf = (layouts: readonly number[]): number[] =>
  isWhole
    ? [...layouts]
    : layouts.filter((_, i) => [0, layouts.length >> 1, layouts.length - 1].includes(i));

describe('SQLite', () => {
  const earlier = Array.from({ length: SQL_LAYOUT_VERSION - 1 }, (_, i) => i + 1);
  const versions = [0, ...someOf(earlier)];

  test(`an empty directory, and databases of layouts before ${SQL_LAYOUT_VERSION}: all processes open them, nothing is lost`, async () => {
    const root = await mkdtemp(join(tmpdir(), 'quark-migrations-'));
    const places: string[] = [];
    for (const version of versions) {
      const place = join(root, String(version));
      places.push(place);
      if (version === 0) continue;
      await makeSqliteAt(place, version);
    }
    const answers = await openAtOnce(places);
    const expected = versions.map((version) => `runs ${version === 0 ? 0 : FIXTURE_RUNS}`);
    expect(answers).toEqual(new Array(PROCESSES).fill(expected));
    for (const place of places) {
      const database = new Database(join(place, '.quark', 'quark.db'));
      expect(database.prepare('SELECT version FROM quark_layout').all([])).toEqual([
        { version: SQL_LAYOUT_VERSION },
      ]);
      database.close();
    }
    await rm(root, { recursive: true });
  });
});

describe('PostgreSQL', () => {
  const earlier = Array.from(
    { length: SQL_LAYOUT_VERSION - FIRST_SHARED_LAYOUT },
    (_, i) => FIRST_SHARED_LAYOUT + i,
  );
  const versions = [0, ...someOf(earlier)];

  test(`an empty schema, and schemas of layouts before ${SQL_LAYOUT_VERSION}: all processes open them, nothing is lost`, async () => {
    const root = await mkdtemp(join(tmpdir(), 'quark-migrations-'));
    const schemas: TestSchema[] = [];
    for (const version of versions) {
      const schema = await makeSchema();
      schemas.push(schema);
      if (version === 0) continue;
      await makePostgresAt(schema, version, join(root, String(version)));
    }
    const answers = await openAtOnce(schemas.map((schema) => schema.uri));
    const expected = versions.map((version) => `runs ${version === 0 ? 0 : FIXTURE_RUNS}`);
    expect(answers).toEqual(new Array(PROCESSES).fill(expected));
    for (const schema of schemas) {
      expect(await schema.query('SELECT version FROM quark_layout')).toEqual([
        { version: String(SQL_LAYOUT_VERSION) },
      ]);
      await schema.remove();
    }
    await rm(root, { recursive: true });
  });
});
