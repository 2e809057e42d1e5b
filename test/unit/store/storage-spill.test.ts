import { describe, expect, it } from 'vitest';
import { createMemoryStore } from '../../../src/store/memory/memory-store.ts';
import { spillTo, recoverSpilled } from '../../../src/store/storage-spill.ts';
import { storageOf } from '../../support/local-storage.ts';
import { RUN_ID, runOf, segmentOf } from '../../support/segments.ts';

describe('segments put aside', () => {
  it('are taken back once, into the database they are for, whatever else lies there', async () => {
    const store = createMemoryStore();
    await store.createRun(runOf());
    const [first, second] = [segmentOf(0), segmentOf(1)];
    const storage = storageOf();
    spillTo(storage, 'a', [first, second]);
    spillTo(storage, 'a', [second, segmentOf(0, { runId: 'run_gone' })]);
    spillTo(storage, 'a b', [segmentOf(5)]);
    storage.setItem('quark-unsaved a broken', '{');
    storage.setItem('theme', 'dark');
    // The page lived long enough to write one of them.
    await store.appendSegments([first]);
    await recoverSpilled(storage, 'a', store);
    const placed = await store.listSegments({ runId: RUN_ID, table: 'metrics' });
    expect(placed.map(({ batchNumber }) => batchNumber)).toEqual([0, 1]);
    expect(await store.readSegments(placed)).toEqual([
      { kind: 'bytes', bytes: first.bytes },
      { kind: 'bytes', bytes: second.bytes },
    ]);
    expect(storage.length).toBe(2);
  });

  it('stay while the store cannot take them, and are left out where there is no room', async () => {
    const storage = storageOf(10_000);
    spillTo(storage, 'a', [segmentOf(0), segmentOf(1, {}, 20_000)]);
    expect(storage.length).toBe(1);
    const closed = createMemoryStore();
    await closed.close();
    await recoverSpilled(storage, 'a', closed);
    expect(storage.length).toBe(1);
  });
});
