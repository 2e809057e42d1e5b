/** A copy of the sources in a temporary folder, to which the patches of this folder are applied. */
import { execFile, execFileSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const HERE = fileURLToPath(new URL('.', import.meta.url));
/** What an installation unpacked: the copy has links to it. */
const LINKED = ['build', 'node_modules'];
const LEFT_OUT = new Set(['.git', 'coverage', 'dist', ...LINKED]);

/** A file that a patch touches. */
export type Change = {
  readonly path: string;
  readonly isNew: boolean;
  readonly added: number;
  readonly removed: number;
};

/** The changes of a patch, sorted by path. */
export function changesOf(patch: string): Change[] {
  const git = (...args: string[]): string[] =>
    execFileSync('git', ['apply', ...args, join(HERE, patch)], { encoding: 'utf8' })
      .split('\n')
      .filter((line) => line !== '');
  const created = new Set(
    git('--summary').flatMap((line) => / create mode \d+ (.*)$/.exec(line)?.[1] ?? []),
  );
  return git('--numstat').map((line) => {
    const [added, removed, path = ''] = line.split('\t');
    return { path, isNew: created.has(path), added: Number(added), removed: Number(removed) };
  });
}

export class PatchedCopy {
  readonly root: string = mkdtempSync(join(tmpdir(), 'quark-adding-'));

  constructor() {
    for (const name of readdirSync(ROOT)) {
      if (!LEFT_OUT.has(name)) cpSync(join(ROOT, name), join(this.root, name), { recursive: true });
    }
    for (const name of LINKED) {
      mkdirSync(join(ROOT, name), { recursive: true });
      symlinkSync(join(ROOT, name), join(this.root, name));
    }
  }

  /** Applies a patch, or takes it back. Fails where the files around it have changed: see docs/adding.md. */
  apply(patch: string, ...more: readonly '--reverse'[]): void {
    execFileSync('git', ['apply', ...more, join(HERE, patch)], { cwd: this.root });
  }

  read(path: string): string {
    return readFileSync(join(this.root, path), 'utf8');
  }

  /** What the compiler says of the sources and of some tests. */
  async compile(tests: readonly string[]): Promise<string> {
    const include = ['src', 'worker', 'dashboard', 'demo', ...tests];
    const config = { extends: './tsconfig.json', include };
    writeFileSync(join(this.root, 'tsconfig.adding.json'), JSON.stringify(config));
    return this.#run('typescript/bin/tsc', '--checkers', '1', '-p', 'tsconfig.adding.json');
  }

  /** Runs tests of the copy; `-u` writes what they generate. */
  async test(...args: readonly string[]): Promise<string> {
    return this.#run('vitest/vitest.mjs', 'run', '--project=fast', '--maxWorkers=1', ...args);
  }

  /** The output of a program of `node_modules`, with its exit code where that is not zero. */
  async #run(program: string, ...args: readonly string[]): Promise<string> {
    const known = Object.entries(process.env).filter(([name]) => !/^(?:VITEST|TEST$)/.test(name));
    const options = { cwd: this.root, env: { ...Object.fromEntries(known), NO_COLOR: '1' } };
    const command = [join('node_modules', program), ...args];
    return promisify(execFile)(process.execPath, command, options).then(
      ({ stdout }) => stdout,
      (error: { stdout: string; code: number }) => `${error.stdout}\nexit code ${error.code}`,
    );
  }

  [Symbol.dispose](): void {
    rmSync(this.root, { recursive: true });
  }
}
