/** The doctor on stores that a training has made: whole ones, ones that were damaged on purpose, and ones with flipped bytes. */
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import Database from 'libsql';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { sweepBlobs } from '../../../src/read/blob-sweep.ts';
import { refreshSketch } from '../../../src/read/curves.ts';
import { sketchName } from '../../../src/store/curves.ts';
import {
  examineService,
  examineStore,
  type DoctorReport,
} from '../../../src/doctor/node/diagnose.ts';
import { TABLES } from '../../../src/records/tables.ts';
import {
  EventLogger,
  listRuns,
  MetricsLogger,
  openRun,
  TrainingSession,
} from '../../../src/index.ts';
import { ArtifactStore } from '../../../src/probes.ts';
import { openSegment } from '../../../src/segment/open-segment.ts';
import { openFileStorage } from '../../../src/store/sql/node/file-storage.ts';
import { createId } from '../../../src/base/ids.ts';
import { deleteDocument, findDocument, putDocument } from '../../../src/workspace/documents.ts';
import { runs } from '../../support/property.ts';

const root = mkdtempSync(join(tmpdir(), 'quark-doctor-'));
const trained = join(root, 'trained');
let runId: string;
let directory: string;
let next = 0;
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** Bytes that no rule follows from their number. */
function noise(length: number, seed: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  for (let i = 0, state = seed; i < length; i++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    bytes[i] = state >>> 24;
  }
  return bytes;
}

beforeAll(async () => {
  for (let number = 0; number < 2; number++) {
    const session = await TrainingSession.startRun({
      project: 'digits',
      tags: ['a', 'b'],
      config: { learning_rate: 0.1 },
      storageDir: trained,
      handleSignals: false,
    });
    const metrics = new MetricsLogger(session);
    const events = new EventLogger(session);
    const artifacts = new ArtifactStore(session);
    for (let step = 0; step < 300; step++) {
      metrics.log('train/loss', 1 / (1 + step), { step });
      metrics.log('val/loss', Math.sin(step), { step });
      if (step % 100 === 0) {
        events.log('checkpoint_saved', { step });
        await artifacts.store('checkpoint', `weights/${step}`, noise(2000 + step, step + number));
        await metrics.flush();
      }
    }
    await artifacts.store('checkpoint', 'weights/last', noise(400_000, 7 + number));
    await session.endRun('completed');
    await session.close();
    runId = session.runId;
  }
});

beforeEach(() => {
  directory = copyOf();
});

function copyOf(): string {
  const copy = join(root, String(next++));
  cpSync(trained, copy, { recursive: true });
  return copy;
}

function dbPath(at = directory): string {
  return join(at, '.quark/quark.db');
}

function change(...statements: readonly string[]): void {
  const database = new Database(dbPath());
  for (const statement of statements) database.exec(statement);
  database.close();
}

function codesOf({ findings }: Pick<DoctorReport, 'findings'>): string[] {
  return findings.filter(({ severity }) => severity !== 'note').map(({ code }) => code);
}

function blobFiles(at = directory): string[] {
  const folder = join(at, '.quark/blobs');
  return readdirSync(folder)
    .filter((name) => name.length === 2)
    .flatMap((name) => readdirSync(join(folder, name)).map((file) => join(folder, name, file)));
}

test('a store of two trainings is whole', async () => {
  const report = await examineStore(directory);
  expect(report.findings).toEqual([]);
  expect(report.segments).toBeGreaterThan(4);
  expect(report.rows).toBeGreaterThan(1200);
  expect(report.blobs).toBe(8);
  // It was read and nothing else.
  expect(readFileSync(dbPath()).equals(readFileSync(dbPath(trained)))).toBe(true);
});

