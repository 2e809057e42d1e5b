/** `quark rename`, `quark note` and `quark tag`: what people say of a run, during it and afterwards. */
import { editRun, type RunEditOptions, type Store } from '../../index.ts';
import {
  EXIT,
  findRunByPrefix,
  JSON_OPTION,
  jsonText,
  STORAGE_OPTIONS,
  summaryJson,
  withStore,
  type Command,
  type CommandContext,
} from '../support/command.ts';
import { onTerminal } from '../support/text.ts';

export const renameCommand: Command = {
  spec: {
    name: 'rename',
    summary: 'Give a run a name.',
    positionals: ['RUN', 'NAME'],
    options: { ...STORAGE_OPTIONS, json: JSON_OPTION },
    notes: ['An empty NAME removes the name. Several runs may have the same one.'],
  },
  run: (context) =>
    edit(
      context,
      ([name = '']) => ({ name: name === '' ? null : name }),
      ({ name }) => (name === null ? 'has no name' : `is called ${name}`),
    ),
};

export const noteCommand: Command = {
  spec: {
    name: 'note',
    summary: 'Write the notes of a run, its groups and its description.',
    positionals: ['RUN', '[TEXT]'],
    options: {
      ...STORAGE_OPTIONS,
      description: { kind: 'text', value: 'TEXT', help: 'What the run is about, in a sentence.' },
      'job-type': { kind: 'text', value: 'NAME', help: 'What the run does, such as train.' },
      group: {
        kind: 'list',
        value: 'NAME',
        help: 'A group of the run. All that are given take the place of those that it had.',
      },
      json: JSON_OPTION,
    },
    notes: ['TEXT is Markdown and takes the place of the notes before. An empty text removes it.'],
  },
  run: (context) =>
    edit(
      context,
      ([text]) => {
        const { args } = context;
        const description = args.text('description');
        const jobType = args.text('job-type');
        const groups = args.list('group');
        return {
          ...(text === undefined ? {} : { notes: text }),
          ...(description === undefined ? {} : { description }),
          ...(jobType === undefined ? {} : { jobType: jobType === '' ? null : jobType }),
          ...(groups === undefined ? {} : { groups: groups.filter((group) => group !== '') }),
        };
      },
      () => 'is described',
    ),
};

export const tagCommand: Command = {
  spec: {
    name: 'tag',
    summary: 'Add tags to a run, or remove them.',
    positionals: ['RUN', '[TAG]...'],
    options: {
      ...STORAGE_OPTIONS,
      remove: { kind: 'list', value: 'TAG', help: 'Removes a tag; `workers` removes `workers=8`.' },
      json: JSON_OPTION,
    },
    notes: ['A tag may have a value, as in "workers=8", which replaces the one before.'],
  },
  run: (context) =>
    edit(
      context,
      (tags) => ({ addTags: tags, removeTags: context.args.list('remove') ?? [] }),
      ({ tags }) => (tags.length === 0 ? 'has no tags' : `has the tags ${tags.join(', ')}`),
    ),
};

async function edit(
  { args, io }: CommandContext,
  changeOf: (rest: readonly string[]) => RunEditOptions,
  sentence: (run: Awaited<ReturnType<typeof editRun>>) => string,
): Promise<number> {
  return withStore({ io, args }, async (store: Store) => {
    const [given = '', ...rest] = args.positionals;
    const { run } = await findRunByPrefix(store, given);
    const edited = await editRun(store, run.id, changeOf(rest));
    if (args.flag('json'))
      await io.stdout.write(jsonText(summaryJson(await findRunByPrefix(store, run.id))));
    else await io.stdout.write(onTerminal(`Run ${run.id} ${sentence(edited)}.`) + '\n');
    return EXIT.ok;
  });
}
