/** Files of a disk, for importing. */
import { readdir, realpath, stat, type FileHandle } from 'node:fs/promises';
import { basename, join, relative, sep } from 'node:path';
import { invalidInput, messageOf, QuarkError } from '../../../base/errors.ts';
import { inPieces, type InputFile } from '../../../codecs/input.ts';
import { isInside, openInside } from '../../../base/node/open-inside.ts';

/** More files than this in one folder tree are refused: it is somebody's home, not a log folder. So are more folders. */
const MAX_FILES = 100_000;
/** Folders that no tool logs into. */
const LEFT_OUT = new Set(['node_modules', '.git', '.quark', '__pycache__']);

/**
 * The files at `paths`; folders with everything below them, in the order of their names. Paths of the result are relative to what was
 * named, with its last part in front: `runs/version_0/metrics.csv` for the folder `/home/me/runs`.
 *
 * What is named may be a link. Links below it are followed to files that lie in what was named, not to folders. A link that leads out of it,
 * a folder that cannot be read, and a named path that is neither a file nor a folder are in the result as files that cannot be read, so
 * that {@link importRuns} reports each as a problem. Pipes, sockets and devices are never opened.
 *
 * @throws {QuarkError} `invalid_input` when there is no such path, or too many files or folders below it
 * @example
 * ```js
 * import { writeFile } from 'node:fs/promises';
 * import { createMemoryStore } from 'quark-sdk';
 * import { importRuns } from 'quark-sdk/exchange';
 * import { openInputFiles } from 'quark-sdk/node';
 *
 * await writeFile('metrics.csv', 'epoch,loss,val_loss\n0,0.9,1.0\n1,0.5,0.7\n');
 * const files = await openInputFiles(['metrics.csv']); // or folders
 * console.log(files[0].path, files[0].sizeBytes); // metrics.csv 40
 * const { runs } = await importRuns(files, createMemoryStore());
 * console.log(runs[0].rowCount); // 4
 * ```
 */
export async function openInputFiles(paths: readonly string[]): Promise<InputFile[]> {
  if (!Array.isArray(paths) || paths.some((path) => typeof path !== 'string' || path === ''))
    throw invalidInput('paths', paths, 'a list of paths');
  const named: { readonly path: string; readonly isFolder: boolean; readonly facts: Facts }[] = [];
  const roots: string[] = [];
  for (const path of paths) {
    try {
      const facts = await stat(path);
      roots.push(await realpath(path));
      named.push({ path, isFolder: facts.isDirectory(), facts });
    } catch (cause) {
      throw new QuarkError('invalid_input', `There is no file or folder ${path}.`, {
        details: { field: 'paths', value: path },
        cause,
      });
    }
  }
  const files: InputFile[] = [];
  for (const { facts, isFolder, path } of named) {
    if (isFolder) await new FolderWalk(path, roots, files).visit(path);
    else if (facts.isFile()) files.push(toInput(roots, path, basename(path), facts));
    else files.push(unreadable(basename(path), path, 'it is neither a file nor a folder'));
  }
  return files;
}

class FolderWalk {
  readonly #root: string;
  readonly #roots: readonly string[];
  readonly #files: InputFile[];
  #folderCount = 0;

  constructor(root: string, roots: readonly string[], files: InputFile[]) {
    this.#root = root;
    this.#roots = roots;
    this.#files = files;
  }

  async visit(folder: string): Promise<void> {
    if (++this.#folderCount > MAX_FILES)
      throw invalidInput('paths', this.#root, `folders with at most ${MAX_FILES} folders in them`);
    const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
      this.#add(unreadable(this.#nameOf(folder), folder, messageOf(error)));
      return [];
    });
    for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) {
        if (!LEFT_OUT.has(entry.name)) await this.visit(path);
      } else if (entry.isSymbolicLink()) await this.#link(path);
      else if (entry.isFile()) await this.#file(path);
    }
  }

  async #link(path: string): Promise<void> {
    const target = await realpath(path).catch(() => undefined);
    // A link that leads nowhere, or round in a circle: nothing to read.
    if (target === undefined) return;
    if (isInside(this.#roots, target)) return this.#file(path);
    this.#add(
      unreadable(
        this.#nameOf(path),
        path,
        `it is a link that leads out of ${this.#root}: name what it leads to as well, if it is to be read`,
      ),
    );
  }

  async #file(path: string): Promise<void> {
    const found = await stat(path).catch(() => undefined);
    if (found?.isFile() === true) this.#add(toInput(this.#roots, path, this.#nameOf(path), found));
  }

  #add(file: InputFile): void {
    if (this.#files.length >= MAX_FILES)
      throw invalidInput('paths', this.#root, `folders with at most ${MAX_FILES} files`);
    this.#files.push(file);
  }

  #nameOf(path: string): string {
    return [basename(this.#root), ...relative(this.#root, path).split(sep)].join('/');
  }
}

type Facts = { readonly size: number; readonly mtimeMs: number; isFile(): boolean };

function toInput(
  roots: readonly string[],
  path: string,
  name: string,
  { size, mtimeMs }: Facts,
): InputFile {
  const openFile = async (): Promise<FileHandle> => {
    const file = await openInside(roots, path);
    if (file === undefined)
      throw notRead(path, 'something else was put in its place, or it leads elsewhere now');
    return file;
  };
  const slice = async (start: number, end: number): Promise<Uint8Array<ArrayBuffer>> => {
    const file = await openFile();
    try {
      return await readPart(file, start, end);
    } finally {
      await file.close();
    }
  };
  return {
    path: name,
    sizeBytes: size,
    modifiedAtMs: mtimeMs,
    slice,
    async *stream(start = 0) {
      const file = await openFile();
      try {
        yield* inPieces((from, to) => readPart(file, from, to), start, size);
      } finally {
        await file.close();
      }
    },
  };
}

/** A file that was found and must not be read: reading it throws the reason. */
function unreadable(name: string, path: string, reason: string): InputFile {
  return {
    path: name,
    sizeBytes: 0,
    modifiedAtMs: null,
    slice: () => Promise.reject(notRead(path, reason)),
    // oxlint-disable-next-line require-yield -- there is nothing to yield
    async *stream() {
      throw notRead(path, reason);
    },
  };
}

function notRead(path: string, reason: string): QuarkError {
  return new QuarkError('invalid_input', `It is not read: ${reason}.`, {
    details: { field: 'paths', value: path, rule: 'a file in what was named' },
  });
}

async function readPart(
  file: FileHandle,
  start: number,
  end: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(Math.max(0, end - start));
  let used = 0;
  while (used < bytes.byteLength) {
    const { bytesRead } = await file.read(bytes, used, bytes.byteLength - used, start + used);
    if (bytesRead === 0) break;
    used += bytesRead;
  }
  return bytes.subarray(0, used);
}
