/** Removes the blobs that nothing names from every space of a database. */
import type { Clock } from '../../base/clock.ts';
import { sweepBlobs } from '../../read/blob-sweep.ts';
import { listBlobSpaces } from '../../store/sql/sql-blob-sweep.ts';
import type { MaintainedSpaces } from './maintenance.ts';

/** How the blobs of all spaces are swept. */
export type BlobKeeperOptions = {
  readonly keepMs: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Called before each space; false ends the sweep. */
  readonly goOn: () => Promise<boolean>;
  readonly onSwept: (space: string, blobs: number, bytes: number) => void;
  /** What one space failed with; the others are swept all the same. */
  readonly onFailure: (space: string, error: unknown) => void;
};

/** Sweeps the spaces one after the other; false when it was stopped before the last. */
export async function sweepSpaces(
  spaces: MaintainedSpaces,
  { clock, goOn, keepMs, onFailure, onSwept, signal }: BlobKeeperOptions,
): Promise<boolean> {
  const found = await spaces.database.read(() => listBlobSpaces());
  // Bytes that no space has any more are removed with those of any space.
  for (const space of new Set([...found, ''])) {
    if (signal.aborted || !(await goOn())) return false;
    const store = spaces.store(space);
    try {
      const { blobs, bytes } = await sweepBlobs(store, { keepMs, clock, signal });
      if (blobs > 0) onSwept(space, blobs, bytes);
    } catch (error) {
      if (signal.aborted) return false;
      onFailure(space, error);
    } finally {
      await store.close();
    }
  }
  return true;
}
