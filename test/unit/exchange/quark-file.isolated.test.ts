/** The portable file: a run goes out of one store and into another as it was. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import 'fake-indexeddb/auto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { exportQuark } from '../../../src/exchange.ts';
import { importRuns } from '../../../src/exchange/import/import-runs.ts';
import { bytesInput, type InputFile } from '../../../src/codecs/input.ts';
import { putPayload } from '../../../src/instruments/artifacts/parts.ts';
import { readArtifacts } from '../../../src/read/artifacts.ts';
import { openRun, type RunReader } from '../../../src/read/run-reader.ts';
import { TABLES } from '../../../src/records/tables.ts';
import { batchOfRows } from '../../../src/segment/batch-ops.ts';
import { createSegment } from '../../../src/segment/manifest.ts';
import { compactTable } from '../../../src/segment/compact.ts';
import type { RowBatch } from '../../../src/codecs/arrow/vectors.ts';
import { openIdbStorage } from '../../../src/store/idb/idb-store.ts';
import { createMemoryStore } from '../../../src/store/memory/memory-store.ts';
import { openStorage } from '../../../src/location/open-storage.ts';
import type { Store } from '../../../src/store/store.ts';
import { partHead } from '../../../src/codecs/quark/quark-file.ts';
import { findDocument, listDocuments, putDocument } from '../../../src/workspace/documents.ts';
import { damaged } from '../../support/mutations.ts';
import { runs } from '../../support/property.ts';
import { bytesOf, recordRun, runWith, validBatch } from '../../support/recorded-run.ts';

const tableOf = (name: string) => {
  const table = TABLES.get(name);
  if (table === undefined) throw new Error(name);
  return table;
};

/** Rows of every table but artifacts, which need their bytes. */
function samples(seed: number, count = 2, names?: readonly string[]): [string, RowBatch[]][] {
  return [...TABLES]
    .filter(([name]) => (names === undefined ? name !== 'artifacts' : names.includes(name)))
    .map(([name, table]) => [name, fc.sample(validBatch(table, 12), { numRuns: count, seed })]);
}

async function withArtifact(
  reader: RunReader,
  payload: Uint8Array,
  partBytes: number,
): Promise<void> {
  const kept = await putPayload(reader.store, [payload], partBytes);
  const table = tableOf('artifacts');
  const batch = batchOfRows(table, [
    {
      timestamp: 1_700_000_000_000,
      id: 'art_1',
      artifactType: 'checkpoint',
      namespace: null,
      artifactName: 'weights',
      artifactKey: 'weights',
      step: 1,
      epoch: null,
      payloadFormat: 'bytes',
      payloadRelativePath: 'artifacts/weights/art_1/payload.bin',
      metadataRelativePath: 'artifacts/weights/art_1/metadata.json',
      ...kept,
      metadata: null,
    },
  ]);
  const identity = { runId: reader.run.id, table: 'artifacts', writerId: 'writer', batchNumber: 0 };
  await reader.store.appendSegments([createSegment(table, identity, batch)]);
}

async function recorded(seed: number, names?: readonly string[]): Promise<RunReader> {
  const reader = await recordRun(samples(seed, 2, names));
  await withArtifact(reader, new Uint8Array(1000).fill(7), 300);
  return reader;
}

const fileOf = (bytes: Uint8Array<ArrayBuffer>): InputFile => bytesInput('run.quark', bytes);

/** All segments of a run, with their bytes. */
async function segmentsOf(store: Store, runId: string): Promise<unknown[]> {
  const found: unknown[] = [];
  for (const table of TABLES.keys()) {
    const manifests = await store.listSegments({ runId, table });
    found.push(manifests, await store.readSegments(manifests));
  }
  return found;
}

/** A store that counts what is written. */
function counting(store: Store): { readonly store: Store; readonly writes: string[] } {
  const writes: string[] = [];
  const proxy = new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]) => {
        if (/^(?:append|replace|put|create|update|ensure)/.test(String(name)))
          writes.push(String(name));
        return Reflect.apply(value, target, args);
      };
    },
  });
  return { store: proxy, writes };
}

const stores: readonly (readonly [
  string,
  () => Promise<{ store: Store; end: () => Promise<void> }>,
])[] = [
  ['memory', async () => ({ store: createMemoryStore(), end: async () => undefined })],
  [
    'SQLite',
    async () => {
      const folder = mkdtempSync(join(tmpdir(), 'quark-file-'));
      const store = await openStorage(folder);
      return {
        store,
        end: async () => {
          await store.close();
          rmSync(folder, { recursive: true, force: true });
        },
      };
    },
  ],
  [
    'IndexedDB',
    async () => {
      const store = await openIdbStorage(`idb:quark-file-${Math.random()}`);
      return { store, end: () => store.close() };
    },
  ],
];

