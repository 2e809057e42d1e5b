/** A part that the network took away when a run began, in Chromium, which does not ask for a module again that it could not fetch. */
import { expect, test } from 'vitest';
import { workshop } from './workshop.ts';

const DIST = 'node_modules/quark-sdk/dist';
const PAGE = `<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><script type="module">
  import { MetricsLogger, openRun, openStorage, startRun } from './${DIST}/index.js';
  const session = await startRun({ project: 'lost-part' });
  const metrics = new MetricsLogger(session);
  for (let step = 0; step < 10; step++) metrics.log('train/loss', step, { step });
  globalThis.begun = session.recordingStatus().state;
  globalThis.flushed = async () => {
    await session.flush();
    return session.recordingStatus().bufferedRows === 0;
  };
  globalThis.read = async () => {
    await session.endRun();
    await session.close();
    const store = await openStorage();
    const run = await openRun(store, session.runId);
    return [...(await run.readMetricColumns({ metricKey: 'train/loss' })).values];
  };
</script>`;

const shop = workshop();

test('rows that were logged while the store could not be loaded are stored once it can be', async () => {
  const { server, url } = await shop.serve(shop.consumer({ 'index.html': PAGE }).root);
  const page = await shop.browser.newPage();
  await page.route(/chunk-idb-store-/, (route) => route.abort());
  await page.goto(url);
  await page.waitForFunction(() => Reflect.has(globalThis, 'begun'));
  expect(await page.evaluate('begun')).toBe('stopped');
  await page.unroute(/chunk-idb-store-/);
  await page.waitForFunction('flushed()', undefined, { polling: 200, timeout: 60_000 });
  expect(await page.evaluate('read()')).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  const asked = server.requested.filter((path) => path.includes('chunk-idb-store-'));
  expect(asked).toHaveLength(1);
});
