/** Files that the page makes and the reader saves. */

/** Longest name of a file before its extension: file systems end at 255 bytes, and a letter may take four. */
const LONGEST_NAME = 60;
/** How long a browser may take to begin a download before its source is given back. */
const REVOKE_AFTER_MS = 60_000;

/** Saves a file under this name, as a link to it would. */
export function saveBlob(name: string, content: Blob): void {
  const url = URL.createObjectURL(content);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), REVOKE_AFTER_MS);
}

/**
 * A name for a file, of words that come from a run: no separators, no control characters, no names that a system reserves.
 *
 * @example downloadName(['train/loss', 'run 7'], 'png'); // 'train-loss_run-7.png'
 */
export function downloadName(words: readonly string[], extension: string): string {
  const cleaned = words
    .map((word) => word.normalize('NFC').replaceAll(/[^\p{L}\p{N}._-]+/gu, '-'))
    .map((word) => word.replaceAll(/^[-._]+|[-._]+$/g, ''))
    .filter((word) => word !== '')
    .join('_');
  const short = Array.from(cleaned).slice(0, LONGEST_NAME).join('');
  const isReserved = /^(con|prn|aux|nul|com\d|lpt\d)$/i.test(short);
  return `${short === '' || isReserved ? `chart${short}` : short}.${extension}`;
}
