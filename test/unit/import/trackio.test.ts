import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'libsql';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { bytesInput, type InputFile } from '../../../src/codecs/input.ts';
import { damaged, damages } from '../../support/damage.ts';
import { imported } from '../../support/import-result.ts';
import { runs } from '../../support/property.ts';

const TABLES = `
  CREATE TABLE IF NOT EXISTS metrics (id INTEGER PRIMARY KEY AUTOINCREMENT, timestamp TEXT NOT NULL,
    run_name TEXT NOT NULL, step INTEGER NOT NULL, metrics TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS configs (id INTEGER PRIMARY KEY AUTOINCREMENT, run_name TEXT NOT NULL,
    config TEXT NOT NULL, created_at TEXT NOT NULL, UNIQUE(run_name));
  CREATE INDEX IF NOT EXISTS idx_metrics_run_step ON metrics(run_name, step);
  CREATE TABLE IF NOT EXISTS system_metrics (id INTEGER PRIMARY KEY AUTOINCREMENT, timestamp TEXT NOT NULL,
    run_name TEXT NOT NULL, metrics TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS alerts (id INTEGER PRIMARY KEY AUTOINCREMENT, timestamp TEXT NOT NULL,
    run_name TEXT NOT NULL, title TEXT NOT NULL, text TEXT, level TEXT NOT NULL DEFAULT 'warn', step INTEGER);
  ALTER TABLE metrics ADD COLUMN log_id TEXT;`;

/** The files of a database that SQLite made: with a log where it is asked for. */
function made(
  mode: 'wal' | 'delete',
  write: (database: InstanceType<typeof Database>) => void,
  tables = TABLES,
): { path: string; bytes: Uint8Array<ArrayBuffer> }[] {
  const folder = mkdtempSync(join(tmpdir(), 'quark-trackio-'));
  try {
    const path = join(folder, 'demo.db');
    const database = new Database(path);
    database.exec(`PRAGMA journal_mode = ${mode}; PRAGMA page_size = 4096;`);
    database.exec(tables);
    write(database);
    const names = mode === 'wal' ? ['demo.db', 'demo.db-wal'] : ['demo.db'];
    const files = names.map((name) => ({
      path: name,
      bytes: new Uint8Array(readFileSync(join(folder, name))),
    }));
    database.close();
    return files;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const inputs = (files: ReturnType<typeof made>): InputFile[] =>
  files.map(({ path, bytes }) => bytesInput(path, bytes));

function fill(database: InstanceType<typeof Database>, rows: number): void {
  const insert = database.prepare(
    'INSERT INTO metrics (timestamp, run_name, step, metrics) VALUES (?, ?, ?, ?)',
  );
  database.exec('BEGIN');
  for (let i = 0; i < rows; i++) {
    const value = i === 2 ? '"NaN"' : String(i / 2);
    insert.run([
      `2026-01-02T03:04:${String(i % 60).padStart(2, '0')}`,
      i % 2 === 0 ? 'a' : 'b',
      i,
      `{"loss": ${value}, "val": {"acc": 0.5}}`,
    ]);
  }
  database.exec('COMMIT');
}

describe('Trackio databases', () => {
  for (const mode of ['delete', 'wal'] as const)
    test(`in the journal mode ${mode} are read whole`, async () => {
      const files = made(mode, (database) => {
        fill(database, 3000);
        database
          .prepare('INSERT INTO metrics (timestamp, run_name, step, metrics) VALUES (?, ?, ?, ?)')
          .run([
            '2026-01-02T04:00:00+01:00',
            'a',
            5000,
            JSON.stringify({
              weights: { _type: 'trackio.histogram', bins: [0, 1, 2], values: [3, 4] },
              long: 'x'.repeat(30_000),
            }),
          ]);
        database
          .prepare('INSERT INTO configs (run_name, config, created_at) VALUES (?, ?, ?)')
          .run(['a', '{"lr": 0.1}', 'x']);
        database
          .prepare('INSERT INTO system_metrics (timestamp, run_name, metrics) VALUES (?, ?, ?)')
          .run(['2026-01-02T03:04:05Z', 'a', '{"gpu/0": 7}']);
        database
          .prepare(
            'INSERT INTO alerts (timestamp, run_name, title, text, level, step) VALUES (?, ?, ?, ?, ?, ?)',
          )
          .run(['2026-01-02T03:04:05Z', 'a', 'low', 'text', 'error', 3]);
        database
          .prepare('INSERT INTO metrics (timestamp, run_name, step, metrics) VALUES (?, ?, ?, ?)')
          .run(['x', 'b', 1, '[1]']);
      });
      if (mode === 'wal') expect(files[0]?.bytes.length).toBeLessThan(20_000);
      const { report, reader, values, artifacts } = await imported(inputs(files));
      expect(report.problems).toEqual([
        { file: 'demo.db', place: 'row 3002 of metrics', reason: 'It is no object.' },
      ]);
      expect(report.runs).toMatchObject([
        { name: 'a', project: 'demo', format: 'trackio', rowCount: 3001 },
        { name: 'b', project: 'demo', rowCount: 3000 },
      ]);
      const losses = await values('train/loss');
      expect(losses).toHaveLength(1500);
      expect(losses.slice(0, 3)).toEqual([
        [0, 0],
        [2, Number.NaN],
        [4, 2],
      ]);
      expect(await values('val/accuracy')).toHaveLength(1500);
      expect(await values('system/gpu/0')).toEqual([[0, 7]]);
      expect(reader?.run.config).toEqual({ lr: 0.1 });
      expect(reader?.run.startedAt).toBe('2026-01-02T03:04:00.000Z');
      expect(await artifacts('histogram')).toEqual([
        { key: 'weights', step: 5000, payload: { bins: [0, 1, 2], counts: [3, 4] } },
      ]);
      expect((await reader?.readEvents())?.map(({ eventType, step }) => [eventType, step])).toEqual(
        [
          ['trackio_text', 5000],
          ['trackio_alert', 3],
        ],
      );
    });

  test('that are of other programs are not claimed', async () => {
    const files = made(
      'delete',
      () => {},
      'CREATE TABLE runs (id INTEGER PRIMARY KEY, run_name TEXT)',
    );
    expect((await imported(inputs(files))).report).toMatchObject({
      runs: [],
      unknownFiles: ['demo.db'],
    });
    const forced = await imported(inputs(files), { format: 'trackio' });
    expect(forced.report.problems).toMatchObject([{ reason: expect.stringMatching(/no table/) }]);
  });

  test('with any damage settle, and give problems instead of errors', async () => {
    const files = made('wal', (database) => fill(database, 60));
    const [database, log] = files;
    if (database === undefined || log === undefined) throw new Error('no files');
    const whole = made('delete', (other) => fill(other, 60))[0]?.bytes ?? new Uint8Array(0);
    await fc.assert(
      fc.asyncProperty(damages, fc.boolean(), async (changes, isLog) => {
        const changed = isLog
          ? [
              bytesInput('demo.db', database.bytes),
              bytesInput('demo.db-wal', damaged(log.bytes, changes)),
            ]
          : [bytesInput('demo.db', damaged(whole, changes))];
        const { report } = await imported(changed, { format: 'trackio' });
        expect(report.runs.length).toBeLessThan(100);
      }),
      runs(1000),
    );
  }, 120_000);
});
