/** From what is dropped on a page to files with their paths: folders are walked through, in the order of their names. */
import type { DroppedFile } from '../worker/protocol.ts';
import { t } from '../parts/t.ts';

/** Files of one drop; with more it is somebody's home, not a folder of logs. */
export const MAX_DROPPED_FILES = 100_000;
const MAX_DEPTH = 64;
/** Folders that no tool logs into. */
const LEFT_OUT = new Set(['node_modules', '.git', '.quark', '__pycache__']);

/** What cannot be read of a drop. */
export type DropProblem = {
  readonly file: string;
  readonly place: null;
  readonly reason: string;
};

/** The files of a drop. */
export type DropContents = {
  readonly files: readonly DroppedFile[];
  readonly problems: readonly DropProblem[];
};

/**
 * What is to be taken of a drop, to be called before the event is over: after that a browser forgets it. Where entries are not known,
 * only files are there, without folders.
 */
export function takeDrop(transfer: Pick<DataTransfer, 'items' | 'files'>): {
  readonly entries: readonly FileSystemEntry[];
  readonly files: readonly File[];
} {
  const entries: FileSystemEntry[] = [];
  const files: File[] = [];
  for (const item of transfer.items) {
    if (item.kind !== 'file') continue;
    const entry = typeof item.webkitGetAsEntry === 'function' ? item.webkitGetAsEntry() : null;
    if (entry !== null) {
      entries.push(entry);
      continue;
    }
    const file = item.getAsFile();
    if (file !== null) files.push(file);
  }
  return { entries, files };
}

/** The files of entries and all below them. `pause` is waited for between folders. */
export async function walkEntries(
  entries: readonly FileSystemEntry[],
  pause: () => Promise<void>,
  maxFiles: number = MAX_DROPPED_FILES,
): Promise<DropContents> {
  const files: DroppedFile[] = [];
  const problems: DropProblem[] = [];
  const problem = (file: string, reason: string): void => {
    problems.push({ file, place: null, reason });
  };
  let isFull = false;
  const walk = async (entry: FileSystemEntry, folder: string, depth: number): Promise<void> => {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (isFull) return;
    try {
      if (isFile(entry)) {
        if (files.length >= maxFiles) {
          isFull = true;
          problem(path, tooMany(maxFiles));
          return;
        }
        files.push({ file: await fileOf(entry), path });
      } else if (isDirectory(entry) && !LEFT_OUT.has(entry.name)) {
        if (depth >= MAX_DEPTH) {
          problem(path, t('Folders deeper than {depth} are left out.', { depth: MAX_DEPTH }));
          return;
        }
        const below = await entriesOf(entry);
        await pause();
        for (const one of below) await walk(one, path, depth + 1);
      }
    } catch (error) {
      problem(path, error instanceof Error ? error.message : String(error));
    }
  };
  for (const entry of entries) await walk(entry, '', 0);
  return { files, problems };
}

/** Files as a form picked them: those of a folder know their path in it. */
export function pickedFiles(files: Iterable<File>): DropContents {
  const taken: DroppedFile[] = [];
  const problems: DropProblem[] = [];
  for (const file of files) {
    const path = file.webkitRelativePath === '' ? file.name : file.webkitRelativePath;
    if (path.split('/').some((part) => LEFT_OUT.has(part))) continue;
    if (taken.length >= MAX_DROPPED_FILES) {
      problems.push({ file: path, place: null, reason: tooMany(MAX_DROPPED_FILES) });
      break;
    }
    taken.push({ file, path });
  }
  taken.sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
  return { files: taken, problems };
}

function tooMany(maxFiles: number): string {
  return t('Only the first {count} files were taken.', { count: maxFiles.toLocaleString('en') });
}

function isFile(entry: FileSystemEntry): entry is FileSystemFileEntry {
  return entry.isFile;
}

function isDirectory(entry: FileSystemEntry): entry is FileSystemDirectoryEntry {
  return entry.isDirectory;
}

function fileOf(entry: FileSystemFileEntry): Promise<File> {
  return new Promise((resolve, reject) => {
    entry.file(resolve, reject);
  });
}

/** A browser gives a hundred entries at a time, and none at the end. */
async function entriesOf(directory: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = directory.createReader();
  const all: FileSystemEntry[] = [];
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => {
      reader.readEntries(resolve, reject);
    });
    if (some.length === 0) break;
    all.push(...some);
  }
  return all.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}