describe.each(stores)('a run put into %s', (_name, make) => {
  test('is the run that it was: exported again, it makes the same file', async () => {
    const reader = await recorded(5);
    await compactTable(reader.store, tableOf('metrics'), reader.run.id, 'merge');
    const bytes = await bytesOf(exportQuark(reader));
    const { store, end } = await make();
    try {
      const report = await importRuns([fileOf(bytes)], store);
      expect(report.problems).toEqual([]);
      expect(report.runs).toMatchObject([
        { runId: 'run_one', format: 'quark', project: 'digits', isNew: true, isComplete: true },
      ]);
      expect(await segmentsOf(store, 'run_one')).toEqual(await segmentsOf(reader.store, 'run_one'));
      const back = await openRun(store, 'run_one');
      expect(await bytesOf(exportQuark(back))).toEqual(bytes);
      expect({ ...back.run.toDict(), run_path: '' }).toEqual({
        ...reader.run.toDict(),
        run_path: '',
      });
      const { records } = await readArtifacts({ store, runId: 'run_one' });
      for (const hash of records[0]?.partSha256 ?? [])
        expect(await store.getBlob(hash)).toBeDefined();
    } finally {
      await end();
    }
  });

  test('is written once', async () => {
    const bytes = await bytesOf(exportQuark(await recorded(6)));
    const { store, end } = await make();
    try {
      await importRuns([fileOf(bytes)], store);
      const { store: counted, writes } = counting(store);
      const again = await importRuns([fileOf(bytes)], counted);
      expect(again.runs).toMatchObject([{ isNew: false, rowCount: 0, isComplete: true }]);
      expect(writes).toEqual([]);
    } finally {
      await end();
    }
  });
});

test('any run comes back as it was', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(), fc.boolean(), async (seed, isMerged) => {
      const reader = await recordRun(samples(seed, 3, ['metrics', 'events', 'telemetry']));
      if (isMerged) await compactTable(reader.store, tableOf('metrics'), reader.run.id, 'm');
      const bytes = await bytesOf(exportQuark(reader));
      const store = createMemoryStore();
      await importRuns([fileOf(bytes)], store);
      expect(await bytesOf(exportQuark(await openRun(store, reader.run.id)))).toEqual(bytes);
    }),
    runs(6),
  );
});

test('all metrics are named, also of segments that have too many to list', async () => {
  const metrics = tableOf('metrics');
  const rows = Array.from({ length: 700 }, (_, i) => ({
    timestamp: 1_700_000_000_000 + i,
    metricKey: `m/k${i}`,
    namespace: 'm',
    metricName: `k${i}`,
    value: i,
    step: 0,
    epoch: null,
    description: null,
    metadata: null,
  }));
  const reader = await recordRun([['metrics', [batchOfRows(metrics, rows)]]]);
  const report = await importRuns(
    [fileOf(await bytesOf(exportQuark(reader)))],
    createMemoryStore(),
  );
  expect(Object.keys(report.runs[0]?.metrics ?? {})).toHaveLength(700);
});

test('several runs of one file, whose projects have names of their own', async () => {
  const store = createMemoryStore();
  const one = await recordRun(samples(1), store);
  const two = await recordRun(
    samples(2),
    store,
    runWith({
      id: 'run_two',
      lineageRootRunId: 'run_two',
      projectId: 'prj_two',
      projectName: 'letters',
      status: 'failed',
    }),
  );
  const bytes = await bytesOf(exportQuark([one, two]));
  const target = createMemoryStore();
  // The id of the first project belongs to another one here.
  await target.ensureProject({ id: 'prj_one', name: 'somebody', createdAtMs: 1 });
  const report = await importRuns([fileOf(bytes)], target, { tags: ['brought'] });
  expect(report.problems).toEqual([]);
  expect(report.runs).toMatchObject([
    { runId: 'run_one', project: 'digits' },
    { runId: 'run_two', project: 'letters' },
  ]);
  expect((await openRun(target, 'run_two')).run).toMatchObject({
    status: 'failed',
    tags: ['a', 'b', 'brought'],
  });
  expect((await target.listProjects()).map(({ name }) => name)).toEqual([
    'digits',
    'letters',
    'somebody',
  ]);
});

