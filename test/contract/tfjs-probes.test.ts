import * as tf from '@tensorflow/tfjs';
import { version_wasm as wasmVersion } from '@tensorflow/tfjs-backend-wasm';
import { describe, expect, it } from 'vitest';
import { tfjsProbesContract } from './tfjs-probes-contract.ts';

describe.each(['cpu', 'wasm'])('TensorFlow.js on %s', (name) => {
  tfjsProbesContract({ name, tf, tolerance: 1e-5, isExact: true });
});

// The backends register themselves when they are loaded; they have to be of one version.
it('loads one version of TensorFlow.js', () => {
  expect(wasmVersion).toBe(tf.version['tfjs-core']);
});
