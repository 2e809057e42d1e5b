// Every block of JavaScript in the documents is a program that runs against the build, in an empty folder; JSON parses. README has a test
// of its own, and the guides to frameworks show files that `npm run matrix` builds.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, test } from 'vitest';
import { runExamples, typeErrorsOf } from '../support/blocks/doc-examples.ts';
import { blocksOf, type DocumentBlock } from '../support/blocks/document-blocks.ts';

const DOCS = fileURLToPath(new URL('../../docs/', import.meta.url));
/** Their blocks are files of applications, compared with those that are built. */
const FRAMEWORKS = new Set(['guides/frameworks.md', 'guides/next.md']);
/** Written from the help of the commands. */
const MADE = new Set(['cli.md']);

const documents = readdirSync(DOCS, { recursive: true, encoding: 'utf8' })
  .map((path) => path.replaceAll('\\', '/'))
  .filter((path) => path.endsWith('.md') && !/^(?:decisions|site)\//.test(path))
  .filter((path) => !FRAMEWORKS.has(path) && !MADE.has(path))
  .sort();
const blocks = documents.flatMap((path) => blocksOf(path, readFileSync(join(DOCS, path), 'utf8')));
const programs = blocks.filter(({ language }) => language === 'js');

const exampleOf = ({ document, index, code }: DocumentBlock) => ({
  entry: document,
  name: 'block',
  index,
  info: 'js',
  code,
});

test('every block names its language', () => {
  const nameless = blocks.filter(({ language }) => language === '');
  expect(nameless.map(({ document, line }) => `${document}:${line}`)).toEqual([]);
  expect(programs.length).toBeGreaterThan(6);
});

test.each(blocks.filter(({ language }) => language === 'json').map((block) => [block]))(
  'JSON of $document, line $line, parses',
  ({ code }) => {
    expect(() => JSON.parse(code) as unknown).not.toThrow();
  },
);

test('programs have the types of the package, but for those that do wrong on purpose', () => {
  const right = programs.filter(({ document }) => document !== 'faq.md');
  expect(typeErrorsOf(right.map(exampleOf))).toEqual([]);
});

describe('the program of', () => {
  let outcomes: readonly string[] = [];
  beforeAll(async () => {
    outcomes = await runExamples(programs.map(exampleOf));
  });

  test.each(
    programs.map((block, at) => [`${block.document}:${block.line}`, at, block.code] as const),
  )('%s runs', (_, at, code) => {
    expect(outcomes[at], code).toBe('ok');
  });
});