test.each<readonly [code: string, statement: string]>([
  ['tags_differ', "DELETE FROM run_tags WHERE tag = 'a'"],
  ['facts_differ', "DELETE FROM run_facts WHERE path = 'project'"],
  ['facts_differ', "UPDATE run_facts SET number = number + 1 WHERE path = 'startedAt'"],
  ['tags_differ', "INSERT INTO run_tags SELECT space, run_id, 'c' FROM run_tags WHERE tag = 'a'"],
  ['sequence_low', 'UPDATE streams SET next_sequence = next_sequence - 1'],
])('%s is found and repaired: %s', async (code, statement) => {
  const before = await rowsOf(directory);
  change(statement);
  expect(codesOf(await examineStore(directory))).toContain(code);
  const after = await examineStore(directory, { repairs: true });
  expect(after.repaired.map((finding) => finding.code)).toContain(code);
  expect(codesOf(after)).toEqual([]);
  expect(await rowsOf(directory)).toEqual(before);
});

test.each<readonly [code: string, statement: string]>([
  [
    'segment_bytes_missing',
    'DELETE FROM segment_bytes WHERE segment_key = (SELECT max(segment_key) FROM segment_bytes)',
  ],
  ['segment_damaged', 'UPDATE segment_bytes SET bytes = zeroblob(length(bytes))'],
  ['segment_damaged', 'UPDATE segments SET checksum = checksum + 1'],
  ['segment_damaged', 'UPDATE segments SET size_bytes = size_bytes + 1'],
  ['segment_damaged', 'UPDATE segments SET batch_number = batch_number + 1000'],
  ['segment_damaged', "UPDATE segments SET writer_id = writer_id || 'x'"],
  ['segment_damaged', "UPDATE segments SET keys = '{'"],
  ['segment_damaged', 'UPDATE segments SET row_count = row_count + 1'],
  ['manifest_wrong', 'UPDATE segments SET step_max = step_max - 1 WHERE step_max > 0'],
  ['manifest_wrong', 'UPDATE segments SET keys = \'["other"]\' WHERE keys IS NOT NULL'],
  [
    'rows_missing',
    'DELETE FROM segments WHERE segment_key = (SELECT max(segment_key) FROM segments)',
  ],
  ['rows_without_owner', 'DELETE FROM streams'],
  ['run_missing', 'DELETE FROM runs'],
  ['run_damaged', "UPDATE runs SET document = '{'"],
  ['run_damaged', "UPDATE runs SET tags = '{'"],
  ['run_differs', "UPDATE runs SET status = 'failed'"],
  ['run_differs', 'UPDATE runs SET tags = \'["b"]\''],
  ['blob_damaged', 'UPDATE blobs SET bytes = zeroblob(length(bytes)) WHERE bytes IS NOT NULL'],
  ['blob_damaged', 'UPDATE blobs SET size_bytes = size_bytes + 1'],
  ['artifact_blob_missing', 'DELETE FROM blobs WHERE bytes IS NOT NULL'],
  ['cell_damaged', "UPDATE segments SET row_count = x'ff00'"],
  ['layout_newer', 'UPDATE quark_layout SET version = 9999'],
  ['layout_older', 'UPDATE quark_layout SET version = 2'],
])('%s is found: %s', async (code, statement) => {
  change(statement);
  const report = await examineStore(directory);
  expect(codesOf(report)).toContain(code);
  const finding = report.findings.find((one) => one.code === code);
  expect(finding?.message).toMatch(/\.$/);
  expect(finding?.advice).toMatch(/\.$/);
});

test('a batch that is there twice is found', async () => {
  change(
    'UPDATE segments SET sources = NULL',
    `INSERT INTO merged_batches SELECT stream_key, writer_id, batch_number, batch_number FROM segments WHERE sources IS NULL
     ON CONFLICT DO NOTHING`,
    `INSERT INTO merged_batches (stream_key, writer_id, batch_start, batch_last)
     SELECT stream_key, 'w', 0, 5 FROM streams`,
    `INSERT INTO merged_batches (stream_key, writer_id, batch_start, batch_last)
     SELECT stream_key, 'w', 3, 8 FROM streams`,
  );
  const codes = codesOf(await examineStore(directory));
  expect(codes).toContain('batch_doubled');
  expect(codes).toContain('merged_ranges_overlap');
});

