/** What the runs have that are deleted while their process is killed, and what is wrong with them afterwards. */
import { isStoreError, messageOf } from '../../src/base/errors.ts';
import type { Store } from '../../src/store/store.ts';
import { compareRows } from '../faults/rows.ts';

/** Rows of a batch. */
export const DELETED_TABLE_ROWS = 5;
/** Each with four batches. */
export const DELETED_WRITERS: readonly string[] = ['w0', 'w1', 'w2', 'w3', 'w4', 'w5'];

/** What is wrong with a store, given all that was said: empty when nothing is. Runs that are deleted and not purged are restored, and read. */
export async function inspectDeletion(store: Store, lines: readonly string[]): Promise<string[]> {
  const last = new Map<string, string>();
  for (const line of lines) {
    const [act = '', runId = ''] = line.split(' ');
    last.set(runId, act);
  }
  const wrong: string[] = [];
  for (const [runId, act] of last)
    wrong.push(...(await inspectRun(store, runId, act)).map((what) => `${runId}, ${act}: ${what}`));
  return wrong;
}

/** What a run may be after an act that was said last. */
const MAY_BE: Readonly<Record<string, readonly string[]>> = {
  made: ['there'],
  deleting: ['there', 'deleted'],
  deleted: ['deleted'],
  restoring: ['deleted', 'there'],
  restored: ['there'],
  purging: ['deleted', 'purged'],
  purged: ['purged'],
};

async function inspectRun(store: Store, runId: string, act: string): Promise<readonly string[]> {
  const run = await store.findRun(runId);
  const tombstone = await store.findDeletedRun(runId);
  if ((run === undefined) === (tombstone === undefined)) return ['it is neither there nor deleted'];
  const found =
    tombstone === undefined ? 'there' : tombstone.purgedAtMs === undefined ? 'deleted' : 'purged';
  if (MAY_BE[act]?.includes(found) !== true) return [`it is ${found}`];
  const isListed = (await store.listRuns()).some(({ id }) => id === runId);
  if (isListed !== (found === 'there')) return [`listed: ${isListed}`];
  if (found !== 'there') {
    const restored = await store.restoreRun(runId).catch((error: unknown) => error);
    const isRefused = isStoreError(restored, 'deleted');
    if (isRefused !== (found === 'purged'))
      return [isRefused ? messageOf(restored) : 'it came back after it was purged'];
    if (isRefused) return [];
  }
  // Whole, down to each row.
  const rows = 4 * DELETED_TABLE_ROWS;
  const progress = new Map(
    DELETED_WRITERS.map((writer) => [writer, { acknowledged: rows, tried: rows }]),
  );
  return compareRows(store, progress, runId);
}