test('a file of a later day adds what is new, merged or not', async () => {
  const metrics = tableOf('metrics');
  const [first, ...later] = fc.sample(validBatch(metrics, 12), { numRuns: 4, seed: 9 });
  if (first === undefined) throw new Error('none');
  for (const isMerged of [false, true]) {
    const monday = await recordRun([['metrics', [first]]]);
    const target = createMemoryStore();
    await importRuns([fileOf(await bytesOf(exportQuark(monday)))], target);
    const friday = await recordRun(
      [['metrics', [first, ...later]]],
      createMemoryStore(),
      runWith({ status: 'failed', updatedAt: '2026-02-01T00:00:00.000Z' }),
    );
    if (isMerged) await compactTable(friday.store, metrics, 'run_one', 'merge');
    const bytes = await bytesOf(exportQuark(friday));
    const report = await importRuns([fileOf(bytes)], target);
    expect(report.problems).toEqual([]);
    expect(report.runs).toMatchObject([{ isNew: true }]);
    const reader = await openRun(target, 'run_one');
    expect(reader.run.status).toBe('failed');
    const byKey = async (of: RunReader): Promise<unknown> => {
      const columns = await of.readMetricColumns();
      return columns.keys.toSorted().map((key) => {
        const rows = [...columns.keyIndex.keys()].filter(
          (row) => columns.keys[columns.keyIndex[row] ?? -1] === key,
        );
        return [key, rows.map((row) => [columns.steps[row], columns.values[row]])];
      });
    };
    expect(await byKey(reader)).toEqual(await byKey(friday));
    const { store: counted, writes } = counting(target);
    await importRuns([fileOf(bytes)], counted);
    expect(writes).toEqual([]);
  }
});

test('findings that were computed anew take the place of those of before', async () => {
  const alerts = tableOf('alerts');
  const [old, recent] = fc.sample(validBatch(alerts, 12), { numRuns: 2, seed: 2 });
  if (old === undefined || recent === undefined) throw new Error('none');
  const target = createMemoryStore();
  await importRuns(
    [fileOf(await bytesOf(exportQuark(await recordRun([['alerts', [old]]]))))],
    target,
  );
  const later = await recordRun(
    [['alerts', [recent]]],
    createMemoryStore(),
    runWith({ updatedAt: '2026-02-01T00:00:00.000Z' }),
  );
  await importRuns([fileOf(await bytesOf(exportQuark(later)))], target);
  expect(await segmentsOf(target, 'run_one')).toEqual(await segmentsOf(later.store, 'run_one'));
});

test('an import that was cut off anywhere is gone on with', async () => {
  const reader = await recorded(8, ['metrics', 'alerts']);
  await compactTable(reader.store, tableOf('metrics'), 'run_one', 'merge');
  const bytes = await bytesOf(exportQuark(reader));
  const whole = counting(createMemoryStore());
  await importRuns([fileOf(bytes)], whole.store);
  for (let cut = 1; cut < whole.writes.length; cut++) {
    const target = createMemoryStore();
    let left = cut;
    const failing = new Proxy(target, {
      get(store, name) {
        const value: unknown = Reflect.get(store, name);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]) => {
          if (/^(?:append|replace|put|create|update|ensure)/.test(String(name)) && left-- <= 0)
            return Promise.reject(new Error('the tab was closed'));
          return Reflect.apply(value, store, args);
        };
      },
    });
    await importRuns([fileOf(bytes)], failing);
    await importRuns([fileOf(bytes)], target);
    expect(await bytesOf(exportQuark(await openRun(target, 'run_one'))), `after ${cut}`).toEqual(
      bytes,
    );
  }
});

test('documents of the project travel, private ones on request, and overwrite nothing', async () => {
  const reader = await recorded(2, ['metrics']);
  const project = reader.run.projectName;
  const plain = await bytesOf(exportQuark(reader));
  const documents = [
    { kind: 'view', id: 'a', name: 'Ä', author: 'ann', body: '{"sections":[]}' },
    { kind: 'report', id: 'b', name: 'B', author: null, body: '{"blocks":[{"text":"ü\\u0000"}]}' },
    { kind: 'view', id: 'a', name: 'Mine', visibility: 'private', body: '{"mine":1}' },
  ] as const;
  for (const one of documents.slice(0, 2)) await putDocument(reader.store, project, one, 0); // oxlint-disable-line no-await-in-loop -- two
  await putDocument(reader.store, project, { ...documents[2], id: 'c' }, 0);
  expect(await bytesOf(exportQuark(reader, { documents: 'none' }))).toEqual(plain);
  const shared = await bytesOf(exportQuark(reader));
  const target = createMemoryStore();
  const report = await importRuns([fileOf(shared)], target, { project: 'elsewhere' });
  expect(report).toMatchObject({ problems: [], runs: [{ isComplete: true }] });
  expect(await findDocument(target, 'elsewhere', 'view', 'a')).toMatchObject(documents[0]);
  expect(await findDocument(target, 'elsewhere', 'report', 'b')).toMatchObject(documents[1]);
  expect(await findDocument(target, 'elsewhere', 'view', 'c')).toBeUndefined();
  const all = await bytesOf(exportQuark(reader, { documents: 'all' }));
  await putDocument(target, 'elsewhere', { ...documents[0], name: 'Theirs' });
  const again = await importRuns([fileOf(all)], target, { project: 'elsewhere' });
  expect(again.problems.map(({ reason }) => reason)).toEqual([
    'The view "a" of the project is there with other content, and stays as it is.',
  ]);
  expect(await findDocument(target, 'elsewhere', 'view', 'a')).toMatchObject({ name: 'Theirs' });
  expect(await findDocument(target, 'elsewhere', 'view', 'c')).toMatchObject({
    name: 'Mine',
    visibility: 'private',
  });
});

