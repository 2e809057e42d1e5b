/** A run with media of every kind, as a program records them. */
import { startRun, type Store } from 'quark-sdk';
import { MediaLogger } from 'quark-sdk/media';
import { ArtifactStore } from 'quark-sdk/probes';
import { trainingStepModel } from './onnx-model.ts';

const CLASSES = ['cat', 'dog', 'owl', 'fox'];
const SIDE = 28;

/** Steps at which media are logged. */
export const MEDIA_STEPS: readonly number[] = [0, 100, 200, 300];

/** A drawing that changes with the step: a ring whose radius grows. */
function ring(step: number, shift: number): Float32Array {
  return Float32Array.from({ length: SIDE * SIDE * 3 }, (_, i) => {
    const pixel = Math.floor(i / 3);
    const x = (pixel % SIDE) - SIDE / 2;
    const y = Math.floor(pixel / SIDE) - SIDE / 2;
    const edge = Math.exp(-((Math.hypot(x, y) - 4 - step / 50 - shift) ** 2) / 4);
    return Math.min(1, edge * [1, 0.6, 0.35][i % 3]! + 0.05);
  });
}

/** Numbers of a fixed sequence, near to normally distributed. */
export function noise(count: number, seed: number): Float32Array {
  let state = seed >>> 0;
  const next = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  return Float32Array.from({ length: count }, () => next() + next() + next() + next() - 2);
}

/** A model of TensorFlow.js as `save` gives it to a handler: a small network of Keras layers. */
export const KERAS_MODEL = {
  save: async (handler: { save: (artifacts: object) => Promise<unknown> }): Promise<unknown> =>
    handler.save({
      modelTopology: {
        class_name: 'Sequential',
        config: {
          name: 'net',
          layers: [
            ['Conv2D', 'features/conv1', { filters: 8, batch_input_shape: [null, 28, 28, 1] }],
            ['MaxPooling2D', 'features/pool1', {}],
            ['Flatten', 'flatten', {}],
            ['Dense', 'head/dense1', { units: 32 }],
            ['Dense', 'head/out', { units: 4 }],
          ].map(([class_name, name, config]) => ({
            class_name,
            config: { name, ...Object(config) },
          })),
        },
      },
      weightSpecs: [
        { name: 'features/conv1/kernel', shape: [3, 3, 1, 8], dtype: 'float32' },
        { name: 'features/conv1/bias', shape: [8], dtype: 'float32' },
      ],
      weightData: new ArrayBuffer(4 * 80),
    }),
};

/** Records a run with media; ends it unless told otherwise. @returns its id */
export async function recordMediaRun(
  store: Store,
  options: { readonly name: string; readonly shift?: number; readonly goesOn?: boolean },
): Promise<string> {
  const { shift = 0 } = options;
  const session = await startRun({
    project: 'media',
    name: options.name,
    storage: store,
    config: { shift },
  });
  const media = new MediaLogger(session);
  const artifacts = new ArtifactStore(session);
  for (const step of MEDIA_STEPS) {
    const at = { step };
    const image = { data: ring(step, shift), width: SIDE, height: SIDE };
    const boxes = [{ x: 4, y: 4, width: 18, height: 16, label: 'ring', score: 0.9 }];
    await media.logImage('samples/ring', image, { ...at, metadata: { boxes } });
    await media.logImage('samples/plain', { ...image, data: ring(step / 2, shift) }, at);
    await media.logText(
      'notes/caption',
      `A ring of step ${step}.\nIt grows by ${step / 50} pixels.\nThe end.`,
      at,
    );
    const weights = noise(4000, step + 1).map((value) => value * (1 + step / 200) + shift / 4);
    await media.logDistribution('weights/dense', weights, at);
    await artifacts.logHistogram('lengths', {
      bins: [0, 1, 2, 4, 8],
      counts: [step, 10, 20, 5],
      ...at,
    });
    const right = 20 + step / 10;
    const counts = CLASSES.map((_name, row) =>
      CLASSES.map((_other, column) => (row === column ? right : (row * 3 + column * 5) % 11)),
    );
    await media.confusionMatrix('val/confusion', { counts, classes: CLASSES }, at);
    for (const [i, name] of CLASSES.slice(0, 2).entries()) {
      const random = noise(300, step + i + 7);
      const labels = Array.from(random, (_value, j) => Number(j % 3 === 0));
      const scores = Array.from(
        random,
        (value, j) => value + (labels[j] ?? 0) * (0.5 + step / 300),
      );
      await media.rocCurve(`val/roc/${name}`, { labels, scores }, at);
      await media.prCurve(`val/pr/${name}`, { labels, scores }, at);
    }
  }
  const samples = Float32Array.from(
    { length: 16_000 },
    (_, i) => Math.sin((2 * Math.PI * 440 * i) / 16_000) * Math.exp(-i / 6000),
  );
  await media.logAudio('speech/tone', samples, { sampleRate: 16_000, step: 300 });
  const rows = Array.from({ length: 500 }, (_, i) => [
    i,
    CLASSES[i % 4] ?? '',
    ((i * 37) % 101) / 100,
    i % 5 === 0 ? null : i % 2 === 0,
    i % 50 === 0 ? 'image:samples/plain' : `sample ${i}`,
  ]);
  const columns = ['id', 'label', 'score', 'right', 'sample'];
  await media.logTable('val/predictions', { columns, rows }, { step: 300 });
  const points = noise(600 * 8, 99);
  const vectors = points.map(
    (value, i) => value + ((Math.floor(i / 8) + (i % 8)) % 4 === 0 ? 4 : 0),
  );
  const labels = Array.from({ length: 600 }, (_, i) => CLASSES[i % 4] ?? '');
  await media.embedding('tokens', { vectors, dimensions: 8, labels }, { step: 300 });
  await media.logModel('model', KERAS_MODEL, { step: 300 });
  await media.logModel('onnx-model', trainingStepModel(8, 16, 4), { step: 300 });
  await media.logFile('files/labels.csv', new File(['name,count\ncat,3\ndog,5\n'], 'labels.csv'));
  await media.logFile(
    'files/readme.md',
    new File(['# Data\n\n<script>alert(1)</script>\n'], 'readme.md'),
  );
  await artifacts.store('facts', 'facts/settings', {
    depth: 3,
    tags: ['a', 'b'],
    nested: { lr: 0.1 },
  });
  const svg = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>';
  await media.logFile('files/picture.svg', new File([svg], 'picture.svg'));
  if (options.goesOn === true) await session.flush();
  else await session.endRun();
  return session.runId;
}
