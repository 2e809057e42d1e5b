/** Gradients of networks of any layers, against central differences in float64. */
import * as ort from 'onnxruntime-web';
import fc from 'fast-check';
import { beforeAll, expect, it } from 'vitest';
import { ONNX_ACTIVATIONS, type OnnxLayer } from '../../src/adapters/onnx/train/layer-kinds.ts';
import { checkNetwork } from '../support/onnx-network.ts';
import { runs } from '../support/property.ts';

beforeAll(() => {
  ort.env.wasm.numThreads = 1;
  ort.env.logLevel = 'error';
});

/** Smooth ones: a difference that steps over a kink says nothing about the slope beside it. */
const SMOOTH = ONNX_ACTIVATIONS.filter(
  (name) =>
    !['elu', 'hardSigmoid', 'hardSwish', 'leakyRelu', 'relu', 'relu6', 'selu'].includes(name),
);
const activation = fc.constantFrom(...SMOOTH);
const size = fc.integer({ min: 1, max: 2 });
const pair = fc.tuple(size, size);

const image: fc.Arbitrary<OnnxLayer> = fc.oneof(
  fc.record({
    kind: fc.constant('conv2d' as const),
    filters: fc.constantFrom(2, 4),
    size: pair,
    strides: pair,
    padding: fc.constantFrom('same' as const, 'valid' as const),
    groups: fc.constantFrom(1, 2),
    bias: fc.boolean(),
  }),
  fc.record({
    kind: fc.constant('averagePool2d' as const),
    size: pair,
    strides: pair,
    padding: fc.constant('same' as const),
  }),
  fc.record({ kind: fc.constant('batchNorm' as const), epsilon: fc.constant(0.1) }),
  fc.record({ kind: fc.constant('activation' as const), activation }),
);
const row: fc.Arbitrary<OnnxLayer> = fc.oneof(
  fc.record({
    kind: fc.constant('dense' as const),
    units: fc.integer({ min: 2, max: 5 }),
    activation,
  }),
  fc.record({
    kind: fc.constant('layerNorm' as const),
    epsilon: fc.constant(0.1),
    trainable: fc.boolean(),
  }),
  fc.record({ kind: fc.constant('activation' as const), activation }),
);

it('networks of any layers have the gradients that float64 gives', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(image, { maxLength: 3 }),
      fc.constantFrom<OnnxLayer>({ kind: 'flatten' }, { kind: 'globalAveragePool2d' }),
      fc.array(row, { maxLength: 3 }),
      fc.integer({ min: 1, max: 1000 }),
      async (images, join, rows, seed) => {
        const layers: OnnxLayer[] = [...images, join, ...rows, { kind: 'dense', units: 3 }];
        const labels = (count: number): Int32Array =>
          Int32Array.from({ length: count }, (_, i) => i % 3);
        await checkNetwork({ inputShape: [2, 7, 6], layers, seed }, 3, 84, labels, 3);
        expect.hasAssertions();
      },
    ),
    { ...runs(6), endOnFailure: true },
  );
}, 180_000);
