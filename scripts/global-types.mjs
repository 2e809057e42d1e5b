// The types of the platform that declarations of the package name, and a user's program may lack: that of a server has no `lib: ["DOM"]`,
// and with `types: []` nothing of Node. Each is declared without members, as a global that merges with the one of the DOM library, of
// `@types/node` or of another platform where the program has it, and is an empty type where it has not.
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bin, root } from './run-program.mjs';

/** Interfaces. Type parameters have to be those of the DOM library. */
const INTERFACES = [
  'AbortSignal',
  'Blob',
  'File',
  'ReadableStream<R>',
  'Request',
  'RequestInit',
  'Response',
  'Worker',
];

/**
 * The text of a declaration file that declares them.
 *
 * @param texts all declarations
 * @throws {Error} for a name that no declaration names any more
 */
export function globalTypes(texts) {
  const all = texts.join('\n').replaceAll(/\/\*\*[\s\S]*?\*\//g, '');
  for (const name of INTERFACES.map((one) => one.replace(/<.*/, '')))
    if (!new RegExp(`(?<![\\w.'])${name}\\b`).test(all))
      throw new Error(`No declaration names ${name}: take it out of scripts/global-types.mjs.`);
  return [
    '// Merges with what the libraries of a program declare; empty where they do not.',
    ...INTERFACES.map((name) => `interface ${name} {}`),
    '',
  ].join('\n');
}

/** Compiles the entries of declarations without any library but that of the language. @throws {Error} with what the compiler said */
export function checkBare(files) {
  const folder = join(root, 'build');
  mkdirSync(folder, { recursive: true });
  const project = join(folder, 'bare-types.json');
  const compilerOptions = {
    lib: ['ES2022'],
    module: 'nodenext',
    moduleDetection: 'force',
    noEmit: true,
    skipLibCheck: false,
    strict: true,
    target: 'es2022',
    types: [],
  };
  writeFileSync(project, JSON.stringify({ compilerOptions, files }));
  const { status, stdout } = spawnSync(bin('tsc'), ['--checkers', '1', '-p', project], {
    encoding: 'utf8',
    shell: process.platform === 'win32',
  });
  if (status !== 0) throw new Error(`The declarations name what a program may lack:\n${stdout}`);
}
