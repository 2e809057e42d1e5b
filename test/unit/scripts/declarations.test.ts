// What the package's declarations are cut to, and what tells that its sizes are no longer those that are written.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { reachedTypes } from '../../../scripts/reached-types.mjs';
import { differencesFrom } from '../../../scripts/size-table.mjs';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'quark-types-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** The texts that an entry reaches, by file. */
function reached(files: Readonly<Record<string, string>>): Record<string, string> {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const found = reachedTypes([join(folder, 'index.d.ts')]);
  return Object.fromEntries(
    [...found].map(([file, text]) => [file.slice(folder.length + 1), text]),
  );
}

test('a declaration that no entry reaches is gone, with its comment and its imports', () => {
  const found = reached({
    'index.d.ts': `export { one as first } from './a.ts';\n`,
    'a.d.ts': [
      '/// <reference lib="esnext.disposable" preserve="true" />',
      `import type { Far, Near } from './b.ts';`,
      '/** Says one. */',
      'export declare function one(near: Near): void;',
      'export declare function one(near: string): void;',
      '/** Says two. */',
      'export declare function two(far: Far): void;',
      'export {};',
    ].join('\n'),
    'b.d.ts': `import { C } from './c.ts';\nexport type Near = { readonly Far: 1 };\nexport type Far = C;\n`,
    'c.d.ts': 'export type C = 1;\n',
  });
  expect(found).toEqual({
    'index.d.ts': `export { one as first } from './a.ts';\n`,
    'a.d.ts': [
      '/// <reference lib="esnext.disposable" preserve="true" />',
      `import type { Near } from './b.ts';`,
      '/** Says one. */',
      'export declare function one(near: Near): void;',
      'export declare function one(near: string): void;',
      'export {};\n',
    ].join('\n'),
    'b.d.ts': 'export type Near = { readonly Far: 1 };\n',
  });
});

test('names are followed through imports that are handed on, import types, stars and namespaces', () => {
  const found = reached({
    'index.d.ts': `export * from './a.ts';\nexport type Whole = typeof import('./c.ts');\n`,
    'a.d.ts': `import { B } from './b.ts';\nexport { B };\nexport declare const d: import('./d.ts').D;\n`,
    'b.d.ts': `export * from './e.ts';\nexport type Other = 1;\n`,
    'c.d.ts': 'export type C = 1;\n',
    'd.d.ts': 'export type D = 1;\nexport type Unused = 2;\n',
    'e.d.ts': 'export type B = 1;\nexport type Unused = 2;\n',
  });
  expect(found).toMatchObject({
    'b.d.ts': `export * from './e.ts';\n`,
    'c.d.ts': 'export type C = 1;\n',
    'd.d.ts': 'export type D = 1;\n',
    'e.d.ts': 'export type B = 1;\n',
  });
});

test('a name that a file does not export is an error', () => {
  const files = { 'index.d.ts': `export { A } from './a.ts';\n`, 'a.d.ts': 'export {};\n' };
  expect(() => reached(files)).toThrow(/a\.d\.ts does not export A/);
});

test('a size is compared with what is written: within 3 %, and 500 bytes', () => {
  const written = new Map([
    ['large', 1_000_000],
    ['small', 1000],
    ['gone', 5],
  ]);
  const rows = (large: number, small: number): string[] =>
    differencesFrom(written, [
      { name: 'large', bytes: large },
      { name: 'small', bytes: small },
      { name: 'new', bytes: 7 },
    ]);
  const missing = ['new: 7 bytes, and no row.', 'gone: a row of what is not counted.'];
  expect(rows(1_030_000, 1500)).toEqual(missing);
  expect(rows(969_999, 1501)).toEqual([
    'large: 969,999 bytes, written are 1,000,000.',
    'small: 1,501 bytes, written are 1,000.',
    ...missing,
  ]);
});
