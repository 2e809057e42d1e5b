/** A worker that records and reads back through a store of its own. */
import { openIdbStorage } from '../../src/store/idb/idb-store.ts';
import { runOf, segmentOf } from '../support/segments.ts';

self.onmessage = async (event: MessageEvent<string>): Promise<void> => {
  const store = await openIdbStorage(`idb:${event.data}`);
  await store.createRun(runOf());
  const placed = await store.appendSegments([segmentOf(0), segmentOf(1)]);
  const reads = await store.readSegments(placed);
  await store.close();
  self.postMessage(reads.map((read) => read.kind));
};
