import { expect, test } from 'vitest';
import { createMemoryStore } from '../../../src/store/memory/memory-store.ts';
import { RUN_ID, runOf, segmentOf } from '../../support/segments.ts';

test('a look at the end of a stream goes through its end only, however long it is', async () => {
  const store = createMemoryStore();
  await store.createRun(runOf());
  const askedFor: number[] = [];
  for (let batch = 0; batch < 1000; batch++) {
    await store.appendSegments([segmentOf(batch)]);
    if (batch % 100 !== 99) continue;
    let asked = 0;
    const found = await store.listSegments({
      runId: RUN_ID,
      table: 'metrics',
      /** Asked for each segment that is looked at. */
      get sequenceMin() {
        asked++;
        return 10 * (batch - 2);
      },
    });
    expect(found.map(({ batchNumber }) => batchNumber)).toEqual([batch - 2, batch - 1, batch]);
    askedFor.push(asked);
  }
  expect(askedFor).toEqual(askedFor.map(() => askedFor[0]));
});
