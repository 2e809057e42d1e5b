/**
 * Segments in `localStorage`, which is written before the call returns: the second way out of a page that is closed, beside the
 * database of `idb-spill.ts`. A thread that has the database open, or opens it next, appends them; identities show which were
 * appended before. Segments that do not fit are noted, so that the next start can report the loss.
 */
import { ifAllowed } from '../base/if-allowed.ts';
import { isQuarkError, isStoreError } from '../base/errors.ts';
import type { NewSegment, Store, StoredRun } from './store.ts';

const PREFIX = 'quark-unsaved';
const LOST_PREFIX = 'quark-lost';
const LEFT_PREFIX = 'quark-left';
/** Characters at a time: more arguments than this do not fit on the stack of a call. */
const SLICE = 8_192;

/** A batch that did not fit. */
export type LostBatch = {
  readonly runId: string;
  readonly table: string;
  readonly writerId: string;
  readonly batchNumber: number;
  readonly rowCount: number;
};

/** `localStorage` where there is one: workers have none, and some settings forbid it. */
export function pageStorage(): Storage | undefined {
  return ifAllowed(() => globalThis.localStorage);
}

/** Stores segments until one does not fit, and those after it that do; returns those that did not. */
export function spillTo(
  storage: Storage,
  name: string,
  segments: readonly NewSegment[],
): readonly NewSegment[] {
  return segments.filter(({ bytes, manifest }) => {
    const { batchNumber, runId, table, writerId } = manifest;
    let text = '';
    for (let at = 0; at < bytes.byteLength; at += SLICE)
      text += String.fromCharCode(...bytes.subarray(at, at + SLICE));
    const key = `${prefixOf(PREFIX, name)}${runId}/${table}/${writerId}/${batchNumber}`;
    return !trySet(storage, key, JSON.stringify({ manifest, bytes: btoa(text) }));
  });
}

/**
 * Stores segments as {@link spillTo} does, and notes for `owner` which did not fit. The note is written first, when there
 * is room for it, and made shorter then.
 */
export function spillNotingLost(
  storage: Storage,
  name: string,
  owner: string,
  segments: readonly NewSegment[],
): void {
  const [first] = segments;
  if (first === undefined) return;
  const { table, writerId } = first.manifest;
  const key = `${prefixOf(LOST_PREFIX, name)}${owner}/${table}/${writerId}`;
  const earlier = lostIn(storage.getItem(key));
  const note = (lost: readonly NewSegment[]): void => {
    const names = new Set(segments.map(({ manifest }) => manifest.batchNumber));
    const all = [
      ...earlier.filter(({ batchNumber }) => !names.has(batchNumber)),
      ...lost.map(({ manifest }) => ({
        runId: manifest.runId,
        table: manifest.table,
        writerId: manifest.writerId,
        batchNumber: manifest.batchNumber,
        rowCount: manifest.rowCount,
      })),
    ];
    if (all.length === 0) storage.removeItem(key);
    else trySet(storage, key, JSON.stringify(all));
  };
  note(segments);
  note(spillTo(storage, name, segments));
}

/** Removes and returns what was noted as lost; of one owner, or of all. */
export function takeLost(storage: Storage, name: string, owner = ''): readonly LostBatch[] {
  const prefix = `${prefixOf(LOST_PREFIX, name)}${owner === '' ? '' : `${owner}/`}`;
  return keysUnder(storage, prefix).flatMap((key) => {
    const lost = lostIn(storage.getItem(key));
    storage.removeItem(key);
    return lost;
  });
}

/** Owners of whom something was noted as lost. */
export function lostOwners(storage: Storage, name: string): readonly string[] {
  const prefix = prefixOf(LOST_PREFIX, name);
  return keysUnder(storage, prefix).map((key) => key.slice(prefix.length).split('/')[0] ?? '');
}

/** A session whose page or worker has ended: its run, the holders of its leases, and the run as the page has left it. */
export type LeftSession = {
  readonly runId: string;
  readonly holders: readonly string[];
  readonly end?: StoredRun | undefined;
};

