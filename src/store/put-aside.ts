/**
 * What a page had no turn left to write: a database answers later, and after `pagehide` there may be no later. Segments are put
 * into `localStorage`, which is written before the call returns, and appended by whoever has the database open or opens it next;
 * one that was written after all is known by its identity.
 */
import { isQuarkError } from '../base/errors.ts';
import type { NewSegment, Store } from './store.ts';

const PREFIX = 'quark-unsaved';
/** Characters at a time: more arguments than this do not fit on the stack of a call. */
const SLICE = 8_192;

/** `localStorage` where there is one: workers have none, and some settings forbid it. */
export function pageStorage(): Storage | undefined {
  try {
    return globalThis.localStorage;
  } catch {
    return undefined;
  }
}

/** Puts segments aside. What does not fit any more is left out: nobody is there to tell. */
export function putAside(storage: Storage, name: string, segments: readonly NewSegment[]): void {
  for (const { bytes, manifest } of segments) {
    const { batchNumber, runId, table, writerId } = manifest;
    let text = '';
    for (let at = 0; at < bytes.byteLength; at += SLICE)
      text += String.fromCharCode(...bytes.subarray(at, at + SLICE));
    try {
      const key = `${prefixOf(name)}${runId}/${table}/${writerId}/${batchNumber}`;
      storage.setItem(key, JSON.stringify({ manifest, bytes: btoa(text) }));
    } catch {
      // There is no room left.
    }
  }
}

/** Appends what was put aside for a database. What the store cannot take now stays for the next time. */
export async function takeBack(storage: Storage, name: string, store: Store): Promise<void> {
  const keys = Array.from({ length: storage.length }, (_, at) => storage.key(at) ?? '');
  for (const key of keys.filter((one) => one.startsWith(prefixOf(name)))) {
    const text = storage.getItem(key);
    if (text === null) continue;
    try {
      const segment = segmentOf(text);
      if (segment !== undefined) await store.appendSegments([segment]);
    } catch (error) {
      // Of a run that is gone, or not as it was written: it will never be taken.
      if (!isQuarkError(error, 'run_not_found') && !isQuarkError(error, 'invalid_input')) continue;
    }
    storage.removeItem(key);
  }
}

/** Calls back when another tab puts something aside; returns the undo. */
export function onPutAside(name: string, listener: () => void): () => void {
  const look = ({ key, newValue }: StorageEvent): void => {
    if (newValue !== null && key?.startsWith(prefixOf(name)) === true) listener();
  };
  globalThis.addEventListener?.('storage', look);
  return () => globalThis.removeEventListener?.('storage', look);
}

function prefixOf(name: string): string {
  // A name may hold anything; encoded, it ends where the blank is.
  return `${PREFIX} ${encodeURIComponent(name)} `;
}

function segmentOf(text: string): NewSegment | undefined {
  try {
    // What the store makes of wrong fields is an error of its own.
    const { bytes, manifest } = JSON.parse(text) as {
      readonly bytes: string;
      readonly manifest: NewSegment['manifest'];
    };
    return { manifest, bytes: Uint8Array.from(atob(bytes), (char) => char.charCodeAt(0)) };
  } catch {
    return undefined;
  }
}
