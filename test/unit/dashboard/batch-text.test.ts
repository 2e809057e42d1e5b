import { describe, expect, it } from 'vitest';
import {
  classText,
  noSamplesText,
  sampleNames,
  shareText,
  timesText,
} from '../../../dashboard/run/batches/batch-text.ts';

describe('batches in words', () => {
  it('names the classes of a batch with their shares, the most frequent first', () => {
    expect(classText({ cat: 1, dog: 6, ant: 1, other: 'x', none: 0 })).toEqual({
      text: 'dog 75\u00a0%, ant 13\u00a0%, cat 13\u00a0%',
      exact: 'dog: 6 of 8, ant: 1 of 8, cat: 1 of 8',
    });
    expect(classText({ 10: 1, 2: 1, 3: 1, 4: 1, 5: 1 })?.text).toBe(
      '2 20\u00a0%, 3 20\u00a0%, 4 20\u00a0%, 5 20\u00a0%, …',
    );
    expect(classText(null)).toBeUndefined();
    expect(classText({})).toBeUndefined();
  });

  it('puts hard samples first, all of them', () => {
    const ids = ['a', 'b', 'c', 'd', 'e', 'f'];
    expect(sampleNames(ids, new Set(['e']))).toEqual({
      names: [
        { id: 'e', isHard: true },
        { id: 'a', isHard: false },
        { id: 'b', isHard: false },
        { id: 'c', isHard: false },
      ],
      more: 2,
    });
    expect(sampleNames(ids, new Set(ids)).more).toBe(0);
    expect(sampleNames([], new Set())).toEqual({ names: [], more: 0 });
  });

  it('says ratios only where there are any', () => {
    expect(timesText(4.26, 0.2)).toBe('21 times');
    expect(timesText(1, 0)).toBeUndefined();
    expect(timesText(-1, 2)).toBeUndefined();
    expect(timesText(Number.NaN, 2)).toBeUndefined();
    expect(shareText(0.25)).toBe('25 %');
    expect(shareText(0.003456)).toBe('0.35 %');
  });

  it('says why no sample is named', () => {
    expect(noSamplesText({ testedSampleCount: 0, isShuffled: null })).toMatch(/two batches/);
    expect(noSamplesText({ testedSampleCount: 1, isShuffled: true })).toBe(
      'None stands out; 1 sample was seen more than once.',
    );
    expect(noSamplesText({ testedSampleCount: 1200, isShuffled: false })).toMatch(
      /^1,200 samples were .* shuffle the batches/,
    );
  });
});
