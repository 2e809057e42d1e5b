/** `quark.min.js` in Chromium: from another host, as a package host serves it, and in a worker that Vite makes of one file. */
import { join } from 'node:path';
import { build } from 'vite';
import { expect, test } from 'vitest';
import { openPage, REPOSITORY } from './consumer.ts';
import { workshop } from './workshop.ts';

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

const shop = workshop();

test('a page records, trains with TensorFlow.js, and loads nothing but the file', async () => {
  const { root: host } = shop.consumer({});
  const { server, url } = await shop.serve(host, undefined, { 'access-control-allow-origin': '*' });
  const framework = await shop.serve(
    join(REPOSITORY, 'node_modules/@tensorflow/tfjs/dist'),
    undefined,
    {
      'access-control-allow-origin': '*',
    },
  );
  const own = await shop.serve(
    shop.consumer({
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
    }).root,
  );
  expect(await openPage(shop.browser, own.url)).toEqual({
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
  const { root } = shop.consumer({
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
  const { url } = await shop.serve(join(root, 'dist'));
  expect(await openPage(shop.browser, url)).toEqual({ outcome: RECORDED, errors: [] });
});
