/** Removes the blobs that nothing names from every space of a database. */
import type { Clock } from '../../base/clock.ts';
import { sweepBlobs } from '../../read/blob-sweep.ts';
import { listBlobSpaces } from '../../store/sql/sql-blob-sweep.ts';
import { eachSpace, type SpaceWorkOptions } from './each-space.ts';
import type { MaintainedSpaces } from './maintenance.ts';

/** How the blobs of all spaces are swept. */
export type BlobKeeperOptions = SpaceWorkOptions & {
  readonly keepMs: number;
  readonly clock: Clock;
  readonly onSwept: (space: string, blobs: number, bytes: number) => void;
};

/** Sweeps the spaces one after the other; false when it was stopped before the last. */
export async function sweepSpaces(
  spaces: MaintainedSpaces,
  options: BlobKeeperOptions,
): Promise<boolean> {
  const { clock, keepMs, onSwept, signal } = options;
  const found = await spaces.database.read(() => listBlobSpaces());
  // Bytes that no space has any more are removed with those of any space.
  return eachSpace(spaces, new Set([...found, '']), options, async (store, space) => {
    const { blobs, bytes } = await sweepBlobs(store, { keepMs, clock, signal });
    if (blobs > 0) onSwept(space, blobs, bytes);
  });
}
