/** `quark rm RUN --table TABLE` and `--artifact KEY`: deletes a part of a run. */
import { deleteArtifact, deleteTable, type Store } from '../../index.ts';
import { recorded, type RecordAct } from './audited-store.ts';
import { UsageError } from './args.ts';
import { EXIT, findRunByPrefix, jsonText, type CommandContext } from './command.ts';
import { counted, onTerminal } from './text.ts';

/** Options of `quark rm` that are about whole runs. */
const RUN_OPTIONS = ['project', 'before'] as const;
const RUN_FLAGS = ['archive', 'purge-now', 'dry-run'] as const;

/** Deletes the table or the artifact that the options name; returns the exit code. */
export async function removeRows(
  context: CommandContext,
  store: Store,
  record: RecordAct,
): Promise<number> {
  const { args, io } = context;
  const [table, artifact] = [args.text('table'), args.text('artifact')];
  const [given, ...more] = args.positionals;
  const isAboutRuns =
    RUN_OPTIONS.some((name) => args.text(name) !== undefined) ||
    RUN_FLAGS.some((name) => args.flag(name)) ||
    args.count('days') !== undefined ||
    [args.list('status'), args.list('tag')].some((list) => list !== undefined);
  if (given === undefined || more.length > 0 || isAboutRuns)
    throw new UsageError('--table and --artifact take one RUN, and no option but --yes', 'rm');
  if (table !== undefined && artifact !== undefined)
    throw new UsageError('Give either --table or --artifact, not both', 'rm');
  const { run } = await findRunByPrefix(store, given);
  const what = table === undefined ? `artifact ${artifact}` : `the ${table}`;
  if (!args.flag('yes')) {
    const answer = await io.ask(
      `Delete ${onTerminal(what)} of ${run.id}? Nothing brings them back. [y/N] `,
    );
    if (answer === undefined)
      throw new UsageError('There is no terminal to ask at: give --yes', 'rm');
    if (!/^y(es)?$/i.test(answer.trim())) return EXIT.failure;
  }
  const kind = table === undefined ? 'artifact' : 'table';
  const act = {
    action: `${kind}.delete`,
    target: { kind, id: run.id },
    detail: { name: table ?? artifact ?? '' },
  } as const;
  const { rows, table: name } = await recorded(record, act, () =>
    table === undefined
      ? deleteArtifact(store, run.id, artifact ?? '')
      : deleteTable(store, run.id, table),
  );
  await io.stdout.write(
    args.flag('json')
      ? jsonText({ run_id: run.id, table: name, rows })
      : `Deleted ${counted(rows, 'row')} of the ${name} of ${run.id}.\n`,
  );
  return EXIT.ok;
}
