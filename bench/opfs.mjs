// Appends to the stores of a browser, in Chromium with a profile on disk: IndexedDB, files, and files that are flushed before each answer.
//
//   npm run bench -- opfs
//
// Measured: `appendSegments` of the package, one call a segment of 28 bytes a point, made before the clock starts, from the first call to
// the last answer, in turns. Then ten tabs at once, each with a run of its own, until the last one is done; all is listed again.
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inChromium } from './chromium.mjs';
import { median, report } from './harness.mjs';
import { runOf } from './made-segments.mjs';

const ROUNDS = 5;
const TABS = 10;
const CORE = '/index.js';
const dist = fileURLToPath(new URL('../dist/', import.meta.url));
const build = fileURLToPath(new URL('../build/', import.meta.url));
const STORES = ['idb', 'opfs', 'opfs, flushed'];

/** Appends segments in a page; returns millions of points a second. */
async function appendAll({ core, count, name, rows, run, store: kind }) {
  const { openStorage } = await import(core);
  const query = kind === 'opfs, flushed' ? '?synchronous=full' : '';
  const store = await openStorage(`${kind === 'idb' ? 'idb' : 'opfs'}:${name}${query}`);
  await store.createRun(run);
  const none = { stepMin: null, stepMax: null, epochMin: null, epochMax: null };
  const segments = Array.from({ length: count + 1 }, (_, batchNumber) => {
    const bytes = new Uint8Array(rows * 28).fill(batchNumber);
    const identity = { runId: run.id, table: 'metrics', writerId: 'w', batchNumber };
    const sizes = { rowCount: rows, sizeBytes: bytes.length, checksum: batchNumber };
    const times = { timeMinMs: null, timeMaxMs: null, keys: ['loss'], sources: [] };
    const form = { schemaVersion: 1, encoding: 'arrow' };
    return { manifest: { ...identity, ...none, ...sizes, ...times, ...form }, bytes };
  });
  await store.appendSegments([segments[count]]);
  const before = performance.now();
  for (let i = 0; i < count; i++) await store.appendSegments([segments[i]]);
  const ms = performance.now() - before;
  const listed = await store.listSegments({ runId: run.id, table: 'metrics' });
  if (listed.length !== count + 1) throw new Error(`${listed.length} segments of ${count + 1}`);
  await store.close();
  return (rows * count) / ms / 1000;
}

await mkdir(build, { recursive: true });
const profile = await mkdtemp(join(build, 'bench-opfs-'));
const index = '<!doctype html><title>bench</title>';
const speeds = {};
try {
  await inChromium(dist, { index, profile }, async (browser, url) => {
    const open = async () => {
      const page = await browser.newPage();
      await page.goto(url);
      return page;
    };
    const page = await open();
    let next = 0;
    for (let round = 0; round < ROUNDS; round++)
      for (const [rows, count] of [
        [1000, 200],
        [10_000, 50],
        [65_536, 16],
      ])
        for (const store of STORES) {
          const given = {
            core: CORE,
            count,
            name: `bench-${next++}`,
            rows,
            run: runOf('run_1'),
            store,
          };
          (speeds[`${rows} rows, ${store}`] ??= []).push(await page.evaluate(appendAll, given));
        }
    const tabs = await Promise.all(Array.from({ length: TABS }, open));
    for (let round = 0; round < 3; round++)
      for (const store of STORES.slice(0, 2)) {
        const name = `tabs-${next++}`;
        const count = 50;
        const before = performance.now();
        await Promise.all(
          tabs.map((tab, i) =>
            tab.evaluate(appendAll, {
              core: CORE,
              count,
              name,
              rows: 1000,
              run: runOf(`run_${i}`),
              store,
            }),
          ),
        );
        const speed = (TABS * count) / (performance.now() - before);
        (speeds[`ten tabs, 1000 rows, ${store}`] ??= []).push(speed);
      }
  });
} finally {
  await rm(profile, { recursive: true, force: true, maxRetries: 10 });
}
const lines = Object.entries(speeds).map(([what, list]) => ({
  what,
  value: median(list),
  unit: 'M points/s',
  ...(what === '1000 rows, opfs' ? { target: 'at least 5 times IndexedDB' } : {}),
}));
await report('opfs', lines);
