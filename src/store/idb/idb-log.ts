/**
 * A new log for IndexedDB in Chromium, before an old one can cost everything.
 *
 * Chromium keeps the databases of a site in LevelDB, and goes on writing into the same log after it was started anew. If
 * it was killed in the middle of a write, half a record stays in the middle of that log; a browser that reads the log after the
 * next end of the browser takes it for damage, and Chromium then removes all databases of the site (google/leveldb,
 * issue 1287: logs that end in an incomplete record are reused). A database that is deleted makes LevelDB write into
 * tables what the log holds, and begin a new log. Until that is done, some 20 ms after the first opening, a second kill
 * can still lose everything; without it, any end of the browser could, until 4 MB more were written.
 */
import { atMost } from '../../base/at-most.ts';
import { isChromium } from '../../base/runtime.ts';
import { deleteDB, openDB } from 'idb';

/** No name that anybody gives a database of their own. */
const NAME = 'quark-sdk: made and deleted to begin a new log';

/** A browser that takes longer is not waited for. */
const MAX_WAIT_MS = 1000;

let begun: Promise<void> | undefined;

/** Begins a new log where it matters, once for each page or worker. Never fails. */
export function beginNewLog(): Promise<void> {
  begun ??= isChromium() ? atMost(MAX_WAIT_MS, makeAndDelete()) : Promise.resolve();
  return begun;
}

async function makeAndDelete(): Promise<void> {
  try {
    (await openDB(NAME, 1)).close();
    await deleteDB(NAME);
  } catch {
    // There is no room, or no more page: the log stays what it was.
  }
}