test('a damaged index is built again', async () => {
  // The entries that it has are those of other columns.
  change(
    'PRAGMA writable_schema = ON',
    "UPDATE sqlite_master SET sql = 'CREATE INDEX runs_by_start ON runs (space, id)' WHERE name = 'runs_by_start'",
  );
  const report = await examineStore(directory);
  expect(new Set(codesOf(report))).toEqual(new Set(['index_damaged']));
  const after = await examineStore(directory, { repairs: true });
  expect(codesOf(after)).toEqual([]);
  expect(after.repaired.length).toBe(report.findings.length);
});

test('a lost row of a blob is found again by its file', async () => {
  const [file = ''] = blobFiles();
  const sha256 = file.slice(-64);
  change(
    `DELETE FROM blobs WHERE sha256 = '${sha256}'`,
    `DELETE FROM blob_spaces WHERE sha256 = '${sha256}'`,
  );
  expect(codesOf(await examineStore(directory))).toEqual(['usage_wrong', 'artifact_blob_missing']);
  const after = await examineStore(directory, { repairs: true });
  expect(codesOf(after)).toEqual([]);
  const store = await openFileStorage(directory);
  expect((await store.getBlob(sha256))?.byteLength).toBe(400_000);
  await store.close();
});

test('a blob that was swept and put again is read by its new name', async () => {
  const bytes = noise(300_000, 99);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const store = await openFileStorage(directory);
  await store.putBlob(sha256, bytes);
  const sweep = { keepMs: 1, clock: { ...systemClock, now: () => Date.now() + 60_000 } };
  expect(await sweepBlobs(store, sweep)).toMatchObject({ blobs: 1 });
  await store.putBlob(sha256, bytes);
  await store.close();
  const file = blobFiles().find((path) => path.includes(sha256)) ?? '';
  expect(file.endsWith('.1')).toBe(true);
  expect((await examineStore(directory)).findings).toEqual([]);
  writeFileSync(file, noise(300_000, 98));
  expect(codesOf(await examineStore(directory))).toEqual(['blob_damaged']);
});

test('files of blobs that no row knows are noted, and a sweep removes them, and no other file', async () => {
  const before = blobFiles().sort();
  const put = (key: string, seconds: number): string => {
    const folder = join(directory, '.quark/blobs', key.slice(0, 2));
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, key), 'x'.repeat(10));
    utimesSync(join(folder, key), seconds, seconds);
    return join(folder, key);
  };
  const nowSeconds = Date.now() / 1000;
  const [known = ''] = before;
  const old = [put('ab'.repeat(32), 5), put(`${'cd'.repeat(32)}.2`, 5)];
  // Of a generation that is not that of its blob.
  old.push(put(`${known.slice(-64)}.7`, 5));
  const fresh = put('ef'.repeat(32), nowSeconds);
  const others = [put('ab-notes.txt', 5), put('cd'.repeat(31), 5)];
  const report = await examineStore(directory);
  expect(report.findings).toMatchObject([{ code: 'blobs_loose', severity: 'note' }]);
  expect(report.findings[0]?.message).toMatch(/^4 files of blobs with 40 bytes /);
  const store = await openFileStorage(directory);
  const sums = { blobs: 0, looseFiles: 3, looseBytes: 30 };
  const dry = await sweepBlobs(store, { keepMs: 3_600_000, dryRun: true });
  expect(dry).toMatchObject({ ...sums, isDone: false });
  expect(await sweepBlobs(store, { keepMs: 3_600_000 })).toMatchObject(sums);
  for (const path of old) expect(existsSync(path), path).toBe(false);
  for (const path of [...before, fresh, ...others]) expect(existsSync(path), path).toBe(true);
  // The same bytes may be put at any time.
  const bytes = noise(300_000, 97);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  put(sha256, 5);
  await store.putBlob(sha256, bytes);
  await sweepBlobs(store, { keepMs: 3_600_000 });
  expect(await store.getBlob(sha256)).toEqual(bytes);
  await store.close();
  // The fresh one is known now, and goes when its time has come.
  expect((await examineStore(directory)).findings).toEqual([]);
});

