// The whole way of a metric in Chromium: `log`, flush, IndexedDB. Against one IndexedDB record a point.
//
//   npm run bench -- browser
//
// Inside the figures: from the first call to the last acknowledgement. Records are put 1,000 to a transaction, with the
// same durability hint; fewer points are put that way, because it takes so long.
import { fileURLToPath } from 'node:url';
import { median, report } from './harness.mjs';
import { inChromium } from './chromium.mjs';

const ROUNDS = 7;
const dist = fileURLToPath(new URL('../dist/', import.meta.url));
const index = '<!doctype html><title>bench</title>';
const times = await inChromium(dist, { index }, async (browser, url) => {
  const page = await browser.newPage();
  await page.goto(url);
  return await page.evaluate(
    async ({ core, rounds }) => {
      const { MetricsLogger, openRun, openStorage, startRun } = await import(core);
      const keys = Array.from({ length: 20 }, (_, i) => `group${i % 4}/metric_${i}`);
      const records = async (points) => {
        const name = `rows-${Math.random()}`;
        const db = await new Promise((resolve, reject) => {
          const opening = indexedDB.open(name, 1);
          opening.addEventListener('upgradeneeded', () =>
            opening.result.createObjectStore('points', { autoIncrement: true }),
          );
          opening.addEventListener('success', () => resolve(opening.result));
          opening.addEventListener('error', () => reject(opening.error));
        });
        const before = performance.now();
        for (let i = 0; i < points;) {
          const transaction = db.transaction('points', 'readwrite', { durability: 'relaxed' });
          const store = transaction.objectStore('points');
          for (const end = Math.min(points, i + 1000); i < end; i++)
            store.put({ key: keys[i % 20], value: Math.random(), step: i, time: Date.now() });
          await new Promise((resolve, reject) => {
            transaction.addEventListener('complete', resolve);
            transaction.addEventListener('abort', () => reject(transaction.error));
          });
        }
        const ms = performance.now() - before;
        db.close();
        indexedDB.deleteDatabase(name);
        return (ms / points) * 1000;
      };
      const quark = (points, flushRows) => async () => {
        const name = `bench-${Math.random()}`;
        const session = await startRun({ project: 'bench', storageDir: name });
        const metrics = new MetricsLogger(session, { batchSize: flushRows });
        const before = performance.now();
        for (let i = 0; i < points;) {
          for (const end = Math.min(points, i + flushRows); i < end; i++)
            metrics.log(keys[i % 20], Math.random(), { step: (i / 20) | 0 });
          await session.flush();
        }
        const ms = performance.now() - before;
        await metrics.close();
        const store = await openStorage(`idb:${name}`);
        const { rowCount } = await (await openRun(store, session.runId)).readMetricColumns();
        if (rowCount !== points) throw new Error(`${rowCount} points were read back`);
        await store.close();
        await session.close();
        indexedDB.deleteDatabase(name);
        return (ms / points) * 1000;
      };
      const cases = {
        records: () => records(20_000),
        flush1000: quark(200_000, 1000),
        flush10000: quark(1_000_000, 10_000),
      };
      const measured = {};
      for (let round = 0; round < rounds; round++)
        for (const [name, work] of Object.entries(cases))
          (measured[name] ??= []).push(await work());
      return measured;
    },
    { core: '/index.js', rounds: ROUNDS },
  );
});

const us = Object.fromEntries(Object.entries(times).map(([name, list]) => [name, median(list)]));
await report('record-indexeddb', [
  { what: 'one record a point, 1,000 to a transaction', value: 1 / us.records, unit: 'M points/s' },
  { what: 'log + flush every 1,000', value: 1 / us.flush1000, unit: 'M points/s' },
  { what: '  ratio to records', value: us.records / us.flush1000, unit: 'x' },
  { what: 'log + flush every 10,000', value: 1 / us.flush10000, unit: 'M points/s' },
  {
    what: '  ratio to records',
    value: us.records / us.flush10000,
    unit: 'x',
    target: 'at least 100',
  },
]);
