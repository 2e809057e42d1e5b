/** What a key that writes, and one that deletes, cannot remove for good: rows by a merge, and bytes before their time. */
import fc from 'fast-check';
import { afterEach, expect, test } from 'vitest';
import { deleteProject } from '../../src/read/project-deletion.ts';
import { deleteArtifact, deleteTable } from '../../src/read/row-deletion.ts';
import { metricTable } from '../../src/records/metric.ts';
import { TABLES } from '../../src/records/tables.ts';
import { concatBatches, gatherRows } from '../../src/segment/batch-ops.ts';
import { compactTable } from '../../src/segment/compact.ts';
import { createSegment, describeSegment } from '../../src/segment/manifest.ts';
import { encodeBatch, SEQUENCE_COLUMN } from '../../src/segment/encode.ts';
import { openSegment } from '../../src/segment/open-segment.ts';
import type { KeyScope } from '../../src/service.ts';
import type { MergedSegment, SegmentManifest, Store } from '../../src/store/store.ts';
import type { RowBatch } from '../../src/codecs/arrow/vectors.ts';
import { quark } from '../cli/fake-io.ts';
import { artifactSegmentOf } from '../support/artifact-segments.ts';
import { runs } from '../support/property.ts';
import { validBatch } from '../support/recorded-run.ts';
import { metricSegmentOf } from '../support/real-segments.ts';
import { runOf } from '../support/segments.ts';
import { RunningServices, storeOf } from './running-service.ts';

const DAY_MS = 24 * 3_600_000;
const FORBIDDEN = { reason: 'unauthorised', details: { status: 403, needed: 'admin' } };
const LOSES = { reason: 'rejected', details: { status: 403, needed: 'admin' } };
const services = new RunningServices();
const stores: Store[] = [];
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close();
  await services.clear();
});

async function open(limits: { minUndoDays?: number } = {}) {
  const service = await services.start({ maintenance: false, limits });
  const keyOf = async (scope: KeyScope, user = 'alice') =>
    (await service.access.createKey({ user, scope })).key;
  const storeAs = async (scope: KeyScope) => {
    const store = await storeOf(service, await keyOf(scope));
    stores.push(store);
    return store;
  };
  return { service, keyOf, storeAs };
}

/** The segments as one, after `change` of their rows. */
async function mergeBy(
  store: Store,
  change: (rows: RowBatch) => RowBatch,
): Promise<{ readonly remove: readonly SegmentManifest[]; readonly add: MergedSegment }> {
  const remove = await store.listSegments({ runId: 'run_1', table: 'metrics' });
  const reads = await store.readSegments(remove);
  const batches: RowBatch[] = [];
  for (const [i, manifest] of remove.entries()) {
    const opened = await openSegment(metricTable, manifest, reads[i] ?? { kind: 'gone' });
    if (opened.kind !== 'opened') throw new Error('It was appended.');
    const { batch, sequences } = opened.segment;
    const numbered = [SEQUENCE_COLUMN, { kind: 'number', values: sequences }] as const;
    batches.push({ ...batch, columns: new Map([...batch.columns, numbered]) });
  }
  const batch = change(concatBatches(batches));
  const numbers = batch.columns.get(SEQUENCE_COLUMN);
  const sequences = numbers?.kind === 'number' ? [...numbers.values] : [];
  const identity = { runId: 'run_1', table: 'metrics', writerId: 'mine', batchNumber: 0 };
  const bytes = encodeBatch(metricTable, batch);
  const sources = remove.map(({ writerId, batchNumber }) => ({
    writerId,
    batchStart: batchNumber,
    batchLast: batchNumber,
  }));
  const { manifest } = describeSegment({ table: metricTable, identity, batch, bytes, sources });
  const [firstSequence, lastSequence] = [Math.min(...sequences), Math.max(...sequences)];
  return { remove, add: { manifest: { ...manifest, firstSequence, lastSequence }, bytes } };
}

test('a merge with a key that writes loses no row, changes no cell, and forgets no batch', async () => {
  const { storeAs } = await open();
  const [writes, admin] = [await storeAs('write'), await storeAs('admin')];
  await writes.createRun(runOf());
  const placed = await writes.appendSegments([metricSegmentOf(0), metricSegmentOf(1)]);
  const refused = async (
    change: (rows: RowBatch) => RowBatch,
    manifest: Partial<SegmentManifest> = {},
  ) => {
    const { add, remove } = await mergeBy(writes, change);
    const changed = { ...add, manifest: { ...add.manifest, ...manifest } };
    await expect(
      writes.replaceSegments('run_1', 'metrics', remove, [changed]),
    ).rejects.toMatchObject(LOSES);
  };
  await refused((rows) =>
    gatherRows(
      rows,
      Int32Array.from({ length: 19 }, (_, i) => i + 1),
    ),
  );
  await refused((rows) =>
    gatherRows(
      rows,
      Int32Array.from({ length: 20 }, (_, i) => i || 1),
    ),
  );
  await refused((rows) => {
    const value = rows.columns.get('value');
    if (value?.kind !== 'f64') throw new Error('Metrics have values.');
    const other = { ...value, values: value.values.map((one, i) => (i === 7 ? one + 1e-9 : one)) };
    return { ...rows, columns: new Map([...rows.columns, ['value', other]]) };
  });
  await refused((rows) => rows, { superseded: true, generation: 1 });
  await refused((rows) => rows, { droppedRows: 5 });
  await refused((rows) => rows, { sources: [] });
  await expect(writes.replaceSegments('run_1', 'metrics', placed, [])).rejects.toMatchObject(LOSES);
  // The same by another way: the table as a whole.
  await expect(writes.replaceTable('run_1', 'metrics', [])).rejects.toMatchObject(LOSES);
  await expect(
    writes.replaceTable('run_1', 'metrics', [metricSegmentOf(0), metricSegmentOf(7)]),
  ).rejects.toMatchObject(LOSES);
  expect(await writes.listSegments({ runId: 'run_1', table: 'metrics' })).toEqual(placed);
  const { add, remove } = await mergeBy(writes, (rows) => rows);
  expect(await writes.replaceSegments('run_1', 'metrics', remove, [add])).toBe(true);
  // A merged segment is in single ones again, with one more.
  const whole = [metricSegmentOf(0), metricSegmentOf(1), metricSegmentOf(2)];
  expect(await writes.replaceTable('run_1', 'metrics', whole)).toHaveLength(3);
  expect(await admin.replaceTable('run_1', 'metrics', [])).toEqual([]);
});