test('a sketch that is not as it was written is found and removed', async () => {
  const store = await openFileStorage(directory);
  const { notes } = store;
  if (notes === undefined) throw new Error('A folder has notes.');
  // Small runs have none by themselves.
  const sizes = { rows: 1, buckets: 16, storedShare: 1 };
  await refreshSketch(store, runId, { notes, use: 'make', sizes });
  const text = (await notes.read(sketchName(runId))) ?? '';
  expect(text).toMatch(/^QSK /);
  expect((await examineStore(directory)).findings).toEqual([]);
  await notes.write(sketchName(runId), `${text.slice(0, -1)}${text.endsWith('A') ? 'B' : 'A'}`);
  expect((await examineStore(directory)).findings).toMatchObject([
    { code: 'sketch_damaged', severity: 'warning', repair: 'remove_sketch' },
  ]);
  const after = await examineStore(directory, { repairs: true });
  expect(after.findings).toEqual([]);
  expect(codesOf({ findings: after.repaired })).toEqual(['sketch_damaged']);
  expect(await notes.read(sketchName(runId))).toBeUndefined();
  await store.close();
});

test('documents without a body, changed ones and leftovers are found; leftovers are removed', async () => {
  const store = await openFileStorage(directory);
  const { notes } = store;
  if (notes === undefined) throw new Error('A folder has notes.');
  const put = (id: string, visibility: 'project' | 'private' = 'project'): Promise<unknown> =>
    putDocument(store, 'digits', { kind: 'report', id, name: id, visibility, body: '{"a":1}' }, 0);
  for (const id of ['whole', 'bodyless', 'changed']) await put(id); // oxlint-disable-line no-await-in-loop -- three
  await put('mine', 'private');
  expect((await examineStore(directory)).findings).toEqual([]);
  const all = await notes.list('documents/');
  const bodyOf = (id: string): string =>
    all.find(({ name }) => name.includes(`body/`) && name.includes(`/${id}/`))?.name ?? '';
  await notes.write(bodyOf('bodyless'), null);
  await notes.write(bodyOf('changed'), '{"a":123}');
  const old = bodyOf('whole').replace(/b_.*$/, createId('b', 5));
  const fresh = bodyOf('whole').replace(/b_.*$/, createId('b', Date.now()));
  await notes.write(old, '{"left":1}');
  await notes.write(fresh, '{"under":"way"}');
  change(
    `INSERT INTO notes (space, name, body) VALUES ('', 'documents/gone/private-header/u/view/v', '{}')`,
  );
  const found = await examineStore(directory);
  const seen = found.findings.map(({ code, where }) => `${code} ${where.split(' ').at(-1)}`);
  expect(seen.sort()).toEqual([
    'document_damaged bodyless',
    'document_damaged changed',
    'document_leftover v',
    'document_leftover whole',
  ]);
  const after = await examineStore(directory, { repairs: true });
  const leftover = { code: 'document_leftover' };
  expect(after.repaired).toMatchObject([leftover, leftover]);
  expect(codesOf(after)).toEqual(['document_damaged', 'document_damaged']);
  expect(await notes.read(old)).toBeUndefined();
  expect(await notes.read(fresh)).toBe('{"under":"way"}');
  expect(await findDocument(store, 'digits', 'report', 'mine')).toMatchObject({ name: 'mine' });
  // One whose body is gone can be deleted.
  expect(await deleteDocument(store, 'digits', 'report', 'bodyless')).toBe(true);
  await store.close();
});

test('lapsed leases and leftovers are noted, and removed', async () => {
  change(
    `INSERT INTO leases (space, run_id, holder, expires_at_ms, ttl_ms) SELECT space, id, 'gone', 5, 5 FROM runs`,
  );
  const left = join(directory, '.quark/blobs/incoming/half');
  mkdirSync(join(directory, '.quark/blobs/incoming'), { recursive: true });
  mkdirSync(join(directory, '.quark-restoring-abc'));
  writeFileSync(left, 'x');
  for (const path of [left, join(directory, '.quark-restoring-abc')]) utimesSync(path, 5, 5);
  const { findings } = await examineStore(directory);
  expect(findings.map(({ code }) => code).sort()).toEqual([
    'lease_lapsed',
    'lease_lapsed',
    'leftover',
    'leftover',
  ]);
  const after = await examineStore(directory, { repairs: true });
  expect(after.findings).toEqual([]);
  expect(existsSync(left)).toBe(false);
});

