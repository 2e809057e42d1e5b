/** Files to import, wherever they are: on a disk, dropped on a page, in memory. */
import { checkNotAborted } from '../base/assert.ts';
import { invalidInput } from '../base/errors.ts';

/** One file. It is read front to back, or a piece at a time; never changed. */
export interface InputFile {
  /** Path with "/" between its parts, relative to what was handed in: `run1/version_0/metrics.csv`. */
  readonly path: string;
  readonly sizeBytes: number;
  /** When it was last changed, in UTC epoch milliseconds; null where nobody knows. */
  readonly modifiedAtMs: number | null;
  /** The bytes from `start` (default 0) to the end, in pieces. */
  stream(start?: number): AsyncIterable<Uint8Array<ArrayBuffer>>;
  /** The bytes from `start` up to `end`, fewer at the end of the file. */
  slice(start: number, end: number): Promise<Uint8Array<ArrayBuffer>>;
}

const PIECE_BYTES = 1 << 20;

/**
 * A file that a page was given, dropped on it or picked, for {@link importRuns}. It is read when the import gets to it.
 *
 * @param path with "/" between its parts; default: that in the directory that was picked, else the name of the file
 *
 * @example
 * ```js
 * import { createMemoryStore } from 'quark-sdk';
 * import { blobInput, importRuns } from 'quark-sdk/exchange';
 *
 * const picked = new File(['epoch,loss\n0,0.9\n1,0.5\n'], 'history.csv'); // of <input type="file">, or dropped on a page
 * const { runs } = await importRuns([blobInput(picked)], createMemoryStore());
 * console.log(runs[0].rowCount); // 2
 * ```
 */
export function blobInput(blob: Blob, path?: string): InputFile {
  if (!(blob instanceof Blob)) throw invalidInput('blob', blob, 'a Blob or File');
  const name = path ?? pathOf(blob);
  const slice = async (start: number, end: number): Promise<Uint8Array<ArrayBuffer>> =>
    new Uint8Array(await blob.slice(start, end).arrayBuffer());
  return {
    path: name,
    sizeBytes: blob.size,
    modifiedAtMs: 'lastModified' in blob ? Number(blob.lastModified) : null,
    slice,
    stream: (start = 0) => inPieces(slice, start, blob.size),
  };
}

/**
 * Bytes or text in memory as a file for {@link importRuns}.
 *
 * @param path the name that the file is to have, with "/" between its parts: importers go by names and folders
 * @example
 * ```js
 * import { createMemoryStore } from 'quark-sdk';
 * import { bytesInput, importRuns } from 'quark-sdk/exchange';
 *
 * const file = bytesInput('runs/history.csv', 'epoch,loss\n0,0.9\n1,0.5\n'); // text, or a Uint8Array
 * console.log(file.path, file.sizeBytes); // runs/history.csv 23
 * const { runs } = await importRuns([file], createMemoryStore());
 * console.log(runs[0].rowCount); // 2
 * ```
 */
export function bytesInput(path: string, bytes: Uint8Array<ArrayBuffer> | string): InputFile {
  const content = typeof bytes === 'string' ? new TextEncoder().encode(bytes) : bytes;
  if (!(content instanceof Uint8Array)) throw invalidInput('bytes', bytes, 'text or a Uint8Array');
  const slice = async (start: number, end: number): Promise<Uint8Array<ArrayBuffer>> =>
    content.slice(start, end);
  return {
    path,
    sizeBytes: content.byteLength,
    modifiedAtMs: null,
    slice,
    stream: (start = 0) => inPieces(slice, start, content.byteLength),
  };
}

/** A file that is read by asking for its pieces. */
export async function* inPieces(
  slice: InputFile['slice'],
  start: number,
  end: number,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const read = (at: number): Promise<Uint8Array<ArrayBuffer>> | undefined => {
    if (at >= end) return undefined;
    const piece = slice(at, Math.min(end, at + PIECE_BYTES));
    // A caller that stops reading never asks how it went.
    piece.catch(() => undefined);
    return piece;
  };
  let at = start;
  for (let next = read(at); next !== undefined;) {
    const piece = await next;
    if (piece.byteLength === 0) return; // it has become shorter meanwhile
    at += piece.byteLength;
    // The next one is read while this one is worked on.
    next = read(at);
    yield piece;
  }
}

/** Who is told while a file is read. */
export type InputWatch = {
  readonly signal: AbortSignal | undefined;
  /** Called with the size of each piece. */
  readonly read: (file: string, bytes: number) => void;
  /** Called when the file cannot be read, before the error goes on to the reader. */
  readonly failed: (error: unknown) => void;
};

/** The file, with its bytes counted as they are read, and reading ended when the signal says so. */
export function watchInput(file: InputFile, { signal, read, failed }: InputWatch): InputFile {
  return {
    path: file.path,
    sizeBytes: file.sizeBytes,
    modifiedAtMs: file.modifiedAtMs,
    async slice(start, end) {
      checkNotAborted(signal);
      const bytes = await file.slice(start, end).catch((error: unknown) => {
        failed(error);
        throw error;
      });
      read(file.path, bytes.byteLength);
      return bytes;
    },
    async *stream(start) {
      const pieces = file.stream(start)[Symbol.asyncIterator]();
      let isOver = false;
      try {
        for (;;) {
          const next = await pieces.next().catch((error: unknown) => {
            isOver = true;
            failed(error);
            throw error;
          });
          isOver = next.done === true;
          if (next.done === true) return;
          checkNotAborted(signal);
          read(file.path, next.value.byteLength);
          yield next.value;
        }
      } finally {
        if (!isOver) await pieces.return?.();
      }
    },
  };
}

/** Files by the folder they lie in, in the order in which the folders first occur. */
export function groupByFolder(files: readonly InputFile[]): InputFile[][] {
  const groups = new Map<string, InputFile[]>();
  for (const file of files) {
    const folder = folderOf(file.path);
    const group = groups.get(folder);
    if (group === undefined) groups.set(folder, [file]);
    else group.push(file);
  }
  return [...groups.values()];
}

/** The last part of a path. */
export function fileName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** All of a path but the last part; empty for a bare name. */
export function folderOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')));
}

function pathOf(blob: Blob): string {
  if (
    'webkitRelativePath' in blob &&
    typeof blob.webkitRelativePath === 'string' &&
    blob.webkitRelativePath !== ''
  )
    return blob.webkitRelativePath;
  return 'name' in blob && typeof blob.name === 'string' ? blob.name : 'file';
}
