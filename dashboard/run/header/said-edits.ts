/** Changes of what the page of a run lets people say of it, besides its name, notes and tags. */
import { editing } from '../../changes/run-edits.ts';
import type { ChangeWords, PageChange } from '../../changes/page-changes.ts';
import type { ChangeTarget } from '../../changes/run-acts.ts';
import { t, tn } from '../../parts/t.ts';

/** @param description undefined removes it */
export function describing(target: ChangeTarget, description: string | undefined): PageChange {
  const words: ChangeWords = {
    kind: 'describe',
    one: (name) => t('changed the description of {name}', { name }),
    many: (count) =>
      tn(
        count,
        'changed the description of {count} run',
        'changed the descriptions of {count} runs',
      ),
    failed: (name) => t('The description of {name} was not changed.', { name }),
    notUndone: (name) => t('{name} did not get its description back.', { name }),
  };
  return editing(
    target,
    words,
    () => ({ description: description ?? null }),
    (before) => ({ description: before.description }),
  );
}

/** Puts the run into a group, besides those that it is in. */
export function grouping(target: ChangeTarget, group: string): PageChange {
  return regrouping(target, group, true);
}

/** Takes the run out of a group. */
export function ungrouping(target: ChangeTarget, group: string): PageChange {
  return regrouping(target, group, false);
}

function regrouping(target: ChangeTarget, group: string, isAdded: boolean): PageChange {
  const words: ChangeWords = {
    kind: `${isAdded ? 'group' : 'ungroup'} ${group}`,
    one: (name) =>
      isAdded
        ? t('put {name} into the group {group}', { name, group })
        : t('took {name} out of the group {group}', { name, group }),
    many: (count) =>
      isAdded
        ? tn(
            count,
            'put {count} run into the group {group}',
            'put {count} runs into the group {group}',
            { group },
          )
        : tn(
            count,
            'took {count} run out of the group {group}',
            'took {count} runs out of the group {group}',
            { group },
          ),
    failed: (name) => t('The groups of {name} were not changed.', { name }),
    notUndone: (name) => t('{name} did not get its groups back.', { name }),
  };
  return editing(
    target,
    words,
    ({ groups }) => {
      const others = groups.filter((one) => one !== group);
      return { groups: isAdded ? [...others, group] : others };
    },
    ({ groups }) => ({ groups }),
  );
}
