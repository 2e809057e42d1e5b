import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { roomErrors, treeFigures, writeRooms } from '../../../scripts/rooms.mjs';

const room = (name: string, imports: readonly string[] = [], more: object = {}) => ({
  name,
  folders: [`src/${name}`],
  purpose: 'Something small.',
  imports,
  ...more,
});

const ROOMS = [
  room('base', [], { draw: { at: [0, 0], says: 'at the bottom' } }),
  room('store', ['base'], { packages: ['idb'], draw: { at: [1, 0], says: 'segments' } }),
  room('store/node', ['store', 'base'], { node: true }),
  room('read', ['store', 'base']),
  { ...room('entries', ['*']), folders: ['src/*.ts'] },
  { ...room('page', ['entries']), folders: ['dashboard'], packages: ['preact'] },
];

const FILES: Readonly<Record<string, string>> = {
  'src/index.ts': "export { read } from './read/read.ts';\n",
  'src/base/errors.ts': 'export type Code = string;\n',
  'src/store/store.ts':
    "import type { Code } from '../base/errors.ts';\nimport 'idb';\nexport const code: Code = '';\n",
  'src/store/node/files.ts':
    "import 'node:fs';\nimport '../store.ts';\nimport '../../base/errors.ts';\n",
  'src/read/read.ts':
    "export * from '../store/store.ts';\nimport '../base/errors.ts';\nexport const read = 1;\n",
  'dashboard/page.tsx':
    "import { read } from 'quark-sdk';\nimport 'preact';\nexport const Page = () => <p>{read}</p>;\n",
  'dashboard/page.css': 'p { margin: 0 }\n',
  'ARCHITECTURE.md':
    'Rooms:\n\n<!-- rooms: written by `npm run rooms` from rooms.json -->\n\n<!-- /rooms -->\n\nMore.\n',
};

const made: string[] = [];

/** A tree on disk, with its table and drawing written; `changes` are made before that. */
function tree(changes: Readonly<Record<string, string>> = {}, declared: object = {}): string {
  const root = mkdtempSync(join(tmpdir(), 'quark-rooms-'));
  made.push(root);
  mkdirSync(join(root, 'docs/images'), { recursive: true });
  const rooms = JSON.stringify({ rooms: ROOMS, arrows: [['base', 'store', 'codes']], ...declared });
  for (const [path, text] of Object.entries({ ...FILES, 'rooms.json': rooms, ...changes })) {
    write(root, path, text);
  }
  writeRooms(root);
  return root;
}

