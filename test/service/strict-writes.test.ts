/** A service that looks at what it keeps: what Quark records passes, what says something untrue of itself does not. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AnalyzerEngine } from 'quark-sdk/analysis';
import { ArtifactStore, DataDiagnostics, SystemTelemetry } from 'quark-sdk/probes';
import { EventLogger, MetricsLogger, startRun } from 'quark-sdk';
import { exportTableJsonLines } from '../../src/exchange/export/table-export.ts';
import { openRun } from '../../src/read/run-reader.ts';
import { metricTable } from '../../src/records/metric.ts';
import { TABLES } from '../../src/records/tables.ts';
import { concatBatches } from '../../src/segment/batch-ops.ts';
import { segmentChecksum } from '../../src/segment/checksum.ts';
import { compactTable } from '../../src/segment/compact.ts';
import { encodeBatch } from '../../src/segment/encode.ts';
import { createSegment } from '../../src/segment/manifest.ts';
import { packSegment } from '../../src/codecs/packed/pack.ts';
import { CONTENT_CHECKS } from '../../src/service/limits/content-checks.ts';
import { openHttpStorage } from '../../src/wire/http-store.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import type { NewSegment, SegmentManifest, Store } from '../../src/store/store.ts';
import { valuesOf } from '../support/batches.ts';
import { damagedBytes } from '../support/mutations.ts';
import { runs } from '../support/property.ts';
import { allRows, recordRun, runWith, validBatch } from '../support/recorded-run.ts';
import { handlerOf } from './filled-store.ts';

const RUN = 'run_one';
const IDENTITY = { runId: RUN, table: 'metrics', writerId: 'w', batchNumber: 0 };
const METRICS = fc.sample(validBatch(metricTable, 40), { numRuns: 1, seed: 7 })[0]!;

async function strict(): Promise<{ store: Store; remote: Store }> {
  const store = createMemoryStore();
  const fetch = handlerOf(store, { writable: true, checks: CONTENT_CHECKS });
  return { store, remote: await openHttpStorage('http://quark.example/', { fetch }) };
}

/** The segment under a manifest that was changed, with the checksum of its bytes. */
function segmentWith(
  change: Partial<SegmentManifest>,
  bytes?: Uint8Array<ArrayBuffer>,
): NewSegment {
  const segment = createSegment(metricTable, IDENTITY, METRICS);
  const content = bytes ?? segment.bytes;
  return {
    bytes: content,
    manifest: {
      ...segment.manifest,
      sizeBytes: content.byteLength,
      checksum: segmentChecksum(IDENTITY, content),
      ...change,
    },
  };
}

/** A short training with what instruments record in it. */
async function recordEverything(storage: Store): Promise<string> {
  const session = await startRun({ project: 'digits', storage, tags: ['x'], config: { lr: 0.1 } });
  const metrics = new MetricsLogger(session);
  const events = new EventLogger(session);
  const telemetry = new SystemTelemetry(session);
  const artifacts = new ArtifactStore(session);
  const batches = new DataDiagnostics(session);
  for (let step = 0; step < 60; step++) {
    metrics.log('train/loss', step === 40 ? Number.NaN : 1 / (1 + step), { step });
    if (step % 10 === 0) metrics.log('acc', step / 60, { step, epoch: step / 10 });
    events.log('checkpoint_saved', { step, payload: { path: 'naïve ☃' } });
    batches.logBatch(1, { batchSize: 4, sampleIds: ['a', 'b'], step });
    telemetry.recordStep(step, { stepTimeMs: 5 });
  }
  await artifacts.store('note', 'note', { text: 'kept' });
  await Promise.all([metrics.flush(), events.flush(), telemetry.flush(), batches.flush()]);
  await new AnalyzerEngine(session).analyze();
  await session.endRun();
  await session.close();
  return session.runId;
}

