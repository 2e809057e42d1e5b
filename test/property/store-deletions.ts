/** Deleting, archiving, restoring and purging runs in random sequences: the commands, what the model does, and the comparison. */
import fc from 'fast-check';
import { expect } from 'vitest';
import type { DeletedRun, Store, StoredRun } from '../../src/store/store.ts';
import type { DeletedOfModel, State } from './store-model.ts';

const DELETED_RUNS = ['run_a', 'run_b', 'run_c'] as const;

/** A command about whole runs. */
export type RunCommand =
  | {
      readonly kind: 'delete';
      readonly store: number;
      readonly runId: string;
      readonly keepMs: number;
      readonly by: string | undefined;
    }
  | { readonly kind: 'archive' | 'restore'; readonly store: number; readonly runId: string }
  | { readonly kind: 'purge'; readonly store: number; readonly force: readonly string[] };

const store = fc.nat({ max: 1 });
const runId = fc.constantFrom(...DELETED_RUNS);

/** Restoring is twice as frequent: a deleted run takes part in nothing else. */
export const RUN_COMMANDS: readonly {
  readonly weight: number;
  readonly arbitrary: fc.Arbitrary<RunCommand>;
}[] = [
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('delete' as const),
      store,
      runId,
      // Waits are of up to 30 ms: some are due at once, some soon.
      keepMs: fc.oneof(fc.constant(0), fc.nat({ max: 200 })),
      by: fc.option(fc.constantFrom('kim', 'retention'), { nil: undefined }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('archive' as const), store, runId }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('restore' as const), store, runId }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('purge' as const),
      store,
      force: fc.oneof(
        { weight: 4, arbitrary: fc.constant([]) },
        { weight: 1, arbitrary: fc.uniqueArray(runId, { maxLength: 1 }) },
      ),
    }),
  },
];

/** Does a command, in the store and in the model. */
export async function changeRuns(
  at: Store,
  state: State,
  nowMs: number,
  one: RunCommand,
): Promise<void> {
  switch (one.kind) {
    case 'delete': {
      const { by, keepMs } = one;
      const answer = at.deleteRun(one.runId, by === undefined ? { keepMs } : { keepMs, by });
      return compare(answer, deleteFrom(state, nowMs, one));
    }
    case 'archive':
      return compare(at.archiveRun(one.runId), archive(state, nowMs, one.runId));
    case 'restore':
      return compare(at.restoreRun(one.runId), restore(state, one.runId));
    case 'purge':
      return compare(at.purgeDeletedRuns(undefined, one.force), purge(state, nowMs, one.force));
  }
}

/** Tombstones as `listDeletedRuns` has them. */
export function listDeleted(state: State): readonly DeletedRun[] {
  return inOrder([...state.deleted.values()].map(({ tombstone }) => tombstone));
}

type Refusal = { readonly refused: Readonly<Record<string, string>> };
const MISSING: Refusal = { refused: { code: 'run_not_found' } };
const IS_DELETED: Refusal = { refused: { code: 'store_failed', reason: 'deleted' } };

async function compare(answer: Promise<unknown>, expected: unknown): Promise<void> {
  if (typeof expected === 'object' && expected !== null && 'refused' in expected)
    await expect(answer).rejects.toMatchObject(expected.refused as object);
  else expect(await answer).toEqual(expected);
}

function deleteFrom(
  state: State,
  nowMs: number,
  { by, keepMs, runId: id }: Extract<RunCommand, { readonly kind: 'delete' }>,
): DeletedRun | Refusal {
  const known = state.deleted.get(id);
  if (known !== undefined) return known.tombstone;
  const run = state.runs.get(id);
  if (run === undefined) return MISSING;
  const tombstone: DeletedRun = {
    id,
    projectName: run.projectName,
    deletedAtMs: nowMs,
    purgeAtMs: nowMs + keepMs,
    ...(by === undefined ? {} : { by }),
  };
  const streams = [...state.streams].filter(([name]) => name.startsWith(`${id} `));
  state.deleted.set(id, { tombstone, run, streams });
  state.runs.delete(id);
  for (const [name] of streams) state.streams.delete(name);
  for (const name of state.leases.keys()) if (name.startsWith(`${id} `)) state.leases.delete(name);
  return tombstone;
}

function archive(state: State, nowMs: number, id: string): StoredRun | Refusal {
  if (state.deleted.has(id)) return IS_DELETED;
  const run = state.runs.get(id);
  if (run === undefined) return MISSING;
  if (run.archivedAtMs !== undefined) return run;
  const next = { ...run, archivedAtMs: nowMs, revision: run.revision + 1 };
  state.runs.set(id, next);
  return next;
}

function restore(state: State, id: string): StoredRun | Refusal {
  const deleted = state.deleted.get(id);
  if (deleted !== undefined) {
    if (deleted.tombstone.purgedAtMs !== undefined) return IS_DELETED;
    state.deleted.delete(id);
    state.runs.set(id, deleted.run);
    for (const [name, stream] of deleted.streams) state.streams.set(name, stream);
    return deleted.run;
  }
  const run = state.runs.get(id);
  if (run === undefined) return MISSING;
  if (run.archivedAtMs === undefined) return run;
  const { archivedAtMs: _, ...rest } = run;
  const next = { ...rest, revision: run.revision + 1 };
  state.runs.set(id, next);
  return next;
}

/** Runs whose time has come lose what they had, as `reclaimSpace` does, too. */
export function purge(
  state: State,
  nowMs: number,
  force: readonly string[] = [],
): readonly DeletedRun[] {
  const due = ({ tombstone: { id, purgeAtMs, purgedAtMs } }: DeletedOfModel): boolean =>
    purgedAtMs === undefined && (purgeAtMs <= nowMs || force.includes(id));
  const purged = [...state.deleted.values()].filter(due).map((deleted) => {
    const tombstone = { ...deleted.tombstone, purgedAtMs: nowMs };
    state.deleted.set(tombstone.id, { ...deleted, tombstone, streams: [] });
    return tombstone;
  });
  return inOrder(purged);
}

function inOrder(tombstones: readonly DeletedRun[]): readonly DeletedRun[] {
  return tombstones.toSorted((a, b) => b.deletedAtMs - a.deletedAtMs || (a.id < b.id ? -1 : 1));
}
