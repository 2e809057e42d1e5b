/** Files of runs on a page: made there, handed back as Blobs, read by random access, kept in IndexedDB. */
import { expect, test } from 'vitest';
import { longTest } from '../support/long.ts';
import { createMemoryStore, openRun, openStorage } from 'quark-sdk';
import {
  blobInput,
  exportQuark,
  exportTableParquet,
  importRuns,
  TABLE_NAMES,
} from 'quark-sdk/exchange';
import { decompressPage } from '../../src/codecs/parquet/parquet-codecs.ts';
import { putPayload } from '../../src/instruments/artifacts/parts.ts';
import { batchOfRows } from '../../src/segment/batch-ops.ts';
import { createSegment } from '../../src/segment/manifest.ts';
import { artifactTable } from '../../src/records/artifact.ts';
import { metricTable } from '../../src/records/metric.ts';
import { bytesOf, recordRun } from '../support/recorded-run.ts';

async function recorded() {
  const steps = Array.from({ length: 70_000 }, (_, step) => ({
    timestamp: 1_700_000_000_000 + step,
    metricKey: step % 2 === 0 ? 'train/loss' : 'val/loss',
    namespace: step % 2 === 0 ? 'train' : 'val',
    metricName: 'loss',
    value: step === 7 ? Number.NaN : 1 / (step + 1),
    step,
    epoch: null,
    description: null,
    metadata: null,
  }));
  const reader = await recordRun([['metrics', [batchOfRows(metricTable, steps)]]]);
  const kept = await putPayload(reader.store, [new Uint8Array(100_000).fill(9)], 40_000);
  const artifact = batchOfRows(artifactTable, [
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
  const identity = { runId: 'run_one', table: 'artifacts', writerId: 'writer', batchNumber: 0 };
  await reader.store.appendSegments([createSegment(artifactTable, identity, artifact)]);
  return reader;
}

test('a .quark file comes from a Blob into IndexedDB as it was, once', async () => {
  const reader = await recorded();
  const bytes = await bytesOf(exportQuark(reader));
  const store = await openStorage(`idb:exchange-${Date.now()}`);
  try {
    const file = new File([bytes], 'run.quark');
    const report = await importRuns([blobInput(file)], store);
    expect(report.problems).toEqual([]);
    expect(report.runs).toMatchObject([{ runId: 'run_one', rowCount: 70_000, isNew: true }]);
    const back = await openRun(store, 'run_one');
    expect(await bytesOf(exportQuark(back))).toEqual(bytes);
    // What is known is told by the index: no body is read again.
    let read = 0;
    const counted = blobInput(file);
    const again = await importRuns(
      [
        {
          ...counted,
          slice: async (start, end) => {
            const piece = await counted.slice(start, end);
            read += piece.length;
            return piece;
          },
        },
      ],
      store,
    );
    expect(again.runs).toMatchObject([{ isNew: false }]);
    // The beginning is looked at to tell the format.
    expect(read).toBeLessThan(65_536 + 16_384);
    const cut = await importRuns([blobInput(file.slice(0, -10), 'cut.quark')], store);
    expect(cut.problems[0]?.reason).toMatch(/cut off/);
  } finally {
    await store.close();
  }
});

longTest('Parquet comes from a Blob bit for bit', async () => {
  const reader = await recorded();
  const bytes = await bytesOf(exportTableParquet(reader, 'metrics'));
  const store = await openStorage('memory:');
  const report = await importRuns([blobInput(new File([bytes], 'metrics.parquet'))], store);
  expect(report.problems).toEqual([]);
  const [run] = report.runs;
  const back = await openRun(store, run?.runId ?? '');
  expect(await back.readMetricColumns()).toEqual(await reader.readMetricColumns());
  expect(TABLE_NAMES).toContain('metrics');
});

test('codecs that are loaded when they are met are there', async () => {
  // "hello", not compressed: a Zstandard frame with a raw block, a Brotli stream with a stored one.
  const text = new TextEncoder().encode('hello');
  const zstd = Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 0x20, 5, 0x29, 0, 0, ...text);
  expect(await decompressPage('ZSTD', zstd, 5)).toEqual(text);
  const brotli = Uint8Array.of(0x0b, 0x02, 0x80, ...text, 0x03);
  expect(await decompressPage('BROTLI', brotli, 5)).toEqual(text);
});

test('archives that are dropped are inflated by the engine: gzip, ZIP, TAR, and what is cut off', async () => {
  const zip =
    'UEsDBBQAAAAIAK4+d10nmduuFgAAABYAAAAQAAAAcnVuNy9tZXRyaWNzLmNzdisuSS3QyckvLuYy1DHSM+Uy0jEEkgBQSwECFAMUAAAACACuPnddJ5nbrhYAAAAWAAAAEAAAAAAAAAAAAAAAgAEAAAAAcnVuNy9tZXRyaWNzLmNzdlBLBQYAAAAAAQABAD4AAABEAAAAAAA=';
  const tarGz =
    'H4sIAPnwA2sC/+3NQQqDQAyF4aw9RQ8w2ExQ6XWKuBDaKpPR83fajeBeKfT/Fu+FbF5aXrfrc8hp7L3ufZUDaNE1zbeLfatat92ff4xqJheVEyye76nMy3/yPMzhMblXMVjdVhZiSQEAAAAAAAAAAAAAAAAA/Lg3aWdtLAAoAAA=';
  const bytesIn = (base64: string): Uint8Array<ArrayBuffer> =>
    Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  const gzip = async (text: string): Promise<Uint8Array<ArrayBuffer>> => {
    const packed = new Blob([text]).stream().pipeThrough(new CompressionStream('gzip'));
    return new Uint8Array(await new Response(packed).arrayBuffer());
  };
  const rows = Array.from({ length: 50_000 }, (_, i) => `${i},${Math.sin(i)}`);
  const long = await gzip(`step,loss\n${rows.join('\n')}\n`);
  const store = createMemoryStore();
  const { problems, runs } = await importRuns(
    [
      blobInput(new File([bytesIn(zip)], 'sent.zip')),
      blobInput(new File([bytesIn(tarGz)], 'sent.tar.gz')),
      blobInput(new File([long], 'long.csv.gz')),
      blobInput(new File([long.slice(0, long.length >> 1)], 'cut.csv.gz')),
    ],
    store,
  );
  expect(runs.map(({ files, rowCount }) => [files[0], rowCount]).slice(0, 3)).toEqual([
    ['sent/run7/metrics.csv', 2],
    ['sent/run8/metrics.csv', 2],
    ['long.csv', 50_000],
  ]);
  expect(runs[3]?.rowCount).toBeGreaterThan(1000);
  expect(runs[3]?.rowCount).toBeLessThan(50_000);
  expect(problems[0]).toMatchObject({
    file: 'cut.csv.gz',
    reason: expect.stringMatching(/cut off or damaged/),
  });
});
