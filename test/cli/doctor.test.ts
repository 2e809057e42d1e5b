/** `quark doctor`. */
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'libsql';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { MetricsLogger, TrainingSession } from '../../src/index.ts';
import { serveService } from '../../src/service/node/serve-service.ts';
import { quark, type Ran } from './fake-io.ts';

const folder = mkdtempSync(join(tmpdir(), 'quark-doctor-cli-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

beforeAll(async () => {
  const session = await TrainingSession.startRun({
    project: 'digits',
    tags: ['a'],
    storageDir: join(folder, 'runs'),
    handleSignals: false,
  });
  const metrics = new MetricsLogger(session);
  metrics.log('train/loss', 0.5, { step: 1 });
  await session.endRun('completed');
  await session.close();
});

function at(...args: readonly string[]): Promise<Ran> {
  return quark(args, { cwd: folder });
}

function change(statement: string): void {
  const database = new Database(join(folder, 'runs/.quark/quark.db'));
  database.exec(statement);
  database.close();
}

test('exit codes: 0 whole, 1 damaged, 2 could not be examined', async () => {
  const doctor = ['doctor', '--storage-dir', 'runs'];
  const whole = await at(...doctor);
  expect(whole).toMatchObject({ code: 0, stderr: '' });
  expect(whole.stdout).toMatch(/segments with \d+ rows .* were opened\. Nothing is wrong\.\n$/);

  change('DELETE FROM run_tags');
  const damaged = await at(...doctor);
  expect(damaged.code).toBe(1);
  expect(damaged.stdout).toMatch(/^error {2}tags_differ {2}run_\S+: .* --repair writes them again/);
  expect(damaged.stdout).toContain('1 error, 0 warnings.');
  const json = JSON.parse((await at(...doctor, '--json')).stdout);
  expect(json).toMatchObject({
    is_healthy: false,
    findings: [{ severity: 'error', code: 'tags_differ', repair: 'rebuild_tags' }],
    repaired: [],
  });
  const repaired = await at(...doctor, '--repair');
  expect(repaired.code).toBe(0);
  expect(repaired.stdout).toMatch(/^repaired {2}tags_differ/);

  const missing = await at('doctor', '--storage-dir', 'nowhere', '--json');
  expect(missing.code).toBe(2);
  expect(JSON.parse(missing.stdout)).toMatchObject({ error: { code: 'store_failed' } });
  expect((await at('doctor', '--storage-dir', 'nowhere')).stderr).toContain('error:');
  expect((await at(...doctor, '--quarantine')).code).toBe(2);
});

test('--acknowledge: rows that are gone for good are a note from then on, and the exit code is 0', async () => {
  cpSync(join(folder, 'runs'), join(folder, 'lost'), { recursive: true });
  const doctor = ['doctor', '--storage-dir', 'lost'];
  const database = new Database(join(folder, 'lost/.quark/quark.db'));
  database.exec(
    `UPDATE segment_bytes SET bytes = zeroblob(length(bytes)) WHERE segment_key = (SELECT max(segment_key) FROM segments
       WHERE stream_key = (SELECT stream_key FROM streams WHERE table_name = 'metrics'))`,
  );
  database.close();
  // What is damaged is not gone for good, and cannot be acknowledged.
  const damaged = await at(...doctor, '--acknowledge');
  expect(damaged.code).toBe(1);
  expect(damaged.stdout).toContain('segment_damaged');
  const moved = await at(...doctor, '--repair', '--quarantine');
  expect(moved.code, moved.stdout).toBe(1);
  expect(moved.stdout).toContain('rows_missing');
  const known = await at(...doctor, '--acknowledge');
  expect(known).toMatchObject({ code: 0, stderr: '' });
  expect(known.stdout).toMatch(/^note {2}rows_missing .* Acknowledged on \d{4}-\d\d-\d\d\. /);
  const later = JSON.parse((await at(...doctor, '--json')).stdout);
  expect(later).toMatchObject({
    is_healthy: true,
    findings: [{ severity: 'note', code: 'rows_missing' }],
  });
});

test('a service is asked as a client asks it', async () => {
  const service = await serveService({ storage: join(folder, 'service'), maintenance: false });
  try {
    const asked = await at('doctor', '--storage', service.url);
    expect(asked, asked.stdout).toMatchObject({ code: 0, stderr: '' });
    expect(asked.stdout).toContain('0 runs can be listed.');
    await service.access.createKey({ user: 'alice' });
    const refused = await at('doctor', '--storage', service.url);
    expect(refused).toMatchObject({ code: 1 });
    expect(refused.stdout).toContain('service_refuses_key');
    expect((await at('doctor', '--storage', service.url, '--repair')).code).toBe(2);
    expect((await at('doctor', '--quarantine-dir', 'x')).stderr).toContain(
      'goes with --quarantine',
    );
  } finally {
    await service.close();
  }
  const gone = await at('doctor', '--storage', service.url, '--json');
  expect(JSON.parse(gone.stdout)).toMatchObject({ findings: [{ code: 'service_unreachable' }] });
});