/** Notes that an owner has saved all its rows, and what it leaves. */
export function noteLeft(
  storage: Storage,
  name: string,
  owner: string,
  sessions: readonly LeftSession[] = [],
): void {
  trySet(storage, `${prefixOf(LEFT_PREFIX, name)}${owner}`, JSON.stringify(sessions));
}

/** Whether the owner has noted that it saved all its rows. */
export function hasNotedLeft(storage: Storage, name: string, owner: string): boolean {
  return storage.getItem(`${prefixOf(LEFT_PREFIX, name)}${owner}`) !== null;
}

/** What the owner has noted of its end; undefined when it has not. The note is removed. */
export function takeLeft(
  storage: Storage,
  name: string,
  owner: string,
): readonly LeftSession[] | undefined {
  const key = `${prefixOf(LEFT_PREFIX, name)}${owner}`;
  const text = storage.getItem(key);
  storage.removeItem(key);
  return text === null ? undefined : leftIn(text);
}

/** Owners that have noted their end. */
export function leftOwners(storage: Storage, name: string): readonly string[] {
  const prefix = prefixOf(LEFT_PREFIX, name);
  return keysUnder(storage, prefix).map((key) => key.slice(prefix.length));
}

/** The rows spilled for a database, as far as they can be read. */
export function listSpilled(storage: Storage, name: string): readonly NewSegment[] {
  return keysUnder(storage, prefixOf(PREFIX, name)).flatMap((key) => {
    const segment = segmentOf(storage.getItem(key) ?? '');
    return typeof segment?.manifest?.rowCount === 'number' ? [segment] : [];
  });
}

/** Appends the rows spilled for a database. What the store cannot take now stays for the next time. */
export async function recoverSpilled(storage: Storage, name: string, store: Store): Promise<void> {
  for (const key of keysUnder(storage, prefixOf(PREFIX, name))) {
    const text = storage.getItem(key);
    if (text === null) continue;
    try {
      const segment = segmentOf(text);
      if (segment !== undefined) await store.appendSegments([segment]);
    } catch (error) {
      // Of a run that is gone, or not as it was written: it will never be taken.
      if (
        !isQuarkError(error, 'run_not_found') &&
        !isQuarkError(error, 'invalid_input') &&
        !isStoreError(error, 'deleted')
      )
        continue;
    }
    storage.removeItem(key);
  }
}

/** Calls back when another tab puts something aside; returns the undo. */
export function onSpilled(name: string, listener: () => void): () => void {
  const look = ({ key, newValue }: StorageEvent): void => {
    if (newValue !== null && key?.startsWith(prefixOf(PREFIX, name)) === true) listener();
  };
  globalThis.addEventListener?.('storage', look);
  return () => globalThis.removeEventListener?.('storage', look);
}

function prefixOf(kind: string, name: string): string {
  // A name may hold anything; encoded, it ends where the blank is.
  return `${kind} ${encodeURIComponent(name)} `;
}

function keysUnder(storage: Storage, prefix: string): string[] {
  const keys = Array.from({ length: storage.length }, (_, at) => storage.key(at) ?? '');
  return keys.filter((key) => key.startsWith(prefix));
}

function trySet(storage: Storage, key: string, text: string): boolean {
  try {
    storage.setItem(key, text);
    return true;
  } catch {
    // The storage is full.
    return false;
  }
}

function lostIn(text: string | null): readonly LostBatch[] {
  try {
    const list: unknown = JSON.parse(text ?? '[]');
    return Array.isArray(list) ? (list as LostBatch[]) : [];
  } catch {
    return [];
  }
}

function leftIn(text: string): readonly LeftSession[] {
  try {
    const list: unknown = JSON.parse(text === '' ? '[]' : text);
    return Array.isArray(list) ? (list as LeftSession[]) : [];
  } catch {
    return [];
  }
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
