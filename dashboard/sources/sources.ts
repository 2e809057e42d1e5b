/** Where the page reads from: the server that served it, this browser's own database, or files that were dropped on it. */
import { computed, signal, type ReadonlySignal, type Signal } from '@preact/signals';
import { openStorage, type Store } from 'quark-sdk';
import { storedText } from '../parts/browser-storage.ts';
import { getOrMake } from '../parts/maps.ts';
import { accessMark, accessTo, meetServer } from './server-access.ts';

/** Names of the sources. */
export type SourceId = 'server' | 'browser' | 'files';

/** A store that the page can read from; it is opened when it is first needed. */
export type Source = {
  readonly id: SourceId;
  readonly label: string;
  readonly hint: string;
  readonly uri: string;
};

/** The database of this browser that the training page writes and the dashboard reads. */
export const BROWSER_URI = 'idb:quark';

const stored = storedText('quark.source');
const BROWSER: Source = {
  id: 'browser',
  label: 'This browser',
  hint: 'Runs recorded by pages of this address, in IndexedDB',
  uri: BROWSER_URI,
};

const found: Signal<readonly Source[]> = signal([]);
const offered: Signal<readonly Source[]> = signal([]);

/** Everything the page has to read from. Empty until {@link findSources} is done. */
export const sources: ReadonlySignal<readonly Source[]> = computed(() => [
  ...found.value,
  ...offered.value,
]);
const chosen = signal<SourceId | undefined>(remembered());

/** The source that is read now; undefined until the sources are known. */
export const source: ReadonlySignal<Source | undefined> = computed(
  () => sources.value.find((one) => one.id === chosen.value) ?? sources.value[0],
);

/** Reads from this source from now on. */
export function chooseSource(id: SourceId): void {
  chosen.value = id;
  // Files are forgotten with the page.
  if (id !== 'files') stored.set(id);
}

let config: unknown;

/** What this page judges runs by: the content of a `quark.config.json`, unchecked; undefined for nothing. */
export function configOfPage(): unknown {
  return config;
}

/** Asks the page's own origin whether a Quark server is behind it, which says so in `quark.json`. */
export async function findSources(base: string = document.baseURI): Promise<void> {
  const server = await findServer(new URL('quark.json', base));
  found.value = server === undefined ? [BROWSER] : [server, BROWSER];
}

async function findServer(descriptor: URL): Promise<Source | undefined> {
  if (!descriptor.protocol.startsWith('http')) return undefined;
  try {
    const answer = await fetch(descriptor, { cache: 'no-store' });
    if (!answer.ok || !(answer.headers.get('content-type') ?? '').includes('json'))
      return undefined;
    const told: unknown = await answer.json();
    if (typeof told !== 'object' || told === null) return undefined;
    config = 'config' in told ? told.config : undefined;
    if (!('storage' in told)) return undefined;
    if (typeof told.storage !== 'string') return undefined;
    const uri = new URL(told.storage, descriptor).href.replace(/\/$/, '');
    meetServer(uri, 'key' in told && told.key === 'needed');
    return { id: 'server', label: 'Server', hint: `Runs served at ${uri}`, uri };
  } catch {
    // A file server answers with something else or not at all: then there is no Quark server.
    return undefined;
  }
}

/** Adds a source whose store is open already. */
export function offerSource(one: Source, store: Store): void {
  opened.set(one.uri, Promise.resolve(store));
  offered.value = [...offered.value.filter(({ uri }) => uri !== one.uri), one];
}

/** Removes a source that was offered. */
export function withdrawSource(uri: string): void {
  opened.delete(uri);
  const withdrawn = offered.value.find((one) => one.uri === uri);
  if (withdrawn === undefined) return;
  offered.value = offered.value.filter((one) => one !== withdrawn);
  if (chosen.value === withdrawn.id) chosen.value = remembered();
}

/** By address, and by who the page is to a server there. */
const opened = new Map<string, Promise<Store>>();

/** What tells stores apart. */
export function storeMark(uri: string | undefined): string {
  return [uri, accessMark(uri)].filter(Boolean).join(' ');
}

/** The store behind a source. Opened once; a failure is not remembered, so that trying again can work. */
export function storeAt(uri: string): Promise<Store> {
  const mark = storeMark(uri);
  return getOrMake(opened, mark, () => {
    const opening = openStorage(uri, accessTo(uri));
    opening.catch(() => opened.delete(mark));
    return opening;
  });
}

function remembered(): SourceId | undefined {
  const id = stored.get();
  return id === 'server' || id === 'browser' ? id : undefined;
}