function write(root: string, path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

afterEach(() => {
  for (const root of made.splice(0)) rmSync(root, { recursive: true });
});

describe('the rooms of a tree', () => {
  it('pass where every import is declared', () => {
    expect(roomErrors(tree())).toEqual([]);
  });

  it.each([
    ['an import', "import { read } from '../read/read.ts';\n", '../read/read.ts'],
    ['the import of a type', "import type { R } from '../read/read.ts';\n", '../read/read.ts'],
    ['an inline type', "export type R = import('../read/read.ts').R;\n", '../read/read.ts'],
    [
      'the type of a module',
      "export type R = typeof import('../read/read.ts');\n",
      '../read/read.ts',
    ],
    ['a late import', "export const late = () => import('../read/read.ts');\n", '../read/read.ts'],
    ['an export', "export { read } from '../read/read.ts';\n", '../read/read.ts'],
    ['an export of all', "export * from '../read/read.ts';\n", '../read/read.ts'],
    [
      'the address of a worker',
      "export const url = new URL('../read/read.ts', import.meta.url);\n",
      '../read/read.ts',
    ],
    ['a nested room', "import './node/files.ts';\n", './node/files.ts'],
  ])('refuse %s of a room that is not declared', (_, text, specifier) => {
    const errors = roomErrors(tree({ 'src/store/more.ts': `\n${text}` }));
    expect(errors[0]).toBe(
      `src/store/more.ts:2: imports '${specifier}', but room store may import only: base`,
    );
  });

  it('refuse a module of Node and a package where they are not declared', () => {
    const errors = roomErrors(
      tree({
        'src/read/more.ts':
          "import 'node:fs';\nimport 'idb/with-async-ittr';\nimport '@scope/it/x';\n",
        'src/store/more.ts': "import 'idb/with-async-ittr';\n",
      }),
    );
    expect(errors).toEqual([
      "src/read/more.ts:1: imports 'node:fs', but room read may not name modules of Node",
      "src/read/more.ts:2: imports 'idb/with-async-ittr', but room read may use only these packages: none",
      "src/read/more.ts:3: imports '@scope/it/x', but room read may use only these packages: none",
    ]);
  });

  it('refuse to ask for a module of Node that is not declared', () => {
    const asks = "export const os = process.getBuiltinModule('node:os');\n";
    expect(roomErrors(tree({ 'src/read/more.ts': asks }))).toEqual([
      "src/read/more.ts:1: imports 'node:os', but room read may ask for only these modules of Node: none",
    ]);
    const rooms = ROOMS.map((each) =>
      each.name === 'read' ? { ...each, builtins: ['os'] } : each,
    );
    expect(roomErrors(tree({ 'src/read/more.ts': asks }, { rooms }))).toEqual([]);
  });

  it('let the example of a comment name what the room may not', () => {
    const shown =
      "/**\n * @example\n * import { writeFile } from 'node:fs';\n */\nexport const a = 1;\n";
    expect(roomErrors(tree({ 'src/read/more.ts': shown }))).toEqual([]);
  });

  it('let pages reach the sources by the name of the package, and nobody else', () => {
    const errors = roomErrors(
      tree({
        'dashboard/more.ts': "import '../src/index.ts';\nimport 'quark-sdk/node';\n",
        'src/node.ts': "import 'quark-sdk';\n",
      }),
    );
    expect(errors).toEqual([
      "dashboard/more.ts:1: imports '../src/index.ts', but files outside of src reach it as 'quark-sdk'",
      "src/node.ts:1: imports 'quark-sdk', but files of src import each other by path",
    ]);
  });

  it('may have single files of other rooms', () => {
    const rooms = [...ROOMS, { ...room('worker', ['src/read/read.ts']), folders: ['worker'] }];
    const errors = roomErrors(
      tree(
        { 'worker/w.ts': "import '../src/read/read.ts';\nimport '../src/store/store.ts';\n" },
        { rooms },
      ),
    );
    expect(errors).toEqual([
      "worker/w.ts:2: imports '../src/store/store.ts', but files outside of src reach it as 'quark-sdk'",
    ]);
  });

  it('refuse files of no room, unknown keys, and imports outwards', () => {
    const rooms = [room('base', ['store'], { pakages: [], node: true }), ...ROOMS.slice(1, -1)];
    expect(roomErrors(tree({}, { rooms, arrows: [['base', 'store']] }))).toEqual([
      expect.stringMatching(/^rooms.json, room base: pakages is not a known key/),
      'rooms.json, room base: only cli and rooms called node may name modules of Node',
      'rooms.json, room base: imports store, which is no room above it (rooms import inwards)',
      'rooms.json: an arrow names base, which is not drawn',
      'dashboard/page.tsx: belongs to no room of rooms.json',
      'rooms.json, room base: nothing imports store',
      'rooms.json, room base: nothing names a module of Node',
    ]);
  });

  it('declare nothing that no file needs', () => {
    const worker = {
      ...room('worker', ['store', 'src/read/read.ts', 'store/*']),
      folders: ['worker'],
      packages: ['comlink'],
      builtins: ['os'],
    };
    expect(
      roomErrors(
        tree({ 'worker/w.ts': "import '../src/read/read.ts';\n" }, { rooms: [...ROOMS, worker] }),
      ),
    ).toEqual([
      'rooms.json, room worker: nothing imports store',
      'rooms.json, room worker: nothing imports store/*',
      'rooms.json, room worker: nothing uses the package comlink',
      'rooms.json, room worker: nothing asks for os',
    ]);
  });

  it('refuse a circle of folders, also one of types only', () => {
    const errors = roomErrors(
      tree({
        'src/read/a.ts': "import './inner/b.ts';\n",
        'src/read/inner/b.ts': "import type { A } from './deep/c.ts';\n",
        'src/read/inner/deep/c.ts': "export type { A } from '../../a.ts';\n",
      }),
    );
    expect(errors).toEqual([
      [
        'src/read -> src/read/inner -> src/read/inner/deep -> src/read: folders import each other in a circle',
        "    src/read/a.ts:1 imports './inner/b.ts'",
        "    src/read/inner/b.ts:1 imports './deep/c.ts'",
        "    src/read/inner/deep/c.ts:1 imports '../../a.ts'",
      ].join('\n'),
    ]);
  });

  it('refuse 31 files side by side, generated ones not counted', () => {
    const files = Array.from({ length: 29 }, (_, index) => [
      `src/read/f${index}.ts`,
      'export {};\n',
    ]);
    const filled = { ...Object.fromEntries(files), 'src/read/text.generated.ts': 'export {};\n' };
    expect(roomErrors(tree(filled))).toEqual([]);
    expect(roomErrors(tree({ ...filled, 'src/read/style.css': '' }))).toEqual([
      'src/read: 31 files side by side, at most 30 are allowed',
    ]);
  });

  it('refuse a table or a drawing that is not what rooms.json says', () => {
    const root = tree();
    const page = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8');
    expect(page).toMatch(
      /^Rooms:\n\n<!-- rooms: .* -->\n\n\| room +\| what it is for +\|\n.*\n\n<!-- \/rooms -->\n\nMore.\n$/s,
    );
    expect(page).toContain('| `src/store/node` | Something small. |\n');
    expect(readFileSync(join(root, 'docs/rooms.md'), 'utf8')).toContain(
      '| `src/store/node` | Something small. | store, base ',
    );
    write(root, 'ARCHITECTURE.md', page.replace('Something small.', 'Something big.'));
    write(root, 'docs/rooms.md', '');
    write(root, 'docs/images/rooms.svg', '<svg/>');
    expect(roomErrors(root)).toEqual([
      'ARCHITECTURE.md: differs from rooms.json; `npm run rooms` writes it anew',
      'docs/rooms.md: differs from rooms.json; `npm run rooms` writes it anew',
      'docs/images/rooms.svg: differs from rooms.json; `npm run rooms` writes it anew',
    ]);
    writeRooms(root);
    expect(roomErrors(root)).toEqual([]);
  });
});

const body = (lines: number): string => '\n'.repeat(lines - 2);

describe('the figures of a tree', () => {
  const files = {
    'src/index.ts': "export { Reader } from './read/more.ts';\n",
    'src/read/more.ts': `${[
      'export class Reader {',
      '  constructor(a, b, c, d, e, f) {}',
      '  #all(a, b, c, d, e, f) {}',
      '}',
      'export const wide = (a, b, c, d, e, f) => 1;',
      `export function long() {${body(61)}\n}`,
    ].join('\n')}\n`,
    'src/store/more.ts': `export const long = () => {${body(91)}\n};\n`,
    'src/store/names.ts': "import { long } from './more.ts';\nexport { long };\n",
    'src/kernel/sum.ts': 'export function sum(a, b, c, d, e, f) {}\n',
  };
  const rooms = [room('kernel'), ...ROOMS];

  it('are lines, long functions, parameters and names with several owners', () => {
    const { lines, long, tooLong, manyParameters, sharedNames } = treeFigures(
      tree(files, { rooms }),
    );
    expect(lines).toEqual({ src: 171, pages: 4 });
    expect(long.map(({ at, name, lines: size }) => [at, name, size])).toEqual([
      ['src/store/more.ts:1', 'long', 91],
      ['src/read/more.ts:6', 'long', 61],
    ]);
    expect(tooLong.map(({ at }) => at)).toEqual(['src/store/more.ts:1']);
    expect(manyParameters.map(({ at, name }) => `${at} ${name}`)).toEqual([
      'src/read/more.ts:3 #all',
      'src/read/more.ts:5 wide',
    ]);
    expect([...sharedNames]).toEqual([['long', ['src/read/more.ts', 'src/store/more.ts']]]);
  });

  it('are held to the limits that rooms.json declares', () => {
    const limits = {
      srcLines: 170,
      pageLines: 4,
      functionsOver60: 1,
      parameters: 5,
      sharedNames: { twins: { sum: 'None.' }, homonyms: {} },
    };
    expect(roomErrors(tree(files, { rooms, limits }))).toEqual([
      'lines of src: 171, at most 170',
      'functions over 60 lines: 2, at most 1',
      'src/store/more.ts:1: long has 91 lines, at most 90',
      'src/read/more.ts:3: #all has 6 parameters, at most 5',
      'src/read/more.ts:5: wide has 6 parameters, at most 5',
      'long: exported by src/read/more.ts and src/store/more.ts; one name has one meaning',
      'rooms.json, shared names: sum has one owner by now',
    ]);
  });

  it('allow names with several owners that are listed with a reason, and few that mean different things', () => {
    const names = Array.from({ length: 11 }, (_, index) => `name${index}`);
    const text = names.map((name) => `export const ${name} = 1;\n`).join('');
    const both = { 'src/read/names.ts': text, 'src/store/names.ts': text };
    const reasons = Object.fromEntries(names.map((name) => [name, 'Both are needed.']));
    const errorsOf = (sharedNames: object): string[] =>
      roomErrors(tree(both, { limits: { sharedNames } }));
    expect(errorsOf({ twins: reasons, homonyms: {} })).toEqual([]);
    expect(errorsOf({ twins: {}, homonyms: reasons })).toEqual([
      'rooms.json: 11 names with different meanings, at most 10',
    ]);
  });
});
