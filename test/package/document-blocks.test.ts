// Every block of JavaScript in the documents is a program that runs against the build, in an empty folder; JSON parses. README has a test
// of its own, and the guides to frameworks show files that `npm run matrix` builds.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { transformWithOxc } from 'vite';
import { beforeAll, describe, expect, test } from 'vitest';
import { runExamples, typeErrorsOf } from '../support/blocks/doc-examples.ts';
import { casesOf } from '../support/long.ts';
import { blocksOf, programsOf, type DocumentProgram } from '../support/blocks/document-blocks.ts';

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
const programs = programsOf(blocks);
const isGuide = ({ document }: DocumentProgram): boolean => document.startsWith('guides/');
/** Those of pages are run by document-pages.long.test.ts; of guides `npm test` runs some, `npm run test:long` all. */
const inNode = programs.filter(({ isPage }) => !isPage);
const started = [
  ...inNode.filter((program) => !isGuide(program)),
  ...casesOf(inNode.filter(isGuide), 6),
];

const exampleOf = ({ document, index, code, notRun }: DocumentProgram) => ({
  entry: document,
  name: 'block',
  index,
  info: notRun === undefined ? 'js' : `js not-run="${notRun}"`,
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

test.each(blocks.filter(({ language }) => language === 'jsx').map((block) => [block]))(
  'JSX of $document, line $line, compiles',
  async ({ code }) => {
    const { code: compiled } = await transformWithOxc(code, 'block.jsx');
    expect(compiled).toContain('jsx');
  },
);

test('programs have the types of the package, but for those that do wrong on purpose', () => {
  // Guides are run only: types of frameworks want casts, which JavaScript has none of.
  const right = programs.filter((program) => program.document !== 'faq.md' && !isGuide(program));
  expect(typeErrorsOf(right.map(exampleOf))).toEqual([]);
});

describe('the program of', () => {
  let outcomes: readonly string[] = [];
  beforeAll(async () => {
    outcomes = await runExamples(started.map(exampleOf));
  });

  test.each(
    started.map(
      ({ code, document, line, throws }, at) => [`${document}:${line}`, at, code, throws] as const,
    ),
  )('%s runs', (_, at, code, throws) => {
    const expected = throws === undefined ? 'ok' : `threw ${throws}`;
    expect(outcomes[at]?.split('\n')[0], `${code}\n\n${outcomes[at]}`).toBe(expected);
  });
});

describe('attributes of blocks', () => {
  const programsIn = (text: string) => programsOf(blocksOf('made.md', text));
  const fenced = (info: string, code: string): string => `\`\`\`${info}\n${code}\n\`\`\`\n`;

  test('join blocks, and say what a program ends with, where it runs, or why not', () => {
    const text = [
      fenced('js', 'const a = 1;'),
      fenced('js continues throws=QuarkError:invalid_input', 'log(a);'),
      fenced('text', 'no program'),
      fenced('js page', 'document.title;'),
      fenced('js not-run="needs a key"', 'send();'),
    ].join('\n');
    expect(programsIn(text)).toMatchObject([
      { code: 'const a = 1;\nlog(a);', line: 1, throws: 'QuarkError:invalid_input' },
      { code: 'document.title;', isPage: true, notRun: undefined },
      { code: 'send();', isPage: false, notRun: 'needs a key' },
    ]);
  });

  test('are refused where they mean nothing', () => {
    expect(() => programsIn(fenced('js thorws=QuarkError:x', ''))).toThrow('nothing is known of');
    expect(() => programsIn(fenced('js continues', ''))).toThrow('goes on from no block');
  });

  test('a program that ends with another error, or with none, is found', async () => {
    const made = [
      "import { MetricsLogger } from 'quark-sdk';\nnew MetricsLogger(1);",
      "throw new Error('of no kind');",
    ].map((code, index) => ({ entry: 'made.md', name: 'block', index, info: 'js', code }));
    const [typed, plain] = await runExamples(made);
    expect(typed).toMatch(/^threw QuarkError:invalid_input\n/);
    expect(plain).toMatch(/^Error: of no kind/);
  });
});
