/** The code that this process runs, as Git, the lock file and the entry script say; and files and folders by their paths. */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { openInside } from '../../../base/node/open-inside.ts';
import { requireAt } from '../../../base/node/load-driver.ts';
import type { FoundFile, ProgramCode, ProgramFiles, SkippedFile } from '../platform.ts';

const LOCK_FILES = [
  'package-lock.json',
  'npm-shrinkwrap.json',
  'yarn.lock',
  'pnpm-lock.yaml',
  'bun.lock',
];
const MAX_LOCK_BYTES = 16 << 20;
const MAX_MANIFEST_BYTES = 1 << 20;
const MAX_ENTRY_BYTES = 16 << 20;
const MAX_UNTRACKED = 1000;
const MAX_NAMES_BYTES = 1 << 20;
const GIT_TIMEOUT_MS = 10_000;
const CHUNK_BYTES = 1 << 20;
/** Deeper folders are reported. */
const MAX_DEPTH = 64;

/** Files and code in Node. */
export const programFiles: ProgramFiles = { openFile, listFiles, readCode };

/** One regular file, links followed: the program names it itself. */
async function openFile(path: string): Promise<FoundFile> {
  const real = await realpath(path);
  const info = await stat(real);
  if (!info.isFile()) throw new Error(`${path} is no regular file`);
  return foundFile([real], real, basename(path), info);
}

function foundFile(
  roots: readonly string[],
  real: string,
  path: string,
  info: { readonly size: number; readonly mtimeMs: number },
): FoundFile {
  return {
    path,
    sizeBytes: info.size,
    modifiedAtMs: Math.trunc(info.mtimeMs),
    stream: () => readInside(roots, real),
  };
}

async function* readInside(
  roots: readonly string[],
  path: string,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const file = await openInside(roots, path);
  if (file === undefined) throw new Error(`${path} leads elsewhere now`);
  try {
    for (;;) {
      const { bytesRead, buffer } = await file.read(new Uint8Array(CHUNK_BYTES), 0, CHUNK_BYTES);
      if (bytesRead === 0) return;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await file.close();
  }
}

/** Files of a folder by name, and what is left out; a link is neither followed out of the folder nor into a folder. */
async function* listFiles(
  folder: string,
  isExcluded: (name: string) => boolean,
): AsyncGenerator<FoundFile | SkippedFile> {
  const root = await realpath(folder);
  if (!(await stat(root)).isDirectory()) throw new Error(`${folder} is no folder`);
  yield* filesIn(root, root, isExcluded, 0);
}

async function* filesIn(
  root: string,
  folder: string,
  isExcluded: (name: string) => boolean,
  depth: number,
): AsyncGenerator<FoundFile | SkippedFile> {
  const pathOf = (full: string): string => relative(root, full).split(sep).join('/');
  const entries = await readdir(folder, { withFileTypes: true });
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    if (isExcluded(entry.name)) continue;
    const full = join(folder, entry.name);
    const path = pathOf(full);
    if (entry.isDirectory()) {
      if (depth >= MAX_DEPTH) yield { path, reason: 'it is too deep' };
      else yield* filesIn(root, full, isExcluded, depth + 1);
    } else yield await describeEntry(root, full, path, entry.isSymbolicLink());
  }
}

async function describeEntry(
  root: string,
  full: string,
  path: string,
  isLink: boolean,
): Promise<FoundFile | SkippedFile> {
  try {
    const real = isLink ? await realpath(full) : full;
    if (real !== root && !real.startsWith(root + sep))
      return { path, reason: 'it is a link that leads outside of the folder' };
    const info = await stat(real);
    if (info.isFile()) return foundFile([root], real, path, info);
    return { path, reason: isLink ? 'it is a link to a folder' : 'it is no regular file' };
  } catch (error) {
    const code: unknown = error instanceof Error ? Reflect.get(error, 'code') : undefined;
    return { path, reason: `it cannot be read (${typeof code === 'string' ? code : 'unknown'})` };
  }
}

/** What the process runs. Nothing of it fails: what cannot be found out is null or empty. */
async function readCode(maxDiffBytes: number): Promise<ProgramCode> {
  const cwd = process.cwd();
  const root = (await git(cwd, ['rev-parse', '--show-toplevel'], MAX_NAMES_BYTES)).text.trim();
  const isRepository = root !== '';
  const ask = (args: readonly string[], maxBytes = MAX_NAMES_BYTES): Promise<GitAnswer> =>
    isRepository ? git(cwd, args, maxBytes) : Promise.resolve(NO_ANSWER);
  const [commit, branch, diff, untracked] = await Promise.all([
    ask(['rev-parse', 'HEAD']),
    ask(['rev-parse', '--abbrev-ref', 'HEAD']),
    ask(['diff', 'HEAD', '--no-color', '--no-ext-diff', '--no-textconv'], maxDiffBytes),
    ask(['ls-files', '--others', '--exclude-standard', '-z']),
  ]);
  const names = untracked.text.split('\0').filter((name) => name !== '');
  const manifest = await nearest(cwd, ['package.json'], MAX_MANIFEST_BYTES);
  const lock = await nearest(cwd, LOCK_FILES, MAX_LOCK_BYTES);
  return {
    commit: /^[\da-f]{40,}$/.test(commit.text.trim()) ? commit.text.trim() : null,
    branch: branch.text.trim() || null,
    diff: isRepository ? diff.text : null,
    isDiffCut: diff.isCut,
    untracked: names.slice(0, MAX_UNTRACKED),
    untrackedCount: names.length,
    lockFile: lock === undefined ? null : { name: basename(lock.path), bytes: lock.bytes },
    packages: { ...(await directPackages(manifest)), ...(await requiredPackages()) },
    scripts: await entryScript(isRepository ? root : cwd),
  };
}

