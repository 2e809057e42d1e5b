/** A database as Trackio makes it, by SQLite itself. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'libsql';

/** The bytes of a database with one run, a row of metrics for each step. */
export function trackioDatabase(rows: readonly object[]): Uint8Array<ArrayBuffer> {
  const folder = mkdtempSync(join(tmpdir(), 'quark-trackio-'));
  try {
    const path = join(folder, 'digits.db');
    const database = new Database(path);
    database.exec(
      `PRAGMA journal_mode = delete;
       CREATE TABLE metrics (id INTEGER PRIMARY KEY, timestamp TEXT, run_name TEXT, step INTEGER, metrics TEXT);
       CREATE TABLE configs (id INTEGER PRIMARY KEY, run_name TEXT, config TEXT, created_at TEXT);`,
    );
    const insert = database.prepare(
      'INSERT INTO metrics (timestamp, run_name, step, metrics) VALUES (?, ?, ?, ?)',
    );
    for (const [step, row] of rows.entries())
      insert.run([
        `2026-01-02T03:04:${String(step % 60).padStart(2, '0')}`,
        'first',
        step,
        JSON.stringify(row),
      ]);
    database.close();
    return new Uint8Array(readFileSync(path));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
