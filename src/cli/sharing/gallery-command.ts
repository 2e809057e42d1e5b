/** `quark gallery DIR`: a folder that any web server shows as a public, read-only page of runs. */
import { createReadStream } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join, relative, resolve, sep } from 'node:path';
import {
  exportQuark,
  galleryRun,
  galleryText,
  MAX_GALLERY_RUNS,
  type GalleryRun,
} from '../../exchange.ts';
import { openRun, type RunReader, type Store } from '../../index.ts';
import { findRunIds, parseRunQuery } from '../../workspace.ts';
import { UsageError } from '../support/args.ts';
import {
  EXIT,
  findRunByPrefix,
  JSON_OPTION,
  jsonText,
  STORAGE_OPTIONS,
  withStore,
  type Command,
  type CommandContext,
} from '../support/command.ts';
import { OutputFolder } from '../support/output-folder.ts';
import { dashboardDir } from '../support/site.ts';
import { onTerminal } from '../support/text.ts';

const nothing = async (): Promise<void> => undefined;

export const galleryCommand: Command = {
  spec: {
    name: 'gallery',
    summary: 'Write a folder that any web server shows as a read-only page of runs.',
    positionals: ['DIR'],
    options: {
      ...STORAGE_OPTIONS,
      run: { kind: 'list', value: 'RUN', help: 'This run. Default: every run of the store.' },
      where: {
        kind: 'text',
        value: 'QUERY',
        help: 'Runs of which this holds, as "quark runs --where" takes it.',
      },
      title: { kind: 'text', value: 'TEXT', help: 'Heading of the page. Default: Gallery.' },
      force: { kind: 'flag', help: 'Write over files that are there.' },
      json: JSON_OPTION,
    },
    notes: [
      'The folder has the page, each run as a .quark file, and quark.json, which lists them. The page fetches a run when somebody opens it.',
      'Everybody who can open the page can read all of a run: configuration, notes, environment, console and artifacts.',
    ],
  },
  run: (context) =>
    withStore(context, async (store) => {
      const { args, io } = context;
      const out = resolve(io.cwd, args.positionals[0] ?? '');
      const site = dashboardDir();
      const readers = await chosenRuns(context, store);
      const folder = await OutputFolder.open(out, args.flag('force'));
      const problems: string[] = [];
      const entries: GalleryRun[] = [];
      for (const [at, reader] of readers.entries()) {
        const path = `runs/${fileName(reader.run.id, at)}.quark`;
        const file = exportQuark(reader, {
          documents: 'none',
          onProblem: (reason) => problems.push(reason),
        });
        const { bytes } = await folder.write({ path, pieces: file }, nothing);
        entries.push(await galleryRun(reader, path, bytes));
      }
      for (const path of await filesBelow(site))
        await folder.write({ path, pieces: createReadStream(join(site, path)) }, nothing);
      // The list comes last: a page never names a run that is not there yet.
      const text = galleryText(args.text('title') ?? 'Gallery', entries);
      await folder.write({ path: 'quark.json', pieces: once(text) }, nothing);
      for (const reason of problems) await io.stderr.write(`warning: ${onTerminal(reason)}\n`);
      await io.stdout.write(
        args.flag('json')
          ? jsonText({
              out,
              runs: entries.map(({ bytes, file, run }) => ({ run_id: run.id, file, bytes })),
              problems,
            })
          : `${entries.length === 1 ? '1 run' : `${entries.length} runs`}: ${onTerminal(out)}\nPut the folder behind any web server, and open its index.html there.\n`,
      );
      return EXIT.ok;
    }),
};

async function chosenRuns(
  { args }: Pick<CommandContext, 'args'>,
  store: Store,
): Promise<readonly RunReader[]> {
  const named = args.list('run');
  const where = args.text('where');
  if (named !== undefined && where !== undefined)
    throw new UsageError('Give either --run or --where, not both', 'gallery');
  const byId = new Map<string, RunReader>();
  for (const name of named ?? []) {
    const reader = await findRunByPrefix(store, name);
    byId.set(reader.run.id, reader);
  }
  if (named === undefined) {
    const reading = parseRunQuery(where ?? '');
    if (reading.kind === 'error') throw new UsageError(`--where: ${reading.message}`, 'gallery');
    const { ids, total } = await findRunIds(store, { where: where ?? '', limit: MAX_GALLERY_RUNS });
    if (total > ids.length)
      throw new UsageError(
        `A gallery has at most ${MAX_GALLERY_RUNS} runs; there are ${total}`,
        'gallery',
      );
    for (const id of ids) byId.set(id, await openRun(store, id));
  }
  if (byId.size === 0) throw new UsageError('There is no run to show', 'gallery');
  return [...byId.values()];
}

/** The name of the file of a run: its id, unless that begins as a hidden file or an option does. */
function fileName(runId: string, at: number): string {
  return /^[A-Za-z0-9]/.test(runId) ? runId : `run-${at}`;
}

/** The files of the page, with "/" between the parts of their paths. */
async function filesBelow(root: string): Promise<readonly string[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && entry.name !== 'quark.json')
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .toSorted();
}

async function* once(text: string): AsyncGenerator<string> {
  yield text;
}
