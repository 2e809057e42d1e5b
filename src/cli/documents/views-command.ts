/** `quark views`: the saved views of the charts of a project. */
import { readFile, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { QuarkError, type Store } from '../../index.ts';
import {
  deleteView,
  listViews,
  readView,
  saveView,
  setDefaultView,
  viewFromJson,
  viewToJson,
  type SavedViewHeader,
} from '../../workspace.ts';
import { UsageError } from '../support/args.ts';
import {
  EXIT,
  JSON_OPTION,
  jsonText,
  STORAGE_OPTIONS,
  withStore,
  type Command,
  type CommandContext,
} from '../support/command.ts';
import { localTime, onTerminal, table } from '../support/text.ts';

export const viewsCommand: Command = {
  spec: {
    name: 'views',
    summary: 'List, export, import and remove the saved views of the charts of a project.',
    positionals: ['PROJECT', '[VIEW]'],
    options: {
      ...STORAGE_OPTIONS,
      export: {
        kind: 'text',
        value: 'FILE',
        help: 'Write the view as JSON into this file; - is standard output.',
      },
      import: {
        kind: 'text',
        value: 'FILE',
        help: 'Save the view of this file, under the name VIEW where that is given. A view of the same name is replaced.',
      },
      private: {
        kind: 'flag',
        help: 'With --import: a service shows the view to you alone, and to admins. In a store without a service everybody who opens it sees all of it.',
      },
      rm: { kind: 'flag', help: 'Delete the view.' },
      default: { kind: 'flag', help: 'The project opens with the view from now on.' },
      json: JSON_OPTION,
    },
    notes: [
      'Without an option the views are listed. VIEW is a name, or the id that "quark views PROJECT --json" lists.',
    ],
  },
  run: (context) =>
    withStore(context, async (store) => {
      const { args } = context;
      const actions = ['export', 'import', 'rm', 'default'].filter((name) =>
        name === 'export' || name === 'import' ? args.text(name) !== undefined : args.flag(name),
      );
      if (actions.length > 1)
        throw new UsageError(`--${actions.join(' and --')} do not go together`, 'views');
      if (args.flag('private') && actions[0] !== 'import')
        throw new UsageError('--private goes with --import', 'views');
      switch (actions[0]) {
        case 'export':
          return exportView(context, store);
        case 'import':
          return importView(context, store);
        case 'rm':
          return removeView(context, store);
        case 'default':
          return chooseView(context, store);
        default:
          return showViews(context, store);
      }
    }),
};

async function showViews({ args, io, style }: CommandContext, store: Store): Promise<number> {
  const [project = '', view] = args.positionals;
  if (view !== undefined)
    throw new UsageError('A VIEW needs --export, --import, --rm or --default', 'views');
  const views = await listViews(store, project);
  await io.stdout.write(
    args.flag('json')
      ? jsonText(views.map(viewDict))
      : views.length === 0
        ? 'No saved views.\n'
        : table(
            [
              { title: 'VIEW', cell: ({ name }) => onTerminal(name), isElastic: true },
              { title: 'DEFAULT', cell: ({ isDefault }) => (isDefault ? 'yes' : '-') },
              { title: 'FOR', cell: readersOf },
              { title: 'BY', cell: ({ author }) => onTerminal(author ?? '-') },
              {
                title: 'CHANGED',
                cell: ({ updatedAtMs }) => localTime(new Date(updatedAtMs).toISOString()),
              },
            ],
            views,
            io.stdout.columns,
            style,
          ),
  );
  return EXIT.ok;
}

/** Who sees a view. */
function readersOf({ author, owner, visibility }: SavedViewHeader): string {
  if (owner !== undefined) return onTerminal(author ?? owner);
  return visibility === 'private' ? 'you' : 'all';
}

async function exportView({ args, io }: CommandContext, store: Store): Promise<number> {
  const [project = '', view = ''] = args.positionals;
  const file = args.text('export') ?? '-';
  const saved = await readView(store, project, needed(view));
  if (saved === undefined) throw noView(project, view);
  const text = `${viewToJson(saved.view)}\n`;
  if (file === '-') await io.stdout.write(text);
  else await writeFile(resolve(io.cwd, file), text);
  return EXIT.ok;
}

async function importView({ args, io }: CommandContext, store: Store): Promise<number> {
  const [project = '', name] = args.positionals;
  const text = await readFile(resolve(io.cwd, args.text('import') ?? ''), 'utf8');
  const view = viewFromJson(text);
  const saved = await saveView(
    store,
    { ...view, project, name: name ?? view.name },
    { visibility: args.flag('private') ? 'private' : 'project' },
  );
  await io.stdout.write(
    args.flag('json') ? jsonText(viewDict(saved)) : `Saved ${onTerminal(saved.name)}.\n`,
  );
  return EXIT.ok;
}

async function removeView({ args, io }: CommandContext, store: Store): Promise<number> {
  const [project = '', view = ''] = args.positionals;
  if (!(await deleteView(store, project, needed(view)))) throw noView(project, view);
  await io.stdout.write(
    args.flag('json') ? jsonText({ deleted: view }) : `Deleted ${onTerminal(view)}.\n`,
  );
  return EXIT.ok;
}

async function chooseView({ args, io }: CommandContext, store: Store): Promise<number> {
  const [project = '', view = ''] = args.positionals;
  await setDefaultView(store, project, needed(view));
  await io.stdout.write(
    args.flag('json')
      ? jsonText({ default: view })
      : `${onTerminal(project)} opens with ${onTerminal(view)}.\n`,
  );
  return EXIT.ok;
}

function needed(view: string): string {
  if (view === '') throw new UsageError('Name the VIEW', 'views');
  return view;
}

function noView(project: string, view: string): QuarkError {
  return new QuarkError(
    'invalid_input',
    `Project "${project}" has no view "${view}". "quark views ${project}" lists them.`,
    { details: { field: 'VIEW', value: view, rule: 'a view of the project' } },
  );
}

function viewDict(view: SavedViewHeader): object {
  return {
    id: view.id,
    name: view.name,
    default: view.isDefault,
    visibility: view.visibility,
    author: view.author,
    revision: view.revision,
    created_at: new Date(view.createdAtMs).toISOString(),
    updated_at: new Date(view.updatedAtMs).toISOString(),
  };
}
