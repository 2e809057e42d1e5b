/** Deletes, archives and restores runs. */
import { signal, type Signal } from '@preact/signals';
import type { Store } from 'quark-sdk';
import { t, tn } from '../parts/t.ts';
import { makeChanges, type ChangeWords, type PageChange } from './page-changes.ts';

/** What can be done to a run as a whole. */
export type RunAct = 'delete' | 'archive' | 'restore';

/** A run that is to be changed. */
export type ChangeTarget = {
  readonly store: Store;
  readonly runId: string;
  /** What it is called on the page. */
  readonly name: string;
};

/** The runs some of which go on, and that somebody wants to delete all the same: they are asked first. */
export const askedToDelete: Signal<
  { readonly targets: readonly ChangeTarget[]; readonly liveCount: number } | undefined
> = signal(undefined);

const WORDS: Readonly<Record<RunAct, Omit<ChangeWords, 'notUndone'>>> = {
  delete: {
    kind: 'delete',
    one: (name) => t('deleted {name}', { name }),
    many: (count) => tn(count, 'deleted {count} run', 'deleted {count} runs'),
    failed: (name) => t('{name} was not deleted.', { name }),
  },
  archive: {
    kind: 'archive',
    one: (name) => t('archived {name}', { name }),
    many: (count) => tn(count, 'archived {count} run', 'archived {count} runs'),
    failed: (name) => t('{name} was not archived.', { name }),
  },
  restore: {
    kind: 'restore',
    one: (name) => t('restored {name}', { name }),
    many: (count) => tn(count, 'restored {count} run', 'restored {count} runs'),
    failed: (name) => t('{name} was not restored.', { name }),
  },
};

/**
 * A change of a run as a whole.
 *
 * @param back what undoes it; needed for `restore`, which brings runs back from two states. Default: `restore`
 */
export function actingOn(act: RunAct, target: ChangeTarget, back: RunAct = 'restore'): PageChange {
  return {
    id: target.runId,
    name: target.name,
    words: { ...WORDS[act], notUndone: WORDS[back].failed },
    make: async () => {
      await call(act, target);
      return async () => call(back, target);
    },
  };
}

/** Changes a run as a whole and says so, or why not. Never rejects. See {@link actingOn}. */
export async function actOnRun(act: RunAct, target: ChangeTarget, back?: RunAct): Promise<void> {
  await makeChanges([actingOn(act, target, back)]);
}

/** Deletes runs; where some go on, asks first. */
export function deleteOrAsk(targets: readonly ChangeTarget[], liveCount: number): void {
  if (liveCount > 0) askedToDelete.value = { targets, liveCount };
  else void deleteRuns(targets);
}

/** Deletes runs and says so. */
export async function deleteRuns(targets: readonly ChangeTarget[]): Promise<void> {
  await makeChanges(targets.map((target) => actingOn('delete', target)));
}

async function call(act: RunAct, { store, runId }: ChangeTarget): Promise<void> {
  if (act === 'delete') await store.deleteRun(runId);
  else if (act === 'archive') await store.archiveRun(runId);
  else await store.restoreRun(runId);
}
