/** `quark undelete`: brings deleted runs back, and takes runs out of the archive. */
import {
  InvalidRunStateError,
  isQuarkError,
  listDeletedRuns,
  restoreRun,
  RunNotFoundError,
  type RunSummary,
  type Store,
} from '../../index.ts';
import {
  EXIT,
  findRunByPrefix,
  JSON_OPTION,
  jsonText,
  STORAGE_OPTIONS,
  summaryJson,
  type Command,
} from '../support/command.ts';
import { withAuditedStore } from '../support/audited-store.ts';
import { counted } from '../support/text.ts';

export const undeleteCommand: Command = {
  spec: {
    name: 'undelete',
    summary: 'Bring deleted runs back, or take runs out of the archive.',
    positionals: ['RUN...'],
    options: { ...STORAGE_OPTIONS, json: JSON_OPTION },
    notes: ['"quark runs --deleted" lists the runs that can be brought back, and until when.'],
  },
  run: ({ io, args }) =>
    withAuditedStore({ io, args }, async (store) => {
      const ids: string[] = [];
      for (const given of args.positionals) ids.push(await findId(store, given));
      for (const id of new Set(ids)) await checkRestorable(store, id);
      const restored: RunSummary[] = [];
      for (const id of new Set(ids)) restored.push(await restoreRun(store, id));
      if (args.flag('json')) await io.stdout.write(jsonText(restored.map(summaryJson)));
      else {
        const names = restored.map(({ run }) => run.id).join(', ');
        await io.stdout.write(`${counted(restored.length, 'run')} restored: ${names}\n`);
      }
      return EXIT.ok;
    }),
};

/** @throws {InvalidRunStateError} for a run that is neither deleted nor in the archive */
async function checkRestorable(store: Store, id: string): Promise<void> {
  const run = await store.findRun(id);
  if (run === undefined || run.archivedAtMs !== undefined) return;
  throw new InvalidRunStateError(
    `Run "${id}" is neither deleted nor in the archive. Nothing was changed. "quark runs --deleted" and "quark runs --archived" list those that are.`,
    { runId: id },
  );
}

/** A deleted run of this id or whose id starts so; else a run that is there. */
async function findId(store: Store, given: string): Promise<string> {
  const all = await listDeletedRuns(store, { purged: true });
  const exact = all.find(({ id }) => id === given);
  if (exact !== undefined) return exact.id;
  const matching = all.filter(
    ({ id, purgedAtMs }) =>
      purgedAtMs === undefined && (id.startsWith(given) || id.startsWith(`run_${given}`)),
  );
  const [only] = matching;
  if (matching.length === 1 && only !== undefined) return only.id;
  try {
    return (await findRunByPrefix(store, given)).run.id;
  } catch (error) {
    if (isQuarkError(error, 'run_not_found')) throw new RunNotFoundError(given, store.uri);
    throw error;
  }
}
