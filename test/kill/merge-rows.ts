/** The rows of `merge-child.ts`, which follow from their positions. */
import { metricTable } from '../../src/records/metric.ts';
import { openRun } from '../../src/read/run-reader.ts';
import { compactTable } from '../../src/segment/compact.ts';
import type { Store } from '../../src/store/store.ts';

const KEYS = ['train/loss', 'train/accuracy', 'val/loss'];

export const keyAt = (at: number): string => KEYS[at % KEYS.length] ?? '';
export const valueAt = (at: number): number => Math.sin(at);

/** What is wrong with a run of which so many rows were acknowledged, as it is and once it is merged: empty when nothing is. */
export async function inspectMerges(
  store: Store,
  runId: string,
  acknowledged: number,
): Promise<readonly string[]> {
  const before = await problemsOf(store, runId, acknowledged);
  const { isDone } = await compactTable(store, metricTable, runId, `after-${runId}`);
  const after = await problemsOf(store, runId, acknowledged);
  return [...before, ...after.map((one) => `merged: ${one}`), ...(isDone ? [] : ['not merged'])];
}

async function problemsOf(store: Store, runId: string, acknowledged: number): Promise<string[]> {
  const columns = await (await openRun(store, runId)).readMetricColumns();
  const { damage, keyIndex, keys, sequences, steps, values } = columns;
  const wrong = damage.map(({ reason }) => reason);
  if (values.length < acknowledged)
    wrong.push(`${acknowledged} rows were acknowledged, and ${values.length} are there`);
  const isRight = (at: number): boolean =>
    sequences[at] === at &&
    steps[at] === at &&
    values[at] === valueAt(at) &&
    keys[keyIndex[at] ?? -1] === keyAt(at);
  const at = sequences.findIndex((_, i) => !isRight(i));
  if (at >= 0) wrong.push(`row ${at} of ${values.length} is row ${sequences[at]}`);
  return wrong;
}
