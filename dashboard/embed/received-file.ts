/** A file that the page around this one hands over. */
import type { DropContents } from '../dropped/entries.ts';

/** The view is drawn anew once the file is a source of the page; the file is asked for once. */
let isAsked = false;

/** Says that this page is ready, and takes the first file that comes from the page around it, and from nobody else. */
export function receiveFile(take: (collect: () => Promise<DropContents>) => Promise<void>): void {
  if (isAsked) return;
  isAsked = true;
  const listening = new AbortController();
  addEventListener(
    'message',
    ({ data, source }: MessageEvent<unknown>) => {
      if (source !== window.parent || typeof data !== 'object' || data === null) return;
      const content: unknown = Reflect.get(data, 'quarkFile');
      if (typeof content !== 'string' && !(content instanceof Blob)) return;
      listening.abort();
      void take(async () => contentsOf(content));
    },
    { signal: listening.signal },
  );
  // Nothing is told but that somebody is there.
  window.parent.postMessage('quark:ready', '*');
}

function contentsOf(content: Blob | string): DropContents {
  const path = 'run.quark';
  return typeof content === 'string'
    ? { files: [], problems: [{ file: path, place: null, reason: content }] }
    : { files: [{ file: new File([content], path), path }], problems: [] };
}
