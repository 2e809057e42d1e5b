/** Files and folders as artifacts: by their paths in Node, by `File` and handles in pages. */
import { invalidInput, messageOf, QuarkError } from '../../base/errors.ts';
import { positive } from '../../base/options.ts';
import type { JsonObject } from '../../base/json.ts';
import {
  loadPlatform,
  type FoundFile,
  type ProgramFiles,
  type SkippedFile,
} from '../../session/platforms/platform.ts';

/** Type of the artifacts that are files. */
export const FILE_TYPE = 'file';

/** The part of a `FileSystemFileHandle` that is used. */
export interface FileHandle {
  readonly kind: 'file';
  readonly name: string;
  getFile(): Promise<Blob>;
}

/** The part of a `FileSystemDirectoryHandle` that is used. */
export interface DirectoryHandle {
  readonly kind: 'directory';
  readonly name: string;
  values(): AsyncIterable<FileHandle | DirectoryHandle>;
}

/** A file: its path in Node, a `File`, `Blob` or handle in pages. */
export type FileInput = string | Blob | FileHandle;

/** A folder: its path in Node; a handle or the files that a user picked in pages. */
export type DirectoryInput = string | DirectoryHandle | readonly File[];

/** Names in a folder that are left out unless asked otherwise. */
export const DEFAULT_EXCLUDED: readonly string[] = Object.freeze(['.git', 'node_modules']);

/** What bounds the logging of a folder. */
export const DIRECTORY_RULES = { maxFiles: positive(1000), maxBytes: positive(2 ** 30) };

/** One file. @throws {QuarkError} `invalid_input` */
export async function findFile(file: unknown): Promise<FoundFile> {
  if (typeof file === 'string') {
    const files = await platformFiles('file');
    return files.openFile(file).catch((cause: unknown) => {
      throw new QuarkError(
        'invalid_input',
        `The file ${file} cannot be read: ${messageOf(cause)}`,
        {
          details: { field: 'file', value: file },
          cause,
        },
      );
    });
  }
  if (isBlob(file)) return foundBlob(file, 'name' in file ? String(file.name) : 'file');
  if (isHandle(file, 'file')) return foundBlob(await file.getFile(), file.name);
  throw invalidInput('file', file, 'a path, a File, a Blob or a file handle');
}

/** The files of a folder, and what is left out. @throws {QuarkError} `invalid_input` */
export async function* findFiles(
  directory: unknown,
  excluded: readonly string[],
): AsyncGenerator<FoundFile | SkippedFile> {
  const isExcluded = (name: string): boolean => excluded.includes(name);
  if (typeof directory === 'string') {
    const files = await platformFiles('directory');
    try {
      yield* files.listFiles(directory, isExcluded);
    } catch (cause) {
      throw new QuarkError(
        'invalid_input',
        `The folder ${directory} cannot be read: ${messageOf(cause)}`,
        {
          details: { field: 'directory', value: directory },
          cause,
        },
      );
    }
  } else if (isHandle(directory, 'directory')) yield* handleFiles(directory, '', isExcluded);
  else if (Array.isArray(directory) && directory.every(isBlob))
    for (const file of directory) {
      const picked: unknown = Reflect.get(file, 'webkitRelativePath');
      const name = 'name' in file ? String(file.name) : 'file';
      const path = typeof picked === 'string' && picked !== '' ? picked : name;
      if (!path.split('/').some(isExcluded)) yield foundBlob(file, path);
    }
  else throw invalidInput('directory', directory, 'a path, a directory handle, or a list of files');
}

async function* handleFiles(
  folder: DirectoryHandle,
  prefix: string,
  isExcluded: (name: string) => boolean,
): AsyncGenerator<FoundFile | SkippedFile> {
  for await (const entry of folder.values()) {
    if (isExcluded(entry.name)) continue;
    const path = `${prefix}${entry.name}`;
    try {
      if (entry.kind === 'file') yield foundBlob(await entry.getFile(), path);
    } catch (error) {
      yield { path, reason: `it cannot be read (${messageOf(error)})` };
    }
    if (entry.kind === 'directory') yield* handleFiles(entry, `${path}/`, isExcluded);
  }
}

async function platformFiles(field: string): Promise<ProgramFiles> {
  const { files } = await loadPlatform();
  if (files === undefined)
    throw invalidInput(field, 'a path', 'a File or a handle: a page has no paths');
  return files;
}

function foundBlob(blob: Blob, path: string): FoundFile {
  const changed: unknown = Reflect.get(blob, 'lastModified');
  return {
    path,
    sizeBytes: blob.size,
    modifiedAtMs: typeof changed === 'number' ? changed : null,
    stream: () => blobChunks(blob),
  };
}

/** Safari's streams are no iterables. */
async function* blobChunks(blob: Blob): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const reader = blob.stream().getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    reader.releaseLock();
  }
}

function isBlob(value: unknown): value is Blob {
  return typeof Blob === 'function' && value instanceof Blob;
}

function isHandle(value: unknown, kind: 'file'): value is FileHandle;
function isHandle(value: unknown, kind: 'directory'): value is DirectoryHandle;
function isHandle(value: unknown, kind: string): boolean {
  return typeof value === 'object' && value !== null && Reflect.get(value, 'kind') === kind;
}

/** Longest part of a key that comes from a path. */
const MAX_PART_CHARS = 64;
const MAX_PARTS = 7;

/**
 * A path as the end of an artifact's key: what a key cannot have becomes "_", with an "x" where a part begins with that. The path itself
 * is in the metadata.
 */
export function keyOfPath(path: string): string {
  const parts = path.split('/').filter((part) => part !== '' && part !== '.');
  const few =
    parts.length > MAX_PARTS
      ? [...parts.slice(0, MAX_PARTS - 1), parts.slice(MAX_PARTS - 1).join('_')]
      : parts;
  return few
    .map((part) =>
      part
        .replace(/[^\w.-]/g, '_')
        .replace(/^(?![A-Za-z0-9])/, 'x')
        .slice(0, MAX_PART_CHARS),
    )
    .join('/');
}

/** The same for the files of one folder: of two paths with the same key the second has a number behind it. */
export function keysOfPaths(): (path: string) => string {
  const taken = new Set<string>();
  return (path) => {
    const key = keyOfPath(path);
    let free = key;
    for (let i = 2; taken.has(free); i++) free = `${key}_${i}`;
    taken.add(free);
    return free;
  };
}

/** The metadata of a file. */
export function fileMetadata({ modifiedAtMs, path }: FoundFile): JsonObject {
  return {
    format_version: 1,
    path,
    modified_at: modifiedAtMs === null ? null : new Date(modifiedAtMs).toISOString(),
  };
}
