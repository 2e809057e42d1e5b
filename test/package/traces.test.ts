/** What a user reads where an error is thrown in the package, whose chunks have no white space. */
import { readdirSync, readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { cutsOf } from '../../scripts/statement-lines.ts';
import { DIST } from './consumer.ts';

test('a trace names the functions of the source, and a line that holds one statement', async () => {
  const { startRun } = (await import(pathToFileURL(join(DIST, 'index.js')).href)) as {
    startRun: (options: unknown) => Promise<unknown>;
  };
  const error: unknown = await startRun({ project: '' }).catch((reason: unknown) => reason);
  const stack = error instanceof Error ? (error.stack ?? '') : '';
  const frames = [
    ...stack.matchAll(/at (?:async )?([\w.#]+) \(.*[\\/](chunk-[\w-]+\.js):(\d+):(\d+)\)/g),
  ];
  expect(frames.length).toBeGreaterThan(1);
  for (const [, name = '', chunk = '', line, column] of frames) {
    const file = join(DIST, chunk);
    const map = new SourceMap(
      JSON.parse(readFileSync(`${file}.map`, 'utf8')) as ConstructorParameters<typeof SourceMap>[0],
    );
    const found = map.findEntry(Number(line) - 1, Number(column) - 1);
    expect(found).toHaveProperty('originalSource');
    if (!('originalSource' in found)) continue;
    const source = readFileSync(join(dirname(file), found.originalSource), 'utf8');
    const own = name.split('.').at(-1) ?? '';
    // The line is one of a function of that name: it stands in the lines before it.
    const before = source.split('\n').slice(0, found.originalLine + 1);
    expect(before.join('\n')).toContain(own === 'new' ? 'constructor' : own);
  }
});

test('lines of chunks are short where they are code', () => {
  const lines = readdirSync(DIST)
    .filter((name) => /^chunk-(?!inline)/.test(name) && name.endsWith('.js'))
    .flatMap((name) => readFileSync(join(DIST, name), 'utf8').split('\n'));
  const lengths = lines.map(({ length }) => length).toSorted((a, b) => a - b);
  expect(lengths[Math.floor(lengths.length * 0.95)]).toBeLessThan(400);
});

test('a line begins with a statement, and with a member of a class', () => {
  const lines = [
    'function firstOfAll(argument){',
    'return something(argument,argument)}',
    'class SecondOfAll extends Other{',
    'third(){return 1}#fourthOfAll(){',
    'return fifth(argument);}}',
  ];
  const code = lines.join('');
  const starts = [0, ...cutsOf('a.js', code)];
  const cut = starts.map((start, i) => code.slice(start, starts[i + 1]));
  expect(cut.join('')).toBe(code);
  expect(cut.slice(0, 3)).toEqual(lines.slice(0, 3));
});
