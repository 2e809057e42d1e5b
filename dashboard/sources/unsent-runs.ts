/**
 * Sends on what runs in this browser have not sent yet, for as long as a page is open: what a tab left behind that was closed, and
 * what other tabs record. Of all tabs, one sends.
 */
import { computed, effect, signal, type ReadonlySignal } from '@preact/signals';
import { openSync, type SyncTask } from 'quark-sdk';
import { destinationMark, findDestination, serviceUri } from './destination.ts';
import { accessTo } from './server-access.ts';
import { BROWSER_URI, storeAt } from './sources.ts';

const opened = signal<readonly SyncTask[]>([]);

/** The sending of this browser's runs to the service behind the page; undefined where there is none. */
export const unsentRuns: ReadonlySignal<SyncTask | undefined> = computed(() => opened.value[0]);

/** The view that the page was opened for comes first: sending takes code and requests of its own. */
const WAIT_MS = 2000;

let changing: Promise<void> = new Promise((resolve) => {
  setTimeout(resolve, WAIT_MS);
});

/** Sends from shortly after the page was opened on, and again with another key when somebody signs in. */
export function sendUnsentRuns(): void {
  effect(() => {
    if (destinationMark.value === undefined) return;
    // A browser without a database, or in a mode without one, has nothing to send.
    changing = changing.then(reopen).catch(() => undefined);
  });
}

async function reopen(): Promise<void> {
  const before = opened.peek();
  opened.value = [];
  for (const { outbox } of before) await outbox.close();
  const destination = await findDestination();
  const url = serviceUri();
  // A service that is away is tried again and again; one that does not take records is not.
  const isWorthTrying = destination.kind === 'service' || destination.kind === 'unreachable';
  if (url === undefined || !isWorthTrying) return;
  const userKey = accessTo(url).userKey ?? null;
  const local = await storeAt(BROWSER_URI);
  opened.value = await openSync(local, { persistenceUrl: url, userKey, includesNew: true });
}