type GitAnswer = { readonly text: string; readonly isCut: boolean };
const NO_ANSWER: GitAnswer = { text: '', isCut: false };

/** What Git answers, up to a bound. Configured programs (external diffs, pagers, monitors of the file system) are not run. */
function git(cwd: string, args: readonly string[], maxBytes: number): Promise<GitAnswer> {
  return new Promise((settle) => {
    const child = spawn(
      'git',
      ['--no-optional-locks', '--no-pager', '-c', 'core.fsmonitor=false', ...args],
      { cwd, stdio: ['ignore', 'pipe', 'ignore'], timeout: GIT_TIMEOUT_MS, windowsHide: true },
    );
    const chunks: Buffer[] = [];
    let size = 0;
    child.stdout.on('data', (chunk: Buffer) => {
      if (size <= maxBytes) chunks.push(chunk);
      size += chunk.byteLength;
      if (size > maxBytes) child.kill();
    });
    child.on('error', () => settle(NO_ANSWER));
    child.on('close', (code) => {
      const isCut = size > maxBytes;
      const bytes = Buffer.concat(chunks).subarray(0, maxBytes);
      settle(code === 0 || isCut ? { text: bytes.toString('utf8'), isCut } : NO_ANSWER);
    });
  });
}

type ReadFile = { readonly path: string; readonly bytes: Uint8Array<ArrayBuffer> };

/** The first of these files in the folder or in one above it. */
async function nearest(
  from: string,
  names: readonly string[],
  maxBytes: number,
): Promise<ReadFile | undefined> {
  for (let folder = from; ; folder = dirname(folder)) {
    for (const name of names) {
      const bytes = await readSmall(join(folder, name), maxBytes);
      if (bytes !== undefined) return { path: join(folder, name), bytes };
    }
    if (dirname(folder) === folder) return undefined;
  }
}

async function readSmall(
  path: string,
  maxBytes: number,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  try {
    const info = await stat(path);
    return info.isFile() && info.size <= maxBytes
      ? new Uint8Array(await readFile(path))
      : undefined;
  } catch {
    return undefined;
  }
}

/** Versions of the packages that the manifest names and that are installed. */
async function directPackages(manifest: ReadFile | undefined): Promise<Record<string, string>> {
  const versions: Record<string, string> = {};
  const json = manifest === undefined ? undefined : parse(manifest.bytes);
  for (const list of [
    'dependencies',
    'devDependencies',
    'optionalDependencies',
    'peerDependencies',
  ]) {
    const named: unknown = json === undefined ? undefined : Reflect.get(json, list);
    if (typeof named !== 'object' || named === null) continue;
    for (const name of Object.keys(named)) {
      const version = await installedVersion(dirname(manifest?.path ?? ''), name);
      if (version !== undefined) versions[name] = version;
    }
  }
  return versions;
}

async function installedVersion(from: string, name: string): Promise<string | undefined> {
  if (!/^(?:@[\w.-]+\/)?[\w.-]+$/.test(name)) return undefined;
  for (let folder = from; ; folder = dirname(folder)) {
    const bytes = await readSmall(
      join(folder, 'node_modules', name, 'package.json'),
      MAX_MANIFEST_BYTES,
    );
    const version: unknown =
      bytes === undefined ? undefined : Reflect.get(parse(bytes) ?? {}, 'version');
    if (typeof version === 'string') return version;
    if (dirname(folder) === folder) return undefined;
  }
}

/** Versions of the packages that were loaded by `require`: Node lists no others. */
async function requiredPackages(): Promise<Record<string, string>> {
  const folders = new Map<string, string>();
  for (const path of Object.keys(requireAt(join(process.cwd(), 'package.json')).cache)) {
    const found = /^(.*[\\/]node_modules[\\/]((?:@[^\\/]+[\\/])?[^\\/]+))[\\/]/.exec(path);
    if (found?.[1] !== undefined && found[2] !== undefined)
      folders.set(found[1], found[2].replaceAll('\\', '/'));
  }
  const versions: Record<string, string> = {};
  for (const [folder, name] of folders) {
    const bytes = await readSmall(join(folder, 'package.json'), MAX_MANIFEST_BYTES);
    const version: unknown =
      bytes === undefined ? undefined : Reflect.get(parse(bytes) ?? {}, 'version');
    if (typeof version === 'string') versions[name] = version;
  }
  return versions;
}

function parse(bytes: Uint8Array): object | undefined {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

async function entryScript(root: string): Promise<ProgramCode['scripts']> {
  const path = process.argv[1];
  if (path === undefined) return [];
  const full = resolve(path);
  const bytes = await readSmall(full, MAX_ENTRY_BYTES);
  if (bytes === undefined) return [];
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const below = relative(root, full).split(sep).join('/');
  return [{ path: below.startsWith('..') ? basename(full) : below, sha256, isEntry: true }];
}