test('a damaged segment stays until quarantine is asked for, and the run then says so', async () => {
  change(
    `UPDATE segment_bytes SET bytes = zeroblob(length(bytes)) WHERE segment_key =
       (SELECT min(segment_key) FROM segments WHERE stream_key = (SELECT stream_key FROM streams WHERE table_name = 'metrics' AND run_id = '${runId}'))`,
  );
  const before = await rowsOf(directory);
  const plain = await examineStore(directory, { repairs: true });
  expect(codesOf(plain)).toEqual(['segment_damaged']);
  expect(plain.repaired).toEqual([]);
  const after = await examineStore(directory, { repairs: true, quarantine: '' });
  // It says for ever that rows were taken away.
  expect(codesOf(after)).toEqual(['rows_missing']);
  // Until somebody says that this is known: then it is a note, and nothing else becomes one.
  const known = await examineStore(directory, { acknowledges: true });
  expect(known.findings).toMatchObject([{ code: 'rows_missing', severity: 'note' }]);
  expect(known.findings[0]?.message).toMatch(/Acknowledged on \d{4}-\d\d-\d\d\.$/);
  expect((await examineStore(directory)).findings).toEqual(known.findings);
  change(
    'UPDATE segments SET row_count = row_count + 1 WHERE segment_key = (SELECT max(segment_key) FROM segments)',
  );
  const worse = await examineStore(directory, { acknowledges: true });
  expect(worse.findings.filter(({ severity }) => severity === 'error')).not.toEqual([]);
  change(
    'UPDATE segments SET row_count = row_count - 1 WHERE segment_key = (SELECT max(segment_key) FROM segments)',
  );
  const files = readdirSync(join(directory, '.quark/quarantine'));
  expect(files).toHaveLength(2);
  const store = await openFileStorage(directory);
  const events = await (await openRun(store, runId)).readEvents();
  expect(events.at(-1)).toMatchObject({ eventType: 'records_dropped' });
  await store.close();
  const rows = await rowsOf(directory);
  for (const [name, sum] of before) if (!name.includes('events')) expect(rows.get(name)).toBe(sum);
});

test('counters of usage that differ from what is stored are counted anew', async () => {
  change(
    "UPDATE usage_counters SET size_bytes = size_bytes + 5 WHERE project_id = '' AND shard = (SELECT min(shard) FROM usage_counters WHERE project_id = '')",
  );
  const report = await examineStore(directory);
  expect(report.findings).toMatchObject([
    { code: 'usage_wrong', severity: 'warning', repair: 'recount_usage' },
  ]);
  const after = await examineStore(directory, { repairs: true });
  expect(after.findings).toEqual([]);
  expect(codesOf({ ...after, findings: after.repaired })).toContain('usage_wrong');
});

test('a clock that was turned back, and a run of the future', async () => {
  const { findings } = await examineStore(directory, {
    clock: { now: () => 1_000, after: () => () => undefined, monotonicNow: () => 0 } as never,
  });
  const codes = findings.map(({ code }) => code);
  expect(codes).toContain('clock_off');
  expect(codes).toContain('started_in_future');
});

test('no store, and no database', async () => {
  await expect(examineStore(join(root, 'nowhere'))).rejects.toMatchObject({ reason: 'missing' });
  expect(existsSync(join(root, 'nowhere'))).toBe(false);
  writeFileSync(dbPath(), 'x'.repeat(9000));
  await expect(examineStore(directory)).rejects.toMatchObject({ reason: 'corrupt' });
});

