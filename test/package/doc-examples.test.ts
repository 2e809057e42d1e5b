// The examples of doc comments, as an editor shows them, run against the build: all in `npm run test:long`, and one of each entry else.
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, test } from 'vitest';
import { docExamples } from '../../scripts/doc-examples.mjs';
import { ENTRIES } from '../../scripts/entries.mjs';
import { runExamples, titleOf, typeErrorsOf } from '../support/blocks/doc-examples.ts';
import { casesOf } from '../support/long.ts';

const all = docExamples();
const examples = ENTRIES.flatMap((entry) =>
  casesOf(
    all.filter((example) => example.entry === entry),
    1,
  ),
);

test('every name that people call has an example', () => {
  const program = fileURLToPath(new URL('../../scripts/check-docs.mjs', import.meta.url));
  const printed = execFileSync(process.execPath, [program], { encoding: 'utf8' });
  expect(printed).toContain('0 without an example');
});

test('every example has the types of the package', () => {
  expect(all.length).toBeGreaterThan(ENTRIES.length);
  expect(typeErrorsOf(all)).toEqual([]);
});

describe('the example in the comment of', () => {
  let outcomes: readonly string[] = [];
  beforeAll(async () => {
    outcomes = await runExamples(examples);
  });

  test.each(examples.map((example, at) => [titleOf(example), at, example.code] as const))(
    '%s runs',
    (_, at, code) => {
      expect(outcomes[at], code).toBe('ok');
    },
  );
});

test('what an example prints is compared with its comment, and its names with the types', async () => {
  const example = { entry: 'index', name: 'made', index: 0, info: 'js' };
  const logs = (code: string) => ({
    ...example,
    code: `import { VERSION } from 'quark-sdk';\n${code}`,
  });
  const made = [
    logs('console.log(VERSION.length > 0); // true: it is a text'),
    logs('for (const i of [1, 2]) console.log(i); // 1, then 2'),
    logs('console.log(VERSION.length > 0); // false'),
    logs('VERSION.missing();'),
  ];
  expect(await runExamples(made)).toEqual([
    'ok',
    'ok',
    'prints "true", and its comment says "false"',
    expect.stringContaining('VERSION.missing is not a function'),
  ]);
  expect(typeErrorsOf(made.slice(3))).toEqual([expect.stringContaining("'missing'")]);
});