test('what merging makes of rows of every table goes through with a key that writes', async () => {
  const { storeAs } = await open();
  const writes = await storeAs('write');
  let count = 0;
  for (const table of TABLES.values())
    await fc.assert(
      fc.asyncProperty(
        fc.array(validBatch(table, 8), { minLength: 2, maxLength: 3 }),
        async (batches) => {
          const id = `run_${count++}`;
          await writes.createRun(runOf({ id }));
          await writes.appendSegments(
            batches.map((batch, batchNumber) =>
              createSegment(
                table,
                { runId: id, table: table.table, writerId: 'w', batchNumber },
                batch,
              ),
            ),
          );
          const { added } = await compactTable(writes, table, id, 'merge');
          expect(added).toBe(1);
        },
      ),
      runs(2),
    );
});

test('a key of scope delete leaves time to bring back what it deletes, and removes no rows', async () => {
  const { keyOf, service, storeAs } = await open();
  const [writes, removes, admin] = [
    await storeAs('write'),
    await storeAs('delete'),
    await storeAs('admin'),
  ];
  await writes.ensureProject({ id: 'p1', name: 'digits', createdAtMs: 1 });
  await writes.createRun(runOf({ projectId: 'p1', status: 'completed' }));
  await writes.appendSegments([metricSegmentOf(0), artifactSegmentOf(0, [['a'.repeat(64)]])]);
  for (const keepMs of [0, DAY_MS - 1]) {
    await expect(removes.deleteRun('run_1', { keepMs })).rejects.toMatchObject(FORBIDDEN);
    await expect(deleteProject(removes, 'digits', { keepMs })).rejects.toMatchObject(FORBIDDEN);
  }
  await expect(deleteTable(removes, 'run_1', 'metrics')).rejects.toMatchObject(FORBIDDEN);
  await expect(deleteArtifact(removes, 'run_1', 'none')).rejects.toMatchObject(FORBIDDEN);
  const env = { QUARK_USER_KEY: await keyOf('delete') };
  const asked = (...args: string[]) =>
    quark([...args, '--storage', service.url], { cwd: '.', env });
  expect(await asked('rm', 'run_1', '--table', 'metrics', '--yes')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('needs a key of scope "admin"'),
  });
  expect(await asked('rm', 'run_1', '--days', '0')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--purge-now removes bytes at once'),
  });
  const spaced = await fetch(`${service.url}api/v1/spaces/default?keep_ms=5`, {
    method: 'DELETE',
    headers: { authorization: `Bearer ${env.QUARK_USER_KEY}` },
  });
  expect(spaced.status).toBe(403);
  expect(await writes.listRuns()).toHaveLength(1);
  const deleted = await removes.deleteRun('run_1', { keepMs: DAY_MS });
  expect(deleted.purgeAtMs - deleted.deletedAtMs).toBe(DAY_MS);
  // It is deleted already: its bytes go with a key of scope admin only.
  expect(await asked('rm', 'run_1', '--purge-now', '--yes')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('needs a key of scope "admin"; yours has "delete"'),
  });
  expect((await admin.findDeletedRun('run_1'))?.purgedAtMs).toBeUndefined();
  const purged = await quark(['rm', 'run_1', '--purge-now', '--yes', '--storage', service.url], {
    cwd: '.',
    env: { QUARK_USER_KEY: await keyOf('admin') },
  });
  expect(purged).toMatchObject({
    code: 0,
    stdout: 'Removed the bytes of 1 deleted run: run_1. Nothing brings it back.\n',
  });
  expect((await admin.findDeletedRun('run_1'))?.purgedAtMs).toBeTypeOf('number');
});

test('a service without a least time lets a key of scope delete remove at once', async () => {
  const { storeAs } = await open({ minUndoDays: 0 });
  const [writes, removes] = [await storeAs('write'), await storeAs('delete')];
  await writes.createRun(runOf({ status: 'completed' }));
  await writes.appendSegments([metricSegmentOf(0)]);
  expect((await deleteTable(removes, 'run_1', 'metrics')).rows).toBe(10);
  const { deletedAtMs, purgeAtMs } = await removes.deleteRun('run_1', { keepMs: 0 });
  expect(purgeAtMs).toBe(deletedAtMs);
});