/** All rows of all segments that can be read, by segment: a hash. */
async function rowsOf(at: string): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  await visit(at, (name, bytes) =>
    found.set(name, createHash('sha256').update(bytes).digest('hex')),
  );
  return found;
}

/** Reads everything as readers do; returns what they meet. */
async function visit(
  at: string,
  onSegment: (name: string, bytes: Uint8Array) => void = () => undefined,
): Promise<string[]> {
  const met: string[] = [];
  const store = await openFileStorage(at, { create: false });
  try {
    for (const { run } of await listRuns(store)) {
      await openRun(store, run.id);
      for (const table of TABLES.values()) {
        const segments = await store.listSegments({ runId: run.id, table: table.table });
        for (const [i, read] of (await store.readSegments(segments)).entries()) {
          const manifest = segments[i];
          if (manifest === undefined) continue;
          const opened = await openSegment(table, manifest, read);
          const name = `${run.id}/${table.table}/${manifest.writerId}/${manifest.batchNumber}`;
          if (opened.kind !== 'opened' || read.kind !== 'bytes') met.push(`${name} ${opened.kind}`);
          else {
            onSegment(name, read.bytes);
            const hashes = opened.segment.batch.columns.get('sha256');
            if (table.table !== 'artifacts' || hashes?.kind !== 'text') continue;
            for (const sha256 of hashes.values)
              if (sha256 !== null && (await store.getBlob(sha256)) === undefined)
                met.push(`${sha256} is missing`);
          }
        }
      }
    }
  } finally {
    await store.close();
  }
  return met;
}

async function whatReadersMeet(at: string): Promise<string[]> {
  try {
    return await visit(at);
  } catch (error) {
    return [String(error)];
  }
}

async function codesAt(at: string, repairs = false): Promise<string[]> {
  try {
    return codesOf(await examineStore(at, { repairs }));
  } catch (error) {
    return [`threw ${String(error)}`];
  }
}

test('whatever bytes are flipped: the doctor finds all that a reader meets, and repairs change no row that reads', async () => {
  const size = readFileSync(dbPath(trained)).length;
  const files = blobFiles(trained).length;
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ at: fc.nat(size - 1), bit: fc.nat(7) }), { minLength: 1, maxLength: 3 }),
      fc.option(fc.record({ file: fc.nat(files - 1), at: fc.nat(399_999) }), { freq: 4 }),
      async (flips, blob) => {
        const at = copyOf();
        const bytes = readFileSync(dbPath(at));
        for (const flip of flips) bytes[flip.at] = (bytes[flip.at] ?? 0) ^ (1 << flip.bit);
        writeFileSync(dbPath(at), bytes);
        if (blob !== null) {
          const path = blobFiles(at)[blob.file] ?? '';
          const content = readFileSync(path);
          content[blob.at] = (content[blob.at] ?? 0) ^ 1;
          writeFileSync(path, content);
        }
        const found = await codesAt(at);
        if (found.includes('cell_damaged') || found.includes('database_damaged')) {
          // Readers may not survive text that is not UTF-8; the driver ends the process.
          expect(await codesAt(at, true)).toEqual(found);
          rmSync(at, { recursive: true, force: true });
          return;
        }
        const met = await whatReadersMeet(at);
        if (met.length > 0) expect(found, met.join('\n')).not.toEqual([]);
        if (blob !== null) expect(found).not.toEqual([]);
        const before = await rowsOf(at).catch(() => new Map<string, string>());
        await codesAt(at, true);
        const after = await rowsOf(at).catch(() => new Map<string, string>());
        if (after.size > 0 || met.length === 0)
          for (const [name, sum] of before) expect(after.get(name), name).toBe(sum);
        rmSync(at, { recursive: true, force: true });
      },
    ),
    runs(200),
  );
}, 280_000);

test.each(['nonsense', 'ftp://quark.example.org', 'http://'])(
  '%s is no address of a service',
  async (url) => {
    await expect(examineService(url)).rejects.toMatchObject({
      code: 'invalid_input',
      details: { field: 'url' },
    });
  },
);
