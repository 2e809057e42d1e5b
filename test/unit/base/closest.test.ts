import { expect, test } from 'vitest';
import { closestTo } from '../../../src/base/texts/closest.ts';

const COMMANDS = ['runs', 'show', 'metrics', 'compare', 'rm', 'report', 'restore'];

test.each([
  ['shwo', 'show'],
  ['run', 'runs'],
  ['comapre', 'compare'],
  ['metricss', 'metrics'],
  ['repotr', 'report'],
  ['list', undefined],
  ['', undefined],
  ['x', undefined],
  ['delete', undefined],
])('"%s" is close to %s', (word, expected) => {
  expect(closestTo(word, COMMANDS)).toBe(expected);
});
