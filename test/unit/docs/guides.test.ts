import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const GUIDES = new URL('../../../docs/guides/', import.meta.url);
/** A link to a file of an app, and the block below it. */
const SHOWN = /\]\((\.\.\/\.\.\/test\/frameworks\/[^)]+)\):\n\n```\w+\n([\s\S]*?)```\n/g;

test('what the guides of frameworks show is what the matrix builds', () => {
  const shown = readdirSync(GUIDES).flatMap((name) => [
    ...readFileSync(new URL(name, GUIDES), 'utf8').matchAll(SHOWN),
  ]);
  expect(shown.length).toBeGreaterThanOrEqual(11);
  for (const [, path = '', block] of shown)
    expect(block, path).toBe(readFileSync(new URL(path, GUIDES), 'utf8'));
});
