/** Changes of what people say of a run: its name, notes, groups and tags. Each is undone by what the run had before. */
import { editRun, openRun, type RunEditOptions, type RunRecord } from 'quark-sdk';
import { t, tn } from '../parts/t.ts';
import type { ChangeWords, PageChange } from './page-changes.ts';
import type { ChangeTarget } from './run-acts.ts';

/** What people say of a run. */
const SAID = ['name', 'description', 'notes', 'groups', 'jobType', 'tags'] as const;

function isSame(before: unknown, after: unknown): boolean {
  return JSON.stringify(before) === JSON.stringify(after);
}

/** @param name undefined removes the name */
export function renaming(target: ChangeTarget, name: string | undefined): PageChange {
  return editing(
    target,
    {
      kind: 'rename',
      one: (before) =>
        name === undefined
          ? t('removed the name of {before}', { before })
          : t('renamed {before} to {name}', { before, name }),
      many: (count) => tn(count, 'renamed {count} run', 'renamed {count} runs'),
      failed: (before) => t('{before} was not renamed.', { before }),
      notUndone: (before) => t('{before} did not get its name back.', { before }),
    },
    () => ({ name: name ?? null }),
    (before) => ({ name: before.name }),
  );
}

/** @param notes Markdown; undefined removes the notes */
export function noting(target: ChangeTarget, notes: string | undefined): PageChange {
  return editing(
    target,
    {
      kind: 'note',
      one: (name) => t('changed the notes of {name}', { name }),
      many: (count) =>
        tn(count, 'changed the notes of {count} run', 'changed the notes of {count} runs'),
      failed: (name) => t('The notes of {name} were not changed.', { name }),
      notUndone: (name) => t('{name} did not get its notes back.', { name }),
    },
    () => ({ notes: notes ?? null }),
    (before) => ({ notes: before.notes }),
  );
}

/** @param note Markdown, put below the notes that the run has */
export function addingNote(target: ChangeTarget, note: string): PageChange {
  const { words } = noting(target, note);
  return editing(
    target,
    words,
    (before) => ({ notes: before.notes === null ? note : `${before.notes}\n\n${note}` }),
    (before) => ({ notes: before.notes }),
  );
}

/** @param groups all groups that the run is to be in; none takes it out of all */
export function settingGroups(target: ChangeTarget, groups: readonly string[]): PageChange {
  const named = groups.join(', ');
  return editing(
    target,
    {
      kind: `group ${named}`,
      one: (name) =>
        groups.length === 0
          ? t('removed the groups of {name}', { name })
          : t('put {name} into {groups}', { name, groups: named }),
      many: (count) =>
        groups.length === 0
          ? tn(count, 'removed the groups of {count} run', 'removed the groups of {count} runs')
          : tn(count, 'put {count} run into {groups}', 'put {count} runs into {groups}', {
              groups: named,
            }),
      failed: (name) => t('The groups of {name} were not changed.', { name }),
      notUndone: (name) => t('{name} did not get its groups back.', { name }),
    },
    () => ({ groups }),
    (before) => ({ groups: before.groups }),
  );
}

/** Adds tags: `keep`, or `workers=8`, which replaces the tag of the same name. */
export function tagging(target: ChangeTarget, tags: readonly string[]): PageChange {
  return retagging(
    target,
    {
      kind: `tag ${tags.join(' ')}`,
      one: (name) => t('tagged {name} with {tags}', { name, tags: tags.join(', ') }),
      many: (count) =>
        tn(count, 'tagged {count} run with {tags}', 'tagged {count} runs with {tags}', {
          tags: tags.join(', '),
        }),
      failed: (name) => t('{name} was not tagged.', { name }),
      notUndone: (name) => t('{name} did not get its tags back.', { name }),
    },
    { addTags: tags },
  );
}

/** Removes tags, each by all of its text or by its name. */
export function untagging(target: ChangeTarget, tags: readonly string[]): PageChange {
  return retagging(
    target,
    {
      kind: `untag ${tags.join(' ')}`,
      one: (name) => t('removed {tags} from {name}', { name, tags: tags.join(', ') }),
      many: (count) =>
        tn(count, 'removed {tags} from {count} run', 'removed {tags} from {count} runs', {
          tags: tags.join(', '),
        }),
      failed: (name) => t('{name} did not lose its tags.', { name }),
      notUndone: (name) => t('{name} did not get its tags back.', { name }),
    },
    { removeTags: tags },
  );
}

function retagging(target: ChangeTarget, words: ChangeWords, edit: RunEditOptions): PageChange {
  return editing(
    target,
    words,
    () => edit,
    (before, after) => ({
      removeTags: after.tags.filter((tag) => !before.tags.includes(tag)),
      addTags: before.tags.filter((tag) => !after.tags.includes(tag)),
    }),
  );
}

/**
 * Any change of what people say of a run.
 *
 * @param edit what to change, of the run as it is now
 * @param back what undoes it, from the run before and after
 */
export function editing(
  { store, runId, name }: ChangeTarget,
  words: ChangeWords,
  edit: (before: RunRecord) => RunEditOptions,
  back: (before: RunRecord, after: RunRecord) => RunEditOptions,
): PageChange {
  return {
    id: runId,
    name,
    words,
    make: async () => {
      const { run: before } = await openRun(store, runId);
      const after = await editRun(store, runId, edit(before));
      if (SAID.every((field) => isSame(before[field], after[field]))) return undefined;
      return async () => editRun(store, runId, back(before, after));
    },
  };
}
