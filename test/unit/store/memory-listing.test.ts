import { expect, test, vi } from 'vitest';
import { createMemoryStore } from '../../../src/store/memory-store.ts';
import { matchesSegmentFilter } from '../../../src/store/segment-rules.ts';
import { RUN_ID, runOf, segmentOf } from '../../support/segments.ts';

vi.mock(import('../../../src/store/segment-rules.ts'), async (original) => {
  const rules = await original();
  return { ...rules, matchesSegmentFilter: vi.fn(rules.matchesSegmentFilter) };
});

test('a look at the end of a stream goes through its end only, however long it is', async () => {
  const store = createMemoryStore();
  await store.createRun(runOf());
  for (let batch = 0; batch < 1000; batch++) {
    await store.appendSegments([segmentOf(batch)]);
    if (batch % 100 !== 99) continue;
    vi.mocked(matchesSegmentFilter).mockClear();
    const sequenceMin = 10 * (batch - 2);
    const found = await store.listSegments({ runId: RUN_ID, table: 'metrics', sequenceMin });
    expect(found.map(({ batchNumber }) => batchNumber)).toEqual([batch - 2, batch - 1, batch]);
    expect(matchesSegmentFilter).toHaveBeenCalledTimes(3);
  }
});
