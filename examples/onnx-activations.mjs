// Looks into a finished ONNX model while it is used: the caller's outputs stay what they are, and statistics of every
// layer that the filter selects are recorded. Run: node examples/onnx-activations.mjs [model.onnx]
// Needs: npm install onnxruntime-web
import { readFile } from 'node:fs/promises';
import * as ort from 'onnxruntime-web';
import { TrainingSession } from 'quark-sdk';
import { buildOnnxTraining, openOnnxModel } from 'quark-sdk/onnx';
import { HookEngine } from 'quark-sdk/probes';

const storageDir = process.env.QUARK_STORAGE_DIR ?? 'quark-runs';
const file = process.env.QUARK_ONNX_MODEL ?? process.argv.find((arg) => arg.endsWith('.onnx'));
ort.env.wasm.numThreads = 1;

// Any .onnx file of numbers will do. Without one, this takes the forward pass of a small network, whose weights are inputs.
const network = buildOnnxTraining(
  {
    inputShape: [16],
    layers: [
      { kind: 'dense', name: 'encode', units: 8, activation: 'relu' },
      { kind: 'dense', name: 'decode', units: 16, activation: 'sigmoid' },
    ],
  },
  { loss: { kind: 'meanSquaredError' }, optimizer: { kind: 'sgd' } },
);
const bytes = file === undefined ? network.predictBytes : await readFile(file);
const weights = Object.fromEntries(
  network.parameters.map(({ name, initial, shape }) => [
    name,
    new ort.Tensor('float32', initial, shape),
  ]),
);

const model = await openOnnxModel(ort, bytes, { filters: { excludeTypes: ['Identity'] } });

const ZEROS = { int64: BigInt64Array, int32: Int32Array, bool: Uint8Array };

/** Noise, and zeros of whole numbers, for every input of the model whose values are not known. */
function feeds() {
  const all = {};
  for (const input of model.session.inputMetadata) {
    const shape = input.shape.map((size) => (typeof size === 'number' ? size : 4));
    const size = shape.reduce((product, length) => product * length, 1);
    const Zeros = ZEROS[input.type];
    const data =
      Zeros === undefined
        ? Float32Array.from({ length: size }, () => Math.random())
        : new Zeros(size);
    all[input.name] = weights[input.name] ?? new ort.Tensor(input.type, data, shape);
  }
  return all;
}

await TrainingSession.run({ project: 'layers', storageDir, tags: ['onnx'] }, async (session) => {
  const hooks = new HookEngine(session, model.source, { schedule: { everyNSteps: 5 } });
  for (let step = 0; step < 20; step++)
    await hooks.step(step, {}, () => model.session.run(feeds()));
  for (const { moduleName, moduleType, mean, std, deadUnitRatio } of await hooks.read({ step: 0 }))
    console.log(
      `${moduleName} (${moduleType}): mean ${mean}, deviation ${std}, dead ${deadUnitRatio}`,
    );
  console.log(`Run ${session.runId}, recorded in ${session.runPath}`);
});
await model.close();
