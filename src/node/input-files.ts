/** Files of a disk, for importing. */
import { open, readdir, stat } from 'node:fs/promises';
import { basename, join, relative, sep } from 'node:path';
import { invalidInput, QuarkError } from '../base/errors.ts';
import { inPieces, type InputFile } from '../import/input.ts';

/** More files than this in one folder tree are refused: it is somebody's home, not a log folder. */
const MAX_FILES = 100_000;
/** Folders that no tool logs into. */
const LEFT_OUT = new Set(['node_modules', '.git', '.quark', '__pycache__']);

/**
 * The files at `paths`; folders with everything below them, in the order of their names. Paths of the result are relative to what was
 * named, with its last part in front: `runs/version_0/metrics.csv` for the folder `/home/me/runs`. Links are followed to files, not to
 * folders.
 *
 * @throws {QuarkError} `invalid_input` when there is no such path, or too many files below it
 */
export async function openInputFiles(paths: readonly string[]): Promise<InputFile[]> {
  if (!Array.isArray(paths) || paths.some((path) => typeof path !== 'string' || path === ''))
    throw invalidInput('paths', paths, 'a list of paths');
  const files: InputFile[] = [];
  for (const path of paths) {
    const found = await stat(path).catch((cause: unknown) => {
      throw new QuarkError('invalid_input', `There is no file or folder ${path}.`, {
        details: { field: 'paths', value: path },
        cause,
      });
    });
    if (found.isDirectory()) await walk(path, path, files);
    else files.push(toInput(path, basename(path), found));
  }
  return files;
}

async function walk(root: string, folder: string, files: InputFile[]): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true });
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      if (!LEFT_OUT.has(entry.name)) await walk(root, path, files);
      continue;
    }
    // A link that leads nowhere, a socket, a device: nothing to read.
    const found = await stat(path).catch(() => undefined);
    if (found?.isFile() !== true) continue;
    if (files.length >= MAX_FILES)
      throw invalidInput('paths', root, `folders with at most ${MAX_FILES} files`);
    const below = [basename(root), ...relative(root, path).split(sep)].join('/');
    files.push(toInput(path, below, found));
  }
}

type Facts = { readonly size: number; readonly mtimeMs: number };

function toInput(path: string, name: string, { size, mtimeMs }: Facts): InputFile {
  const slice = async (start: number, end: number): Promise<Uint8Array<ArrayBuffer>> => {
    const file = await open(path, 'r');
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
      const file = await open(path, 'r');
      try {
        yield* inPieces((from, to) => readPart(file, from, to), start, size);
      } finally {
        await file.close();
      }
    },
  };
}

async function readPart(
  file: Awaited<ReturnType<typeof open>>,
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
