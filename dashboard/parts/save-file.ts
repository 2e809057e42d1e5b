/** Files that the page makes and the browser saves. */

/** How long the browser may take to read what it saves, in milliseconds. */
const RELEASE_AFTER_MS = 60_000;

/** Has the browser save a text under this name. */
export function saveFile(name: string, text: string, type: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), RELEASE_AFTER_MS);
}
