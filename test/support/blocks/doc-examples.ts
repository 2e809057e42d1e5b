/** Runs the examples of doc comments against the build, as a user's program: the package is in `node_modules`, the folder is empty. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { DocExample } from '../../../scripts/doc-examples.mjs';

const REPOSITORY = fileURLToPath(new URL('../../../', import.meta.url));
/** What examples import beside the package. */
const PACKAGES = ['@tensorflow/tfjs', '@types', 'apache-arrow', 'onnxruntime-web'];
const NOT_RUN = /^js not-run="(.+)"$/;

/** Why an example is not run; undefined for one that is. */
export const reasonNotToRun = ({ info }: DocExample): string | undefined => NOT_RUN.exec(info)?.[1];

/** The entry and the name, with a number where the name has several examples. */
export const titleOf = ({ entry, index, name }: DocExample): string =>
  index === 0 ? `${entry} ${name}` : `${entry} ${name} (${index + 1})`;

/**
 * The module that is run: a line that says in a comment what `console.log` prints is checked. Of one that is not run its imports from the
 * package are.
 */
export function moduleOf(example: DocExample): string {
  if (example.info !== 'js' && reasonNotToRun(example) === undefined)
    throw new Error(`${titleOf(example)}: nothing is known of a block of "${example.info}".`);
  const lines = example.code.split('\n');
  if (reasonNotToRun(example) !== undefined)
    return lines.filter((line) => /^import .* from 'quark-sdk/.test(line)).join('\n');
  return lines
    .map((line, at) =>
      line.replace(
        /console\.log\((.+)\);(.*?) \/\/ (.+)$/,
        (_, values: string, rest: string, expected: string) =>
          `quarkPrints(${at}, ${JSON.stringify(expected)}, ${values});${rest}`,
      ),
    )
    .join('\n');
}

/** A folder with the package and what examples import beside it. */
export function examplesFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'quark-examples-'));
  const modules = join(folder, 'node_modules');
  for (const name of ['quark-sdk', ...PACKAGES]) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    const source = name === 'quark-sdk' ? REPOSITORY : join(REPOSITORY, 'node_modules', name);
    symlinkSync(source, join(modules, name), 'junction');
  }
  return folder;
}

/** Runs examples in one process. @returns of each `ok`, or what went wrong */
export async function runExamples(examples: readonly DocExample[]): Promise<readonly string[]> {
  const folder = examplesFolder();
  try {
    const files = examples.map((example, index) => {
      const file = join(folder, String(index), 'example.mjs');
      mkdirSync(dirname(file));
      writeFileSync(file, moduleOf(example));
      return file;
    });
    const list = join(folder, 'list.json');
    writeFileSync(list, JSON.stringify(files));
    const program = fileURLToPath(new URL('./doc-example-process.mjs', import.meta.url));
    const child = spawn(process.execPath, ['--no-warnings', program, list], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let errors = '';
    child.stderr
      .setEncoding('utf8')
      .on('data', (text: string) => (errors = `${errors}${text}`.slice(-4000)));
    const [code]: unknown[] = await once(child, 'close');
    if (code !== 0)
      throw new Error(`The process of the examples ended with ${String(code)}:\n${errors}`);
    const outcomes: unknown = JSON.parse(readFileSync(`${list}.outcomes`, 'utf8'));
    if (!Array.isArray(outcomes)) throw new Error('The process of the examples gave no outcomes.');
    return outcomes.map(String);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** How examples are checked: as an editor checks a JavaScript file, which knows no null. */
const TYPE_SETTINGS = {
  allowJs: true,
  checkJs: true,
  lib: ['esnext', 'dom'],
  module: 'nodenext',
  noEmit: true,
  skipLibCheck: true,
  strict: false,
  target: 'esnext',
  types: ['node'],
};

/** What TypeScript has against the examples, a line an error: a name that is not exported, a property that is not there. */
export function typeErrorsOf(examples: readonly DocExample[]): readonly string[] {
  const folder = examplesFolder();
  try {
    for (const example of examples)
      if (reasonNotToRun(example) === undefined)
        writeFileSync(
          join(folder, `${titleOf(example).replaceAll(/\W+/g, '-')}.mjs`),
          example.code,
        );
    const settings = { compilerOptions: TYPE_SETTINGS, include: ['*.mjs'] };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(settings));
    const compiler = join(REPOSITORY, 'node_modules/typescript/bin/tsc');
    const { stdout } = spawnSync(process.execPath, [compiler, '-p', 'tsconfig.json'], {
      cwd: folder,
      encoding: 'utf8',
    });
    return stdout.split('\n').filter((line) => line.trim() !== '');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
