/** What maintenance does in the spaces of a database, one after the other. */
import type { Store } from '../../store/store.ts';
import type { MaintainedSpaces } from './maintenance.ts';

/** When work in the spaces ends early, and what becomes of failures. */
export type SpaceWorkOptions = {
  readonly signal: AbortSignal;
  /** Called before each space; false ends the work. */
  readonly goOn: () => Promise<boolean>;
  /** What one space failed with; the others are done all the same. */
  readonly onFailure: (space: string, error: unknown) => void;
};

/** Calls `work` with the store of each space; false when it was stopped before the last. */
export async function eachSpace(
  spaces: Pick<MaintainedSpaces, 'store'>,
  names: Iterable<string>,
  { goOn, onFailure, signal }: SpaceWorkOptions,
  work: (store: Store, space: string) => Promise<void>,
): Promise<boolean> {
  for (const space of names) {
    if (signal.aborted || !(await goOn())) return false;
    const store = spaces.store(space);
    try {
      await work(store, space);
    } catch (error) {
      if (signal.aborted) return false;
      onFailure(space, error);
    } finally {
      await store.close();
    }
  }
  return true;
}
