/** Where runs of the training page are sent, besides this browser: to the service that the page itself came from. */
import { computed, type ReadonlySignal } from '@preact/signals';
import type { PersistenceOptions, Store } from 'quark-sdk';
import { accessTo, waitsForKey } from './server-access.ts';
import { BROWSER_URI, sources, storeAt, storeMark, type Source } from './sources.ts';

/** A service that takes records, or why runs stay in this browser. */
export type Destination =
  | { readonly kind: 'service'; readonly url: string; readonly userKey: string | undefined }
  | { readonly kind: 'no_service' | 'needs_key' | 'takes_nothing' | 'unreachable' };

/** Names what {@link findDestination} depends on; undefined until it is known who served the page. */
export const destinationMark: ReadonlySignal<string | undefined> = computed(() =>
  sources.value.length === 0
    ? undefined
    : `${waitsForKey(server()?.uri)} ${storeMark(server()?.uri)}`,
);

/** Asks the service behind the page, if there is one, whether it takes records from the user who is signed in. */
export async function findDestination(): Promise<Destination> {
  await sourcesKnown();
  const uri = serviceUri();
  if (uri === undefined) return { kind: 'no_service' };
  if (waitsForKey(uri)) return { kind: 'needs_key' };
  try {
    const { isWritable } = await storeAt(uri);
    if (!isWritable) return { kind: 'takes_nothing' };
  } catch {
    // Why it cannot be opened is said where its runs are listed.
    return { kind: 'unreachable' };
  }
  return { kind: 'service', url: uri, userKey: accessTo(uri).userKey };
}

/**
 * Options of a session that records here, and sends on if there is somebody to send to. The session then opens the
 * browser's database by itself: the store without a name, {@link BROWSER_URI}, is the space `default` of the service,
 * which is the one that its page shows first.
 */
export function recordingOptions(
  destination: Destination,
  store: Store,
): PersistenceOptions & { readonly storage?: Store } {
  if (destination.kind !== 'service' || store.uri !== BROWSER_URI) return { storage: store };
  return { persistenceUrl: destination.url, userKey: destination.userKey ?? null };
}

/** Address of the service behind the page, if there is one. */
export function serviceUri(): string | undefined {
  return server()?.uri;
}

function server(): Source | undefined {
  return sources.value.find(({ id }) => id === 'server');
}

function sourcesKnown(): Promise<void> {
  return new Promise((resolve) => {
    const undo = sources.subscribe((found) => {
      if (found.length === 0) return;
      resolve();
      // The first call comes before `undo` is there.
      queueMicrotask(() => undo());
    });
  });
}
