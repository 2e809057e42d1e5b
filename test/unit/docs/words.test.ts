/**
 * The words of docs/glossary.md. A term that is not used any more does not come back: each has the number of lines that still
 * have it, mostly with another meaning ("in place", "look up", names of the public contract). The number may only fall.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../../..');

/** Terms, what to write instead, and the most lines that may have them. */
const TERMS: readonly { readonly term: RegExp; readonly use: string; readonly lines: number }[] = [
  { term: /\bput aside\b|putAside/i, use: 'spill', lines: 0 },
  { term: /\ba truth\b|\btruths\b/i, use: 'boolean', lines: 0 },
  { term: /\bwhoever\b/i, use: 'the client, the caller, the user', lines: 0 },
  { term: /\bdear(?:er|est)?\b/i, use: 'expensive', lines: 0 },
  { term: /\bthinned\b/i, use: 'downsampled', lines: 0 },
  { term: /\bthe specification\b/i, use: 'abiotic-quark', lines: 0 },
  { term: /\bthe reference\b/i, use: 'abiotic-quark, or baseline', lines: 0 },
  { term: /\bseen ?tables?\b/i, use: 'fencing token', lines: 0 },
  { term: /\bstretch(?:es)?\b/i, use: 'span', lines: 4 },
  { term: /\b(?:type|interface|class) \w*Place\b/, use: 'position, location or offset', lines: 0 },
  { term: /\blayerName\b/, use: 'moduleName', lines: 26 },
  { term: /\btimestampsMs\b/, use: 'timesMs', lines: 7 },
  // Nine of them call a method of the contract, in the suite for authors of stores.
  { term: /survey/i, use: 'snapshot', lines: 51 },
  { term: /\bplaces?\b/i, use: 'position, location, line or offset', lines: 245 },
  { term: /\bpieces?\b/i, use: 'chunk, span or batch', lines: 224 },
  { term: /\bkept\b/i, use: 'stored, retained or buffered', lines: 233 },
  { term: /\bheld\b/i, use: 'stored, buffered or reserved', lines: 98 },
  { term: /\blooks?\b/i, use: 'poll, read or check', lines: 137 },
  { term: /\bstill\b/i, use: 'plateau', lines: 68 },
  { term: /\bletGo\b|\blet go\b/i, use: 'release', lines: 4 },
];

/** The glossary names them, and the page of the command line repeats texts of `src/cli`. */
const LEFT_OUT = new Set(['docs/glossary.md', 'docs/cli.md']);

function trackedLines(): readonly string[] {
  const files = execFileSync(
    'git',
    ['ls-files', 'src', 'worker', 'dashboard', 'demo', 'docs', '*.md'],
    {
      cwd: root,
      encoding: 'utf8',
    },
  );
  return files
    .split('\n')
    .filter((file) => /\.(?:tsx?|css|md)$/.test(file) && !LEFT_OUT.has(file))
    .flatMap((file) =>
      readFileSync(join(root, file), 'utf8')
        .split('\n')
        .map((line) => `${file}: ${line.trim()}`),
    );
}

const lines = trackedLines();

test.each(TERMS)('$term is not used any more: $use', ({ lines: most, term }) => {
  const found = lines.filter((line) => term.test(line.slice(line.indexOf(': ') + 2)));
  expect(found.length, found.slice(0, 20).join('\n')).toBeLessThanOrEqual(most);
});

test('the glossary has a line for every term that is used, once', () => {
  const text = readFileSync(join(root, 'docs/glossary.md'), 'utf8');
  const terms = [...text.matchAll(/^- \*\*(.+?)\*\*/gm)].map(([, term]) => term ?? '');
  expect(terms.length).toBeGreaterThan(60);
  expect(terms.filter((term, i) => terms.indexOf(term) !== i)).toEqual([]);
  for (const term of [
    'position',
    'location',
    'chunk',
    'span',
    'batch',
    'spill',
    'watermark',
    'fencing token',
    'idempotency key',
    'tombstone',
    'back pressure',
    'debounce',
    'poll',
    'snapshot',
    'downsample',
    'plateau',
    'baseline',
  ])
    expect(terms.join('\n').toLowerCase(), term).toContain(term);
});
