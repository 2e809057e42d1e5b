import { existsSync, readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { isDemoRun, trainingConfigOf } from '../../../demo/train/demo-run.ts';
import {
  DEFAULT_DIGITS_TRAINING,
  DIGIT_PIXELS,
  parseDigits,
  splitDigits,
} from '../../../demo/train/digits.ts';
import { fieldError } from '../../../demo/train/field.ts';
import { etaOf } from '../../../demo/train/training-state.ts';

const FILE = new URL('../../../demo/public/digits.csv.gz', import.meta.url);
const line = (grey: number, label: number): string =>
  `${new Array(DIGIT_PIXELS).fill(grey).join(',')},${label}`;

describe('digits', () => {
  it('reads the file that the package carries', () => {
    expect(existsSync(FILE)).toBe(true);
    const digits = parseDigits(gunzipSync(readFileSync(FILE)).toString('utf8'));
    expect(digits.count).toBe(1797);
    expect(digits.images.every((grey) => grey >= 0 && grey <= 1)).toBe(true);
    expect([...digits.labels.subarray(0, 10)]).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    const { train, val } = splitDigits(digits, 0.2, 7);
    expect([train.count, val.count]).toEqual([1438, 359]);
  });

  it('scales grey levels to 0 to 1', () => {
    const digits = parseDigits(`${line(16, 3)}\n${line(8, 9)}\n`);
    expect(digits.images[0]).toBe(1);
    expect(digits.images[DIGIT_PIXELS]).toBe(0.5);
    expect([...digits.labels]).toEqual([3, 9]);
  });

  it.each([
    ['1,2,3', /line 1: expected 65 numbers, got 3/],
    [`${line(0, 1)}\n${line(17, 1)}`, /line 2: a pixel must be from 0 to 16, got 17/],
    [line(0, 10), /line 1: the digit must be from 0 to 9, got 10/],
  ])('names the line that is wrong', (csv, message) => {
    expect(() => parseDigits(csv)).toThrow(message);
  });

  it('splits every image into exactly one part, the same way for the same seed', () => {
    const digits = parseDigits(
      Array.from({ length: 10 }, (_, label) => line(label, label)).join('\n'),
    );
    const { train, val } = splitDigits(digits, 0.3, 1);
    expect([...train.labels, ...val.labels].toSorted((a, b) => a - b)).toEqual([
      0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
    ]);
    expect(val.count).toBe(3);
    expect(val.images[0]).toBe((val.labels[0] ?? 0) / 16);
    expect([...splitDigits(digits, 0.3, 1).val.labels]).toEqual([...val.labels]);
    expect([...splitDigits(digits, 0.3, 2).val.labels]).not.toEqual([...val.labels]);
  });
});

describe('a training', () => {
  it('finds its settings in the config of its run', () => {
    const config = {
      trainer: 'quark-training-page',
      epochs: 5,
      batch_size: 8,
      learning_rate: 0.01,
    };
    expect(isDemoRun({ config })).toBe(true);
    expect(isDemoRun({ config: {} })).toBe(false);
    expect(trainingConfigOf(config)).toEqual({
      ...DEFAULT_DIGITS_TRAINING,
      epochs: 5,
      batchSize: 8,
      learningRate: 0.01,
    });
    expect(trainingConfigOf({ epochs: 'many', batch_size: -1 })).toEqual(DEFAULT_DIGITS_TRAINING);
  });

  it('judges the time left by the batches so far', () => {
    expect(etaOf(1000, 3000, 1, 10)).toBeUndefined();
    expect(etaOf(1000, 3000, 4, 10)).toBe(5000);
  });

  it('says what is wrong with a setting', () => {
    const field = { min: 1, max: 500, isWhole: true };
    expect(fieldError(field, '20')).toBeUndefined();
    expect(fieldError(field, ' ')).toBe('a number is needed');
    expect(fieldError(field, 'x')).toBe('a number is needed');
    expect(fieldError(field, '501')).toBe('from 1 to 500');
    expect(fieldError(field, '2.5')).toBe('a whole number is needed');
    expect(fieldError({ ...field, isWhole: false }, '2.5')).toBeUndefined();
  });
});
