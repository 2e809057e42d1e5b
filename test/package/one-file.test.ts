/** `quark.min.js` in Chromium: from another host, as a package host serves it, and in a worker that Vite makes of one file. */
import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Browser } from 'playwright';
import { build } from 'vite';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  Consumer,
  launchBrowser,
  openPage,
  packTarball,
  REPOSITORY,
  StaticServer,
} from './consumer.ts';

const FILE = 'node_modules/quark-sdk/dist/quark.min.js';

/** Records a run and reads it back, with these names of the package. */
const RECORDS = `
export async function record({ MetricsLogger, openRun, openStorage, startRun }) {
  const session = await startRun({ project: 'one-file', config: { lr: 0.1 } });
  const metrics = new MetricsLogger(session);
  for (let step = 0; step < 100; step++) metrics.log('train/loss', 1 / (step + 1), { step });
  await session.endRun('completed');
  await session.close();
  const store = await openStorage();
  const run = await openRun(store, session.runId);
  const { values } = await run.readMetricColumns({ metricKey: 'train/loss' });
  await store.close();
  return { uri: store.uri, status: run.effectiveStatus, rows: values.length, last: values[99] };
}
`;
const RECORDED = { uri: 'idb:quark', status: 'completed', rows: 100, last: 1 / 100 };

const page = (script: string): string =>
  `<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><script type="module">${script}</script>`;

let tarball: string;
let browser: Browser;
const cleanups: (() => void | Promise<void>)[] = [];
beforeAll(async () => {
  tarball = packTarball();
  cleanups.push(() => rmSync(dirname(tarball), { recursive: true, force: true }));
  browser = await launchBrowser();
  cleanups.push(() => browser.close());
});
afterAll(async () => {
  for (const cleanup of cleanups.toReversed()) await cleanup();
});

function consumer(files: Readonly<Record<string, string>>): string {
  const made = new Consumer(tarball, files);
  cleanups.push(() => made.remove());
  return made.root;
}

async function serve(root: string, headers: Readonly<Record<string, string>> = {}) {
  const server = new StaticServer(root, undefined, headers);
  cleanups.push(() => server.close());
  return { server, url: await server.listen() };
}

test('a page records, trains with TensorFlow.js, and loads nothing but the file', async () => {
  const host = consumer({});
  const { server, url } = await serve(host, { 'access-control-allow-origin': '*' });
  const framework = await serve(join(REPOSITORY, 'node_modules/@tensorflow/tfjs/dist'), {
    'access-control-allow-origin': '*',
  });
  const own = await serve(
    consumer({
      'record.js': RECORDS,
      'index.html': `<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,">
        <script src="${framework.url}tf.min.js"></script>
        <script type="module">
          import * as quark from '${url}${FILE}';
          import { record } from './record.js';
          async function train() {
            await tf.setBackend('cpu');
            const model = tf.sequential({ layers: [tf.layers.dense({ units: 1, inputShape: [2] })] });
            model.compile({ optimizer: 'sgd', loss: 'meanSquaredError' });
            const session = await quark.startRun({ project: 'one-file' });
            await model.fit(tf.ones([8, 2]), tf.ones([8, 1]), {
              epochs: 2, verbose: 0, callbacks: quark.quarkCallback(session, tf, model),
            });
            await session.endRun('completed');
            const store = session.store;
            const segments = await store.listSegments({ runId: session.runId, table: 'layer_summaries' });
            const run = await quark.openRun(store, session.runId);
            const { rowCount } = await run.readMetricColumns({ metricKey: 'train/loss' });
            await session.close();
            return { epochs: rowCount > 0, hasLayers: segments.length > 0 };
          }
          const refused = await quark.openStorage('opfs:x').catch(({ code, message }) => ({ code, message }));
          globalThis.outcome = { recorded: await record(quark), trained: await train(), refused };
        </script>`,
    }),
  );
  expect(await openPage(browser, own.url)).toEqual({
    outcome: {
      recorded: RECORDED,
      trained: { epochs: true, hasLayers: true },
      refused: {
        code: 'unsupported',
        message:
          'opfs:x needs the store in files, which quark.min.js lacks: import quark-sdk instead.',
      },
    },
    errors: [],
  });
  expect(server.requested).toEqual([`/${FILE}`]);
});

test('a worker that Vite makes in its default format, which cannot split code', async () => {
  const root = consumer({
    'record.js': RECORDS,
    'worker.js': `
      import * as quark from 'quark-sdk/quark.min.js';
      import { record } from './record.js';
      record(quark).then(postMessage, (error) => postMessage(String(error)));
    `,
    'index.html': page(`
      const worker = new Worker(new URL('./worker.js', import.meta.url), { type: 'module' });
      worker.onmessage = ({ data }) => { globalThis.outcome = data; };
    `),
  });
  await build({ root, configFile: false, logLevel: 'error' });
  const { url } = await serve(join(root, 'dist'));
  expect(await openPage(browser, url)).toEqual({ outcome: RECORDED, errors: [] });
});
