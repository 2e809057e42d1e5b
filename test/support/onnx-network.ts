/** Compares whole networks on onnxruntime-web with the float64 reference. */
import * as ort from 'onnxruntime-web';
import { expect } from 'vitest';
import type { OnnxLayersModel } from '../../src/adapters/onnx/train/layer-kinds.ts';
import { networkOfLayers } from '../../src/adapters/onnx/train/network-layers.ts';
import { buildOnnxTraining, openOnnxTrainer } from '../../src/onnx.ts';
import { KeptLayers, KeptParameters } from './layer-watch.ts';
import {
  centralDifferences,
  crossEntropy,
  evaluate,
  refTensor,
  type RefTensor,
} from './onnx-reference.ts';

/** Largest difference relative to the largest value, or to `least` where that is more. */
export function apart(found: ArrayLike<number>, wanted: ArrayLike<number>, least = 1e-6): number {
  const all = Array.from(wanted);
  const largest = all.reduce((most, value) => Math.max(most, Math.abs(value)), least);
  return (
    all.reduce((most, value, i) => Math.max(most, Math.abs(value - (found[i] ?? Number.NaN))), 0) /
    largest
  );
}

/** Compares loss and all gradients of a classifier with central differences of the float64 reference. */
export async function checkNetwork(
  model: OnnxLayersModel,
  count: number,
  size: number,
  labels: (count: number) => Int32Array,
  classes: number,
): Promise<void> {
  const training = buildOnnxTraining(model, {
    loss: { kind: 'softmaxCrossEntropy' },
    optimizer: { kind: 'sgd', learningRate: 0.1 },
  });
  const trainer = await openOnnxTrainer(ort, training);
  const isText = model.inputType === 'int32';
  const data = Array.from({ length: count * size }, (_, i) =>
    isText ? (i * 5) % 7 : Math.fround(Math.sin(i * 1.7)),
  );
  const shape = [count, ...model.inputShape.map((n) => (typeof n === 'number' ? n : size))];
  const y = labels(count);
  const network = networkOfLayers(model);
  const given = new Map<string, RefTensor>([['x', refTensor(shape, data)]]);
  for (const { name, shape: dims, initial } of [...network.parameters, ...network.state])
    given.set(name, refTensor(dims, initial));
  for (const { name, shape: dims, data: numbers } of network.constants)
    given.set(name, refTensor(dims, numbers));
  const lossOf = (): number =>
    crossEntropy(evaluate(network.nodes, given).get(network.output)!, refTensor([y.length], y));
  const watch = new KeptParameters(trainer.source);
  const layers = new KeptLayers(trainer.source);
  const x = isText
    ? new ort.Tensor('int32', Int32Array.from(data), shape)
    : Float32Array.from(data);
  const target = isText ? new ort.Tensor('int32', y, [count, y.length / count]) : y;
  expect(Math.abs((await trainer.step({ x, y: target })) - lossOf())).toBeLessThan(
    1e-5 * Math.max(1, lossOf()),
  );
  expect(classes).toBe(3);
  const wanted = new Map(
    network.parameters.map(({ name }) => [name, centralDifferences(given.get(name)!.data, lossOf)]),
  );
  // Rounding is in proportion to what flows through the network (1 / rows at each logit), not to what is left where that
  // cancels out.
  const largest = Math.max(...[...wanted.values()].flatMap((one) => Array.from(one, Math.abs)));
  for (const { name, isTrainable } of network.parameters) {
    const found = watch.seen.get(`${name} gradient`)?.data;
    if (isTrainable)
      expect(apart(found!, wanted.get(name)!, Math.max(largest / 10, 0.05)), name).toBeLessThan(
        5e-5,
      );
    else expect(found).toBeUndefined();
  }
  const values = evaluate(network.nodes, given);
  // Normalising magnifies what rounding left of values that hardly differ.
  for (const { name, output } of network.layers)
    expect(
      apart(layers.seen.get(`${name} forward`)!.data, values.get(output)!.data, 0.1),
      name,
    ).toBeLessThan(5e-5);
  await trainer.close();
}
