/** A page to be killed: works on a store of the browser, in IndexedDB or, with `?opfs`, in files, and says what is safe. */
import { openIdbStorage } from '../../src/store/idb/idb-store.ts';
import { isStoreError } from '../../src/base/errors.ts';
import { openOpfsStorage } from '../../src/store/opfs/opfs-store.ts';
import type { NewSegment, Store } from '../../src/store/store.ts';
import { segmentOf } from '../support/segments.ts';
import { inspect, prepareRun, RUN_ID, workForever } from './workload.ts';

const open = (): Promise<Store> =>
  location.search === '?opfs' ? openOpfsStorage('opfs:kill') : openIdbStorage('idb:kill');

declare global {
  interface Window {
    quarkKill: {
      /** Begins to work; does not return. */
      work(writerId: string): void;
      /** What is wrong, given what was acknowledged. */
      inspect(acknowledged: readonly string[]): Promise<string[]>;
      /** Appends until the quota refuses; how many were kept, how many are listed, and the message. */
      fill(): Promise<{ kept: number; listed: number; message: string }>;
      /** Appends one more; its number among the segments. */
      appendOne(): Promise<number>;
    };
  }
}

window.quarkKill = {
  work(writerId) {
    const run = async (): Promise<void> => {
      const store = await open();
      await prepareRun(store).catch(() => undefined);
      await workForever(store, writerId, (line) => console.log(line));
    };
    run().catch((error: unknown) => console.log(`failed ${String(error)}`));
  },
  async inspect(acknowledged) {
    const store = await open();
    await prepareRun(store);
    const wrong = await inspect(store, acknowledged);
    await store.close();
    return wrong;
  },
  async fill() {
    const store = await open();
    await prepareRun(store);
    for (let kept = 0; ; kept++) {
      try {
        await store.appendSegments([randomSegment(kept)]);
      } catch (error) {
        if (!isStoreError(error, 'full')) throw error;
        const listed = await store.listSegments({ runId: RUN_ID, table: 'metrics' });
        await store.close();
        return { kept, listed: listed.length, message: error.message };
      }
    }
  },
  async appendOne() {
    const store = await open();
    const next = (await store.listSegments({ runId: RUN_ID, table: 'metrics' })).length;
    await store.appendSegments([randomSegment(next)]);
    await store.close();
    return next;
  },
};

/** Half a megabyte that does not shrink when it is compressed: the browser counts what is on the disk. */
function randomSegment(batchNumber: number): NewSegment {
  const segment = segmentOf(batchNumber, { runId: RUN_ID }, 500_000);
  for (let at = 0; at < 500_000; at += 50_000)
    crypto.getRandomValues(segment.bytes.subarray(at, at + 50_000));
  return segment;
}