describe('a service that looks at what it keeps', () => {
  it('takes rows of every table, and what merging makes of them', async () => {
    for (const table of TABLES.values()) {
      await fc.assert(
        fc.asyncProperty(
          fc.array(validBatch(table, 12), { minLength: 2, maxLength: 4 }),
          async (batches) => {
            const { store, remote } = await strict();
            const reader = await recordRun([[table.table, batches]], remote);
            const before = await allRows(reader, table);
            expect(before.rowCount).toBe(batches.reduce((sum, { rowCount }) => sum + rowCount, 0));
            await compactTable(remote, table, RUN, 'merge');
            const [merged, ...rest] = await store.listSegments({ runId: RUN, table: table.table });
            expect(rest).toEqual([]);
            expect(merged?.writerId).toBe('merge-0');
            const after = await allRows(await openRun(store, RUN), table);
            for (const [name, column] of before.columns)
              expect(valuesOf(after.columns.get(name), after.rowCount), name).toEqual(
                valuesOf(column, before.rowCount),
              );
          },
        ),
        runs(3),
      );
    }
  });

  it('takes what sessions, analysis and findings record', async () => {
    const { store, remote } = await strict();
    const runId = await recordEverything(remote);
    const reader = await openRun(store, runId);
    expect(reader.damage).toEqual([]);
    const tables: string[] = [];
    for (const table of TABLES.values())
      if ((await store.listSegments({ runId, table: table.table })).length > 0)
        tables.push(table.table);
    expect(tables).toEqual(
      expect.arrayContaining([
        'metrics',
        'events',
        'telemetry',
        'artifacts',
        'batch_diagnostics',
        'health_scores',
      ]),
    );
    expect(reader.run.status).toBe('completed');
  });

  const lies: [string, Partial<SegmentManifest>][] = [
    ['rowCount', { rowCount: METRICS.rowCount + 1 }],
    ['stepMax', { stepMax: 2 ** 52 }],
    ['stepMin', { stepMin: null, stepMax: null }],
    ['epochMax', { epochMax: 2 ** 52 }],
    ['timeMinMs', { timeMinMs: -5e14 }],
    ['keys', { keys: ['none'] }],
    ['keys', { keys: [] }],
    ['keys', { keys: Array.from({ length: 300 }, (_, i) => `k${i}`) }],
    ['checksum', { checksum: 1 }],
    ['table', { table: 'unheard_of' }],
    ['bytes', { encoding: 'packed' }],
  ];
  it.each(lies)('refuses a manifest whose %s is not true: %j', async (field, change) => {
    const { store, remote } = await strict();
    await recordRun([], remote);
    const good = segmentWith({ batchNumber: 1 }).manifest;
    await expect(
      remote.appendSegments([
        createSegment(metricTable, { ...IDENTITY, batchNumber: good.batchNumber }, METRICS),
        segmentWith(change),
      ]),
    ).rejects.toMatchObject({ reason: 'rejected', details: { field, status: 400 } });
    expect(await store.listSegments({ runId: RUN, table: 'metrics' })).toEqual([]);
  });

  it('takes keys that are not listed, and refuses rows beyond measure and newer forms by name', async () => {
    const { remote } = await strict();
    await recordRun([], remote);
    await expect(remote.appendSegments([segmentWith({ rowCount: 2 ** 21 })])).rejects.toMatchObject(
      {
        reason: 'too_large',
        details: { field: 'rowCount' },
      },
    );
    await expect(remote.appendSegments([segmentWith({ schemaVersion: 99 })])).rejects.toMatchObject(
      {
        reason: 'version',
        message: expect.stringContaining('Update quark-sdk on the service') as string,
      },
    );
    expect(await remote.appendSegments([segmentWith({ keys: null })])).toHaveLength(1);
  });

  it('refuses rows without what every row has, and values that are none', async () => {
    const { remote } = await strict();
    await recordRun([], remote);
    const column = (name: string, value: number): NewSegment => {
      const columns = new Map(METRICS.columns);
      columns.set(name, { kind: 'number', values: new Float64Array(METRICS.rowCount).fill(value) });
      return createSegment(metricTable, IDENTITY, { ...METRICS, columns });
    };
    for (const [segment, field] of [
      [column('timestamp', 9e15), 'timestamp'],
      [column('step', -1), 'step'],
      [column('step', 0.5), 'step'],
      [column('timestamp', Number.NaN), 'timestamp'],
      [
        segmentWith({}, encodeBatch(metricTable, { rowCount: 1000, columns: new Map() })),
        'rowCount',
      ],
      [
        segmentWith(
          { rowCount: 1000 },
          encodeBatch(metricTable, { rowCount: 1000, columns: new Map() }),
        ),
        'timestamp',
      ],
    ] as const)
      await expect(remote.appendSegments([segment]), field).rejects.toMatchObject({
        reason: 'rejected',
        details: { field },
      });
  });

  it('refuses merged segments whose sequence numbers are not those of their rows', async () => {
    const { remote, store } = await strict();
    await recordRun([['metrics', [METRICS, METRICS]]], remote);
    const segments = await store.listSegments({ runId: RUN, table: 'metrics' });
    const rows = concatBatches([METRICS, METRICS]);
    const sources = [{ writerId: 'writer', batchStart: 0, batchLast: 1 }];
    const made = createSegment(metricTable, { ...IDENTITY, writerId: 'merge' }, rows);
    const merged = {
      ...made.manifest,
      sources,
      firstSequence: 0,
      lastSequence: 2 * METRICS.rowCount - 1,
    };
    for (const change of [{ lastSequence: 2 ** 50 }, { firstSequence: 1 }])
      await expect(
        remote.replaceSegments(RUN, 'metrics', segments, [
          { manifest: { ...merged, ...change }, bytes: made.bytes },
        ]),
      ).rejects.toMatchObject({ reason: 'rejected' });
    expect(
      await remote.replaceSegments(RUN, 'metrics', segments, [
        { manifest: merged, bytes: made.bytes },
      ]),
    ).toBe(true);
  });

  it('does not unpack what says it is huge', async () => {
    const { remote } = await strict();
    await recordRun([], remote);
    const claim = (length: number): Uint8Array<ArrayBuffer> => {
      const header = new TextEncoder().encode(
        JSON.stringify({ length, deflated: 0, pieces: [[length, 8, 0, [0, 0, 0, 0, 0, 0, 0, 0]]] }),
      );
      const bytes = new Uint8Array(8 + header.length);
      bytes.set(new TextEncoder().encode('QPK1'));
      new DataView(bytes.buffer).setUint32(4, header.length, true);
      bytes.set(header, 8);
      return bytes;
    };
    await expect(
      remote.appendSegments([segmentWith({ encoding: 'packed' }, claim(2 ** 28))]),
    ).rejects.toMatchObject({
      details: { field: 'bytes', value: expect.stringContaining('larger than') as string },
    });
  });

  it('keeps nothing that readers trip over, whatever the bytes', async () => {
    const { store, remote } = await strict();
    await recordRun([], remote);
    const plain = createSegment(metricTable, IDENTITY, METRICS).bytes;
    const packed = await packSegment(plain);
    let batchNumber = 0;
    let kept = 0;
    await fc.assert(
      fc.asyncProperty(damagedBytes([plain, packed]), async ({ input, bytes }) => {
        batchNumber += 1;
        const identity = { ...IDENTITY, batchNumber };
        const { manifest } = segmentWith(
          { batchNumber, encoding: input === 0 ? 'arrow' : 'packed' },
          bytes,
        );
        const checksum = segmentChecksum(identity, bytes);
        const outcome = await remote
          .appendSegments([{ manifest: { ...manifest, checksum }, bytes }])
          .then(
            () => 'kept',
            (error: unknown) => error,
          );
        if (outcome === 'kept') kept += 1;
        else expect(outcome).toMatchObject({ code: 'store_failed', details: { status: 400 } });
      }),
      runs(200),
    );
    const reader = await openRun(store, RUN);
    let lines = 0;
    const damage: unknown[] = [];
    const options = { onDamage: (report: unknown) => damage.push(report) };
    for await (const piece of exportTableJsonLines(reader, 'metrics', options))
      lines += piece.split('\n').length - 1;
    expect(damage).toEqual([]);
    expect(lines).toBe(kept * METRICS.rowCount);
  });

  it('refuses runs that lists could not show', async () => {
    const { store, remote } = await strict();
    const run = {
      id: RUN,
      projectId: 'prj_one',
      projectName: 'digits',
      status: 'running',
      startedAtMs: 1,
      tags: [],
      document: JSON.stringify(runWith().toDict()),
    };
    for (const change of [
      { startedAtMs: 1e300 },
      { document: 'no' },
      { document: '{"id":"other"}' },
      { document: '[]' },
      { projectId: 'prj_two' },
      { projectName: 'other' },
      { document: JSON.stringify({ id: RUN, config: 'x'.repeat(5_000_000) }) },
      { projectName: 'x'.repeat(600) },
      { status: 'x'.repeat(60) },
      { tags: Array.from({ length: 1000 }, (_, i) => `t${i}`) },
    ])
      await expect(remote.createRun({ ...run, ...change })).rejects.toMatchObject({
        code: 'invalid_input',
      });
    await expect(
      remote.ensureProject({ id: 'p', name: 'n'.repeat(600), createdAtMs: 1 }),
    ).rejects.toMatchObject({ code: 'invalid_input' });
    await expect(remote.renewLease(RUN, 'h', 1e12)).rejects.toMatchObject({
      code: 'invalid_input',
    });
    expect(await store.listRuns()).toEqual([]);
    expect(await remote.createRun(run)).toMatchObject({ revision: 1 });
  });
});
