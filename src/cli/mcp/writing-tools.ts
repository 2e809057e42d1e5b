/** Tools that change what people say of runs. They are offered with `--allow-write` only; none deletes anything. */
import { archiveRun, editRun, restoreRun, type RunEditOptions } from '../../index.ts';
import { findRunByPrefix } from '../support/command.ts';
import { RUN_ARGUMENT } from './reading-tools.ts';
import { runLine } from './run-texts.ts';
import { refused, type McpTool } from './tool.ts';

const TEXTS = { type: 'array', items: { type: 'string' } } as const;

const editRunTool: McpTool = {
  name: 'edit_run',
  title: 'Name, tag or describe a run',
  description:
    'Changes the name, the notes (Markdown) or the tags of a run. What is not given stays.',
  properties: {
    run: RUN_ARGUMENT,
    name: { type: 'string' },
    notes: { type: 'string' },
    add_tags: TEXTS,
    remove_tags: TEXTS,
  },
  required: ['run'],
  isWriting: true,
  async run(store, args) {
    const [name, notes] = [args.optionalText('name'), args.optionalText('notes')];
    const [addTags, removeTags] = [args.texts('add_tags'), args.texts('remove_tags')];
    const changes: RunEditOptions = {
      ...(name !== undefined && { name }),
      ...(notes !== undefined && { notes }),
      ...(addTags !== undefined && { addTags }),
      ...(removeTags !== undefined && { removeTags }),
    };
    if (Object.keys(changes).length === 0)
      throw refused('name', undefined, 'given, or notes, add_tags or remove_tags');
    const { run } = await findRunByPrefix(store, args.text('run'));
    const edited = await editRun(store, run.id, changes);
    return { run: edited.id, name: edited.name, tags: edited.tags };
  },
};

const archiveTool: McpTool = {
  name: 'archive_run',
  title: 'Archive a run, or take it out of the archive',
  description: 'Lists leave archived runs out. Nothing is deleted, and it can be undone.',
  properties: { run: RUN_ARGUMENT, undo: { type: 'boolean', description: 'Default: false.' } },
  required: ['run'],
  isWriting: true,
  async run(store, args) {
    const isUndoing = args.flag('undo', false);
    const { run } = await findRunByPrefix(store, args.text('run'));
    const change = isUndoing ? restoreRun : archiveRun;
    return runLine(await change(store, run.id));
  },
};

/** The tools that change something. */
export const WRITING_TOOLS: readonly McpTool[] = [editRunTool, archiveTool];
