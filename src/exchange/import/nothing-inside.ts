/** Files with nothing to import in them, and what to say of each. */

const POINTER = 'version https://git-lfs.github.com/spec/v1';

/** The size of a file that Git LFS stores elsewhere, out of the few lines that stand for it; undefined for any other file. */
export function pointedBytes(text: string): string | undefined {
  return text.startsWith(POINTER) ? /^size (\d{1,20})\s*$/m.exec(text)?.[1] : undefined;
}

/** Why there is nothing in a file that no importer knows; undefined when there is something. */
export function reasonEmpty(
  text: string,
  about: {
    readonly sizeBytes: number;
    /** Whether the text is all of it. */
    readonly isWhole: boolean;
    readonly pointer: string | undefined;
  },
): string | undefined {
  const { isWhole, pointer, sizeBytes } = about;
  if (pointer !== undefined)
    return `This is a Git LFS pointer, the file itself is ${pointer} bytes: git lfs pull.`;
  if (sizeBytes === 0) return 'The file is empty.';
  return isWhole && text.trim() === ''
    ? 'The file has nothing in it but blanks and line ends.'
    : undefined;
}
