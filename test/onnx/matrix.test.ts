/** Files as exporters write them, through every stage; `npm run onnx:matrix` makes the table of docs/onnx.md from the same list. */
import * as ort from 'onnxruntime-web';
import { beforeAll, describe, expect, it } from 'vitest';
import { longTest } from '../support/long.ts';
import { MODEL_CASES } from './list.ts';
import { runCase, STAGES } from './stages.ts';

beforeAll(() => {
  ort.env.wasm.numThreads = 1;
  ort.env.logLevel = 'error';
});

/** One of each kind, which `npm test` runs. */
const SHORT = new Set([
  'LSTM tagger of two directions',
  'CNN with channels last, Pad and Softmax',
  'MLP with float16 weights that are cast',
  'quantised MLP',
]);

describe('ONNX files as exporters write them', () => {
  it('are 40 at least, of which 36 are trained; those of the short form are among them', () => {
    const names = MODEL_CASES.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(names.length).toBeGreaterThanOrEqual(40);
    expect(
      MODEL_CASES.filter(({ refused }) => refused === undefined).length,
    ).toBeGreaterThanOrEqual(36);
    expect(names.filter((name) => SHORT.has(name))).toHaveLength(SHORT.size);
  });

  for (const test of MODEL_CASES) {
    const register = SHORT.has(test.name) ? it : longTest;
    register(`${test.name} (${test.exporter})`, async () => {
      const { found, failed, refusal } = await runCase(test);
      expect(failed, `${failed}: ${failed === null ? '' : found[failed]}`).toBeNull();
      if (refusal === null) expect(Object.keys(found)).toStrictEqual([...STAGES]);
    });
  }
});
