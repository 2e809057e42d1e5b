/** Groups and tags of a run: added and removed where they stand. */
import { useSignal, type Signal } from '@preact/signals';
import type { JSX } from 'preact';
import { makeChanges, type PageChange } from '../../changes/page-changes.ts';
import { tagging, untagging } from '../../changes/run-edits.ts';
import type { ChangeTarget } from '../../changes/run-acts.ts';
import { Button } from '../../parts/controls.tsx';
import { Icon } from '../../parts/icons.tsx';
import { t } from '../../parts/t.ts';
import { grouping, ungrouping } from './said-edits.ts';
import { LineField } from './line-field.tsx';

/** What is being added. */
export type Adding = 'tag' | 'group' | undefined;

/** Labels of a run. */
export type LabelsProps = {
  readonly target: ChangeTarget;
  readonly jobType: string | null;
  readonly groups: readonly string[];
  readonly tags: readonly string[];
  readonly canEdit: boolean;
  readonly adding: Signal<Adding>;
};

/** Each label with the way to remove it, and a field for another one. */
export function HeadLabels(props: LabelsProps): JSX.Element | null {
  const { adding, canEdit, groups, jobType, tags, target } = props;
  if (!canEdit && groups.length + tags.length === 0 && jobType === null) return null;
  const remove = (change: PageChange) => (): void => void makeChanges([change]);
  return (
    <div class="run-labels row wrap gap-6">
      {jobType !== null && (
        <span class="badge" title={t('What the run does')}>
          {jobType}
        </span>
      )}
      {groups.map((group) => (
        <Label
          key={`group ${group}`}
          text={group}
          kind={t('Group')}
          class="badge run-group"
          onRemove={canEdit ? remove(ungrouping(target, group)) : undefined}
        />
      ))}
      {tags.map((tag) => (
        <Label
          key={tag}
          text={tag}
          kind={t('Tag')}
          class="tag"
          onRemove={canEdit ? remove(untagging(target, [tag])) : undefined}
        />
      ))}
      {canEdit && adding.value === undefined && (
        <>
          <Button isSmall class="label-add" onClick={() => (adding.value = 'tag')}>
            {t('+ tag')}
          </Button>
          <Button isSmall class="label-add" onClick={() => (adding.value = 'group')}>
            {t('+ group')}
          </Button>
        </>
      )}
      {canEdit && adding.value !== undefined && <AddLabel target={target} adding={adding} />}
    </div>
  );
}

function Label(props: {
  readonly text: string;
  readonly kind: string;
  readonly class: string;
  readonly onRemove: (() => void) | undefined;
}): JSX.Element {
  const { kind, onRemove, text } = props;
  const isBusy = useSignal(false);
  return (
    <span class={`${props.class} run-label`} title={`${kind}: ${text}`}>
      <span class="ellipsis" dir="auto">
        {text}
      </span>
      {onRemove !== undefined && (
        <button
          type="button"
          class="label-remove"
          aria-label={t('Remove {label}', { label: text })}
          disabled={isBusy.value}
          onClick={() => {
            isBusy.value = true;
            onRemove();
          }}
        >
          <Icon name="close" />
        </button>
      )}
    </span>
  );
}

function AddLabel(props: {
  readonly target: ChangeTarget;
  readonly adding: Signal<Adding>;
}): JSX.Element {
  const { adding, target } = props;
  const isTag = adding.value === 'tag';
  const close = (): void => {
    adding.value = undefined;
  };
  return (
    <LineField
      key={adding.value}
      class="label-field"
      label={isTag ? t('New tag') : t('New group')}
      placeholder={isTag ? t('keep, or workers=8') : t('such as a sweep')}
      text=""
      onCancel={close}
      onDone={async (text) => {
        if (text !== '')
          await makeChanges([isTag ? tagging(target, [text]) : grouping(target, text)]);
        close();
      }}
    />
  );
}