test('a document that is none is left out, and the runs are imported', async () => {
  const reader = await recorded(2, ['metrics']);
  const hostile = (document: object, body = '{}'): Uint8Array<ArrayBuffer> => {
    const bytes = new TextEncoder().encode(body);
    const { bytes: head } = partHead(
      'blob',
      0,
      { project: reader.run.projectName, document },
      bytes,
    );
    return Uint8Array.from([...head, ...bytes]);
  };
  const whole = await bytesOf(exportQuark(reader));
  // Without index and end: parts are read one after the other.
  const parts = whole.slice(0, whole.length - 32 - 32 * countOfParts(whole));
  const header = {
    kind: 'view',
    id: 'a',
    name: 'A',
    author: null,
    revision: 1,
    created_at_ms: 1,
    updated_at_ms: 1,
    size_bytes: 2,
  };
  for (const part of [
    hostile({ ...header, kind: '../x' }),
    hostile({ ...header, id: 'a/b' }),
    hostile({ ...header, name: 'a\u0000b' }),
    hostile({ ...header, visibility: 'other' }),
    hostile({}),
    hostile(header, '[]'),
    hostile(header, `{"a":"${'x'.repeat(300_000)}"}`),
  ]) {
    const store = createMemoryStore();
    const file = Uint8Array.from([...parts, ...part]);
    const report = await importRuns([fileOf(file)], store); // oxlint-disable-line no-await-in-loop -- seven
    expect(report.runs).toHaveLength(1);
    expect(report.problems.some(({ place }) => place?.startsWith('blob'))).toBe(true);
    expect(await listDocuments(store, reader.run.projectName)).toEqual([]); // oxlint-disable-line no-await-in-loop -- seven
  }
});

function countOfParts(file: Uint8Array<ArrayBuffer>): number {
  return new DataView(file.buffer).getUint32(file.length - 16, true);
}

describe('damage', () => {
  test('a file that is cut off gives what is whole, and the rest when it comes', async () => {
    const reader = await recorded(4, ['metrics', 'events', 'phases']);
    const bytes = await bytesOf(exportQuark(reader));
    for (const share of [0.3, 0.6, 0.95, 0.9999]) {
      const store = createMemoryStore();
      const report = await importRuns(
        [fileOf(bytes.slice(0, Math.floor(bytes.length * share)))],
        store,
      );
      expect(report.runs).toMatchObject([{ isComplete: false }]);
      expect(report.problems[0]?.reason).toMatch(/cut off/);
      await importRuns([fileOf(bytes)], store);
      expect(await bytesOf(exportQuark(await openRun(store, 'run_one')))).toEqual(bytes);
    }
  });

  test('any single byte is found', async () => {
    const reader = await recordRun([
      ['events', fc.sample(validBatch(tableOf('events'), 3), { numRuns: 1, seed: 5 })],
    ]);
    await withArtifact(reader, Uint8Array.of(1, 2, 3), 100);
    const bytes = await bytesOf(exportQuark(reader));
    const ofTheEnd = bytes.length - 64;
    for (let at = 0; at < bytes.length; at += at < ofTheEnd ? 7 : 1) {
      const copy = bytes.slice();
      copy[at] = (copy[at] ?? 0) ^ 0x10;
      const report = await importRuns([fileOf(copy)], createMemoryStore(), { format: 'quark' });
      // Bytes 12 to 16 are for later versions.
      expect(report.problems.length > 0 || (at >= 12 && at < 16), `byte ${at}`).toBe(true);
    }
  });

  test('whatever is changed, the import ends and tells', async () => {
    const bytes = await bytesOf(exportQuark(await recorded(3, ['metrics', 'events'])));
    await fc.assert(
      fc.asyncProperty(damaged([{ 'run.quark': bytes }]), async (files) => {
        const store = createMemoryStore();
        const report = await importRuns(
          Object.entries(files).map(([path, content]) => bytesInput(path, content)),
          store,
          { format: 'quark' },
        );
        expect(report.runs.length + report.problems.length).toBeGreaterThan(0);
        for (const { runId } of report.runs) await (await openRun(store, runId)).readMetrics();
      }),
      runs(1000),
    );
  }, 120_000);
});
