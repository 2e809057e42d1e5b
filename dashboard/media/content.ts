/** Contents of media, loaded when they are looked at. The last ones stay in memory, so that a slider goes back without a request. */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import {
  describeImage,
  loadMedia,
  type MediaContent,
  type MediaItem,
  type MediaKind,
} from 'quark-sdk/media';
import { loadArtifact, type LoadedPayload } from 'quark-sdk/probes';
import { t } from '../parts/t.ts';
import { formatBytes, formatCount } from '../parts/format.ts';
import { usePromise, type Settled } from '../parts/hooks.ts';
import type { MediaSource, StoredArtifact } from './media-feed.ts';

const MAX_CACHED = 64;
const MAX_CACHED_BYTES = 96 * 1024 * 1024;
/** Larger contents are not loaded into the page; their files can be downloaded. */
const MAX_LOADED_BYTES = 128 * 1024 * 1024;
/** Larger tables and sounds are decoded in the worker: these take a few milliseconds. */
const MAX_HERE_BYTES = 64 * 1024;

/** Decodes large media away from the page's thread. */
export type LargeMediaReader = {
  readonly [K in 'table' | 'audio']: (
    store: MediaSource['store'],
    runId: string,
    record: StoredArtifact,
  ) => Promise<MediaContent[K]>;
};

let largeReader: LargeMediaReader | undefined;

/** From now on large tables and sounds are decoded by this reader. */
export function readLargeMediaWith(reader: LargeMediaReader): void {
  largeReader = reader;
}

/** Most pixels of an image that is decoded: 256 MiB as RGBA. */
const MAX_PIXELS = 1 << 26;

type Cached = { readonly content: Promise<unknown>; readonly bytes: number };
const cache = new Map<string, Cached>();

function cached<T>(key: string, bytes: number, load: () => Promise<unknown>): Promise<T> {
  const known = cache.get(key);
  const content = known?.content ?? load();
  cache.delete(key);
  cache.set(key, { content, bytes });
  if (known === undefined) content.catch(() => cache.delete(key));
  let total = [...cache.values()].reduce((sum, one) => sum + one.bytes, 0);
  for (const [oldest, one] of cache) {
    if (cache.size <= 1 || (cache.size <= MAX_CACHED && total <= MAX_CACHED_BYTES)) break;
    cache.delete(oldest);
    total -= one.bytes;
  }
  // The key says of which kind the content is.
  return content as Promise<T>;
}

/** Refuses what is too large for the page. @throws {Error} in words */
export function checkLoadable(sizeBytes: number): void {
  if (sizeBytes > MAX_LOADED_BYTES)
    throw new Error(
      t('It has {size}, more than the {most} that the page shows. Download it instead.', {
        size: formatBytes(sizeBytes),
        most: formatBytes(MAX_LOADED_BYTES),
      }),
    );
}

/** The content of a medium. @throws {Error} in words when it is too large, missing or damaged */
export async function loadContent<K extends MediaKind>(
  source: MediaSource,
  item: Pick<MediaItem<K>, 'record'> & { readonly kind: K },
): Promise<MediaContent[K]> {
  checkLoadable(item.record.sizeBytes);
  const key = `${item.kind} ${item.record.sha256}`;
  return cached(key, item.record.sizeBytes, () => decoded(source, item));
}

async function decoded<K extends MediaKind>(
  source: MediaSource,
  item: Pick<MediaItem<K>, 'record'> & { readonly kind: K },
): Promise<unknown> {
  const { kind, record } = item;
  if (largeReader !== undefined && record.sizeBytes > MAX_HERE_BYTES) {
    const { runId, store } = source;
    try {
      if (kind === 'table') return await largeReader.table(store, runId, record);
      if (kind === 'audio') return await largeReader.audio(store, runId, record);
    } catch {
      // No worker can be started, or open this store: it is decoded here, and what is wrong with the medium is said below.
    }
  }
  return loadMedia(source, item);
}

/** The payload of any artifact. @throws {Error} in words when it is too large, missing or damaged */
export async function payloadOf(
  source: MediaSource,
  record: StoredArtifact,
): Promise<LoadedPayload> {
  checkLoadable(record.sizeBytes);
  const key = `payload ${record.payloadFormat} ${record.sha256}`;
  return cached(key, record.sizeBytes, () => loadArtifact(source, record));
}

/** The content of a medium of a component. */
export function useContent<K extends MediaKind>(
  source: MediaSource,
  item: (Pick<MediaItem<K>, 'record'> & { readonly kind: K }) | undefined,
): Settled<MediaContent[K]> {
  return usePromise(item, (wanted) => loadContent(source, wanted));
}

/** A Blob URL of these bytes for as long as the component shows them. */
export function useBlobUrl(
  bytes: Uint8Array<ArrayBuffer> | undefined,
  mimeType: string,
): string | undefined {
  const url = useSignal<string | undefined>(undefined);
  useEffect(() => {
    if (bytes === undefined) return undefined;
    const made = URL.createObjectURL(new Blob([bytes], { type: mimeType }));
    url.value = made;
    return () => {
      URL.revokeObjectURL(made);
      url.value = undefined;
    };
  }, [bytes, mimeType]);
  return url.value;
}

/** What kind of image these bytes are. @throws {Error} in words for what is not shown: SVG and other documents, and huge images */
export function checkImage(bytes: Uint8Array): {
  readonly mimeType: string;
  readonly width: number;
  readonly height: number;
} {
  const found = describeImage(bytes);
  if (found === undefined)
    throw new Error(t('It is no PNG, JPEG or GIF file, so it is not shown.'));
  if (found.width * found.height > MAX_PIXELS)
    throw new Error(
      t('It has {width} x {height} pixels, more than the page decodes.', {
        width: formatCount(found.width),
        height: formatCount(found.height),
      }),
    );
  return found;
}
