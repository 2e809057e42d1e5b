/**
 * The store `null:`, for processes that are not to log. It takes everything and has nothing of it but the documents of the runs of this
 * process, which their sessions ask for.
 */
import { wrapStore } from '../front.ts';
import { numberSegment } from '../segment-rules.ts';
import type { OpenStorageOptions } from '../registry.ts';
import type { NewSegment, SegmentManifest, Store } from '../store.ts';
import { createMemoryStore } from './memory-store.ts';

/** Opens a new one each time. */
export function openNullStorage(uri: string, { clock }: OpenStorageOptions = {}): Promise<Store> {
  const memory = createMemoryStore(clock === undefined ? {} : { clock });
  const next = new Map<string, number>();
  const number = ({ manifest }: NewSegment): SegmentManifest => {
    const name = `${manifest.runId}/${manifest.table}`;
    const numbered = numberSegment(manifest, next.get(name) ?? 0);
    next.set(name, numbered.lastSequence + 1);
    return numbered;
  };
  const nothing = Promise.resolve.bind(Promise);
  return nothing(
    wrapStore(memory, (_name, _args, call) => call(), {
      uri,
      location: { storageDir: uri, storeRoot: uri, dbPath: uri },
      appendSegments: async (segments, _seen, live = []) => {
        // Sessions that another one has fenced are told so.
        await memory.appendSegments([], [], live);
        return segments.map(number);
      },
      appendSegmentsNow: (segments) => segments.map(number),
      replaceTable: async (_runId, _table, add) => add.map(number),
      putBlob: async () => undefined,
      putBlobNow: () => undefined,
    }),
  );
}
