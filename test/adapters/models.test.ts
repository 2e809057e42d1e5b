/** Models as artifacts: what comes back is what was logged, ready to be trained on. */
import * as tf from '@tensorflow/tfjs';
import fc from 'fast-check';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { createMemoryStore, openRun, startRun, type Store, type TrainingSession } from 'quark-sdk';
import { loadModel, MediaLogger } from 'quark-sdk/media';
import { ArtifactStore, loadArtifact } from 'quark-sdk/probes';
import { storedZip } from '../../src/codecs/archives/zip-writer.ts';
import { readZipEntries, zipPart } from '../../src/codecs/archives/zip.ts';
import { bytesInput } from '../../src/codecs/input.ts';
import { runs } from '../support/property.ts';
import { data, model, weights } from './small-training.ts';

let store: Store;
let session: TrainingSession;
let media: MediaLogger;

beforeAll(() => tf.setBackend('cpu'));
beforeEach(async () => {
  store = createMemoryStore();
  session = await startRun({ project: 'models', storage: store, strictMode: true });
  media = new MediaLogger(session);
});
afterEach(() => store.close());

test('a model of TensorFlow.js goes on as if it had never been stored', async () => {
  const { xs, ys } = data();
  const whole = model(['accuracy'], tf.train.adam(0.05));
  await whole.fit(xs, ys, { epochs: 3, shuffle: false, verbose: 0 });
  await media.logModel('net', whole, { step: 8, epoch: 2, metadata: { why: 'best' } });
  const after = await whole.fit(xs, ys, { epochs: 2, shuffle: false, verbose: 0 });
  await media.logModel('net', whole, { step: 14, epoch: 4 });
  await session.endRun();

  const run = await openRun(store, session.runId);
  const saved = await loadModel(run, 'net', { step: 8 });
  expect(saved).toMatchObject({ format: 'tfjs', name: 'net', step: 8, epoch: 2 });
  expect(await loadModel(run, 'net')).toMatchObject({ step: 14 });
  if (saved.format !== 'tfjs') throw new Error('it is one of TensorFlow.js');
  const loaded = await tf.loadLayersModel(saved);
  const again = await loaded.fit(xs, ys, { epochs: 2, shuffle: false, verbose: 0 });
  expect(again.history['loss']).toStrictEqual(after.history['loss']);
  expect(loaded.getWeights().map((weight) => [...weight.dataSync()])).toStrictEqual(weights(whole));

  const [record] = await run.readArtifacts({ artifactType: 'model' });
  expect(record?.metadata).toMatchObject({ format: 'tfjs', user: { why: 'best' } });
  // What other programs find in the archive.
  const archive = (await loadArtifact(run, record ?? '')) as Uint8Array<ArrayBuffer>;
  const entries = await readZipEntries(bytesInput('model.zip', archive), {
    maxEntries: 10,
    maxListBytes: 1000,
  });
  expect(entries.map(({ path }) => path)).toStrictEqual(['model.json', 'weights.bin']);
  tf.dispose([xs, ys]);
});

test('models without an optimizer, and of ONNX', async () => {
  const bare = tf.sequential({ layers: [tf.layers.dense({ units: 2, inputShape: [3] })] });
  await media.logModel('bare', bare);
  const onnx = Uint8Array.of(0x08, 7, 0x12, 1, 65);
  await media.logModel('file', onnx);
  await media.logModel('exported', { exportModel: () => Promise.resolve(onnx) }, { step: 3 });
  const saved = await loadModel(session, 'bare');
  if (saved.format !== 'tfjs') throw new Error('it is one of TensorFlow.js');
  const loaded = await tf.loadLayersModel(saved);
  expect(loaded.getWeights().map((weight) => [...weight.dataSync()])).toStrictEqual(weights(bare));
  expect(await loadModel(session, 'file')).toMatchObject({
    format: 'onnx',
    bytes: onnx,
    step: null,
  });
  expect(await loadModel(session, 'exported')).toMatchObject({
    format: 'onnx',
    bytes: onnx,
    step: 3,
  });
});

test('what is no model is refused, and what is damaged is reported', async () => {
  for (const wrong of [null, 1, {}, Uint8Array.of(1, 2), { save: () => Promise.resolve() }])
    await expect(media.logModel('wrong', wrong as never)).rejects.toMatchObject({
      code: 'invalid_input',
    });
  expect(await (await openRun(store, session.runId)).readArtifacts()).toStrictEqual([]);
  await expect(loadModel(session, 'none')).rejects.toMatchObject({ code: 'artifact_not_found' });
  const json = new TextEncoder().encode(
    '{"weightsManifest":[{"weights":[{"name":"w"}]}],"modelTopology":{}}',
  );
  const artifacts = new ArtifactStore(session);
  for (const [name, bytes] of [
    ['none', new Uint8Array(3)],
    ['half', zipOf([{ path: 'model.json', bytes: json }])],
    [
      'spec',
      zipOf([
        { path: 'model.json', bytes: json },
        { path: 'weights.bin', bytes: new Uint8Array(4) },
      ]),
    ],
  ] as const) {
    await artifacts.store('model', name, bytes, {
      metadata: { format_version: 1, format: 'tfjs' },
    });
    await expect(loadModel(session, name)).rejects.toMatchObject({ code: 'store_failed' });
  }
});

function zipOf(files: readonly { path: string; bytes: Uint8Array }[]): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.concat(storedZip(files)));
}

test('archives are read by the reader of imports', async () => {
  const file = fc.record({
    path: fc.stringMatching(/^[a-z]{1,8}$/),
    bytes: fc.uint8Array({ maxLength: 200 }),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(file, { selector: ({ path }) => path, maxLength: 5 }),
      async (files) => {
        const bytes = zipOf(files);
        const input = bytesInput('a.zip', bytes);
        const entries = await readZipEntries(input, { maxEntries: 10, maxListBytes: 10_000 });
        expect(entries.map(({ path }) => path)).toStrictEqual(files.map(({ path }) => path));
        for (const [i, entry] of entries.entries()) {
          const { offset, sizeBytes } = await zipPart(input, entry);
          expect(bytes.slice(offset, offset + sizeBytes)).toStrictEqual(files[i]?.bytes);
        }
      },
    ),
    runs(60),
  );
});
