/** Where parts of frames lie, and reading them. */
import { createId } from '../../base/ids.ts';
import type { FileEntry, FolderEntry } from './opfs-files.ts';
import type { FoundFrame, ReadBytes } from './opfs-frames.ts';

/** Segments that lie close to each other are read together, up to so many bytes. */
const MAX_READ_BYTES = 8 * 1024 * 1024;
/** Bytes between them that are read for nothing. */
const MAX_GAP_BYTES = 65_536;

/** Where a part of a frame lies. */
export type Part = {
  readonly file: string;
  readonly at: number;
  readonly size: number;
  readonly hash: number;
};

/** A name for a new file. */
export function newName(): string {
  return `${createId('w', Date.now()).toLowerCase()}.log`;
}

/** The files of frames in a folder. */
export async function filesIn(folder: FolderEntry): Promise<ReadonlyMap<string, FileEntry>> {
  const found = new Map<string, FileEntry>();
  for await (const [name, entry] of folder.entries())
    if (entry.kind === 'file' && name.endsWith('.log')) found.set(name, entry);
  return found;
}

/** Reads a file as it was when it was asked for. */
export function readerOf(file: { readonly slice: Blob['slice'] }): ReadBytes {
  return async (from, to) => new Uint8Array(await file.slice(from, to).arrayBuffer());
}

/** Where the parts of a frame lie. */
export function framePartsOf(
  file: string,
  { parts, partsAt }: Pick<FoundFrame, 'parts' | 'partsAt'>,
): readonly Part[] {
  let next = partsAt;
  return parts.map(([size, hash]) => {
    const found = { file, at: next, size, hash };
    next += size;
    return found;
  });
}

/** Parts of one file that are read together, in the order of their positions. */
export function readGroups(parts: readonly Part[]): readonly (readonly Part[])[] {
  const sorted = [...parts].sort((a, b) =>
    a.file === b.file ? a.at - b.at : a.file < b.file ? -1 : 1,
  );
  const groups: Part[][] = [];
  for (const part of sorted) {
    const group = groups.at(-1);
    const [first] = group ?? [];
    const last = group?.at(-1);
    const isNear =
      first?.file === part.file &&
      last !== undefined &&
      part.at + part.size - first.at <= MAX_READ_BYTES &&
      part.at - (last.at + last.size) < MAX_GAP_BYTES;
    if (isNear) group?.push(part);
    else groups.push([part]);
  }
  return groups;
}
