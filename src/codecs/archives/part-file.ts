/** A part of a file as a file. */
import type { InputFile } from '../input.ts';

/** What part of it, and what it is called. */
export type FilePart = {
  readonly path: string;
  readonly offset: number;
  readonly sizeBytes: number;
  readonly modifiedAtMs: number | null;
};

export function partOfFile(file: InputFile, part: FilePart): InputFile {
  const { modifiedAtMs, offset, path, sizeBytes } = part;
  const end = offset + sizeBytes;
  return {
    path,
    sizeBytes,
    modifiedAtMs,
    slice: (from, to) => file.slice(Math.min(offset + from, end), Math.min(offset + to, end)),
    async *stream(start = 0) {
      let at = offset + start;
      if (at >= end) return;
      for await (const chunk of file.stream(at)) {
        yield chunk.subarray(0, end - at);
        at += chunk.byteLength;
        if (at >= end) return;
      }
    },
  };
}
