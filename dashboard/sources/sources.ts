/** Where the page reads from: the server or the gallery that it came with, this browser's own database, or files that were dropped on it. */
import { computed, signal, type ReadonlySignal, type Signal } from '@preact/signals';
import { openStorage, type Store } from 'quark-sdk';
import { storedText } from '../parts/browser-storage.ts';
import { getOrMake } from '../parts/maps.ts';
import { t } from '../parts/t.ts';
import { accessMark, accessTo, meetServer } from './server-access.ts';

/** Names of the sources. */
export type SourceId = 'server' | 'gallery' | 'browser' | 'files';

/** A store that the page can read from; it is opened when it is first needed. */
export type Source = {
  readonly id: SourceId;
  readonly label: string;
  readonly hint: string;
  readonly uri: string;
  /** What a gallery is called. */
  readonly title?: string | undefined;
};

/** The database of this browser that the training page writes and the dashboard reads. */
export const BROWSER_URI = 'idb:quark';

const stored = storedText('quark.source');
const BROWSER: Source = {
  id: 'browser',
  get label() {
    return t('This browser');
  },
  get hint() {
    return t('Runs recorded by pages of this address, in IndexedDB');
  },
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
  if (id !== 'files' && id !== 'gallery') stored.set(id);
}

let config: unknown;

/** What this page judges runs by: the content of a `quark.config.json`, unchecked; undefined for nothing. */
export function configOfPage(): unknown {
  return config;
}

/** Opens the gallery whose index is at this address. */
export type OpenGallery = (
  index: unknown,
  at: URL,
) => Promise<{ readonly store: Store; readonly problems: readonly string[] }>;

const leftOut: Signal<readonly string[]> = signal([]);

/** What is wrong with entries of the gallery that were left out. */
export const galleryProblems: ReadonlySignal<readonly string[]> = leftOut;

/** Whether the page is that of a gallery: it shows its runs, and nothing of this browser. */
export const isGallery: ReadonlySignal<boolean> = computed(() =>
  found.value.some(({ id }) => id === 'gallery'),
);

/**
 * Asks the page's own origin what is behind it, which `quark.json` says: a Quark server, or the list of a gallery.
 *
 * @param openGallery loads what opens a gallery, and opens it
 */
export async function findSources(
  openGallery: OpenGallery,
  base: string = document.baseURI,
): Promise<void> {
  const first = await findFirst(new URL('quark.json', base), openGallery);
  found.value =
    first === undefined ? [BROWSER] : first.id === 'gallery' ? [first] : [first, BROWSER];
}

async function findFirst(descriptor: URL, openGallery: OpenGallery): Promise<Source | undefined> {
  if (!descriptor.protocol.startsWith('http')) return undefined;
  try {
    const answer = await fetch(descriptor, { cache: 'no-cache' });
    if (!answer.ok || !(answer.headers.get('content-type') ?? '').includes('json'))
      return undefined;
    const told: unknown = await answer.json();
    if (typeof told !== 'object' || told === null) return undefined;
    config = 'config' in told ? told.config : undefined;
    if ('gallery' in told) return galleryAt(descriptor, told.gallery, openGallery);
    if (!('storage' in told)) return undefined;
    if (typeof told.storage !== 'string') return undefined;
    const uri = new URL(told.storage, descriptor).href.replace(/\/$/, '');
    meetServer(uri, 'key' in told && told.key === 'needed');
    return {
      id: 'server',
      get label() {
        return t('Server');
      },
      get hint() {
        return t('Runs served at {uri}', { uri });
      },
      uri,
    };
  } catch {
    // A file server answers with something else or not at all: then there is no Quark server.
    return undefined;
  }
}

function galleryAt(descriptor: URL, index: unknown, open: OpenGallery): Source {
  const uri = `gallery:${descriptor.href}`;
  openers.set(uri, async () => {
    const { problems, store } = await open(index, descriptor);
    leftOut.value = problems;
    return store;
  });
  return {
    id: 'gallery',
    get label() {
      return t('Gallery');
    },
    get hint() {
      return t('Runs that lie beside this page as files');
    },
    uri,
    title: titleIn(index),
  };
}

function titleIn(index: unknown): string | undefined {
  const title: unknown =
    typeof index === 'object' && index !== null ? Reflect.get(index, 'title') : undefined;
  return typeof title === 'string' && title.trim() !== '' ? title.slice(0, 200) : undefined;
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

/** What opens stores that have no address of their own. */
const openers = new Map<string, () => Promise<Store>>();
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
    const opening = openers.get(uri)?.() ?? openStorage(uri, accessTo(uri));
    opening.catch(() => opened.delete(mark));
    return opening;
  });
}

function remembered(): SourceId | undefined {
  const id = stored.get();
  return id === 'server' || id === 'browser' ? id : undefined;
}
