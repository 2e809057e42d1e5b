/** The head of a run's page: its name and labels, how it stands, what can be done with it. */
import { useSignal, type Signal } from '@preact/signals';
import type { JSX } from 'preact';
import { isQuarkError } from 'quark-sdk';
import { makeChanges } from '../../changes/page-changes.ts';
import { deletionRefusal, editRefusal } from '../../changes/rights.ts';
import { RunActions } from '../../changes/run-actions.tsx';
import type { ChangeTarget } from '../../changes/run-acts.ts';
import { renaming } from '../../changes/run-edits.ts';
import { isBeingImported } from '../../dropped/dropped-files.ts';
import { useActions } from '../../parts/actions.ts';
import { Button, ButtonLink, CopyButton, IconButton } from '../../parts/controls.tsx';
import { shortId } from '../../parts/format.ts';
import { Icon } from '../../parts/icons.tsx';
import { Crumb } from '../../parts/notices.tsx';
import { importOf } from '../../parts/run-name.ts';
import { shownStatus, StatusChip } from '../../parts/run-status.tsx';
import { setting } from '../../parts/signals.ts';
import { t } from '../../parts/t.ts';
import type { RunFeed } from '../../series/run-feed.ts';
import type { RunWatch } from '../feed/run-watch.ts';
import { HeadLabels, type Adding } from './labels.tsx';
import { LineField } from './line-field.tsx';
import { RunNotes } from './notes.tsx';
import { RunProgressLine } from './progress-line.tsx';
import { ReportButton } from './report-menu.tsx';
import { runOutcome } from './run-outcome.ts';
import { describing } from './said-edits.ts';
import './style.css';

/** What the head shows. */
export type HeadProps = {
  /** The same object while it grows: a component that shows it reads the clock of `watch` as well. */
  readonly feed: RunFeed;
  readonly watch: RunWatch;
};

/** What is being changed; one thing at a time. */
type Editing = 'name' | 'description' | undefined;

/** The head of the page. */
export function RunHead(
  props: HeadProps & { readonly resumeHref: string | undefined },
): JSX.Element {
  const { feed, watch } = props;
  void watch.nowMs.value;
  const { run, status } = feed;
  const target: ChangeTarget = { store: feed.reader.store, runId: run.id, name: headName(run) };
  const isThere = !isQuarkError(watch.error.value, 'run_not_found');
  const canEdit = isThere && editRefusal(feed.reader.store, run.projectName) === undefined;
  const editing = useSignal<Editing>(undefined);
  const adding = useSignal<Adding>(undefined);
  const isWriting = useSignal(false);
  useEditActions(canEdit, editing, adding, isWriting);
  return (
    <header class="page-head run-head">
      <Crumb />
      <div class="run-title row wrap">
        <RunTitle run={run} target={target} canEdit={canEdit} editing={editing} />
        <CopyButton text={run.id} label={t('Copy the run id')}>
          <span class="run-id quiet code">{shortId(run.id)}</span>
        </CopyButton>
        <StatusChip
          status={isBeingImported(run) ? 'importing' : shownStatus({ effectiveStatus: status })}
        />
        {feed.archivedAtMs !== undefined && (
          <span
            class="badge"
            title={t('Since {date}', { date: new Date(feed.archivedAtMs).toLocaleString() })}
          >
            <Icon name="archive" /> {t('Archived')}
          </span>
        )}
        <HeadActions {...props} target={target} isThere={isThere} />
      </div>
      <Outcome feed={feed} />
      <Description text={run.description} target={target} canEdit={canEdit} editing={editing} />
      <LabelRow
        feed={feed}
        target={target}
        canEdit={canEdit}
        adding={adding}
        isWriting={isWriting}
      />
      <RunProgressLine feed={feed} nowMs={watch.nowMs.value} />
      <RunNotes target={target} notes={run.notes} canEdit={canEdit} isEditing={isWriting} />
    </header>
  );
}

/** Labels, and the way to write notes where there are none. */
function LabelRow(props: {
  readonly feed: RunFeed;
  readonly target: ChangeTarget;
  readonly canEdit: boolean;
  readonly adding: Signal<Adding>;
  readonly isWriting: Signal<boolean>;
}): JSX.Element {
  const { adding, canEdit, feed, isWriting, target } = props;
  const { run } = feed;
  return (
    <div class="row wrap gap-6">
      <HeadLabels
        target={target}
        jobType={run.jobType}
        groups={run.groups}
        tags={run.tags}
        canEdit={canEdit}
        adding={adding}
      />
      {canEdit && run.notes === null && !isWriting.value && (
        <Button isSmall class="label-add" onClick={setting(isWriting, true)}>
          {t('+ notes')}
        </Button>
      )}
    </div>
  );
}

function useEditActions(
  canEdit: boolean,
  editing: Signal<Editing>,
  adding: Signal<Adding>,
  isWriting: Signal<boolean>,
): void {
  useActions(() => {
    const section = t('Run');
    if (!canEdit) return [];
    return [
      {
        id: 'run.rename',
        title: t('Rename this run'),
        section,
        keys: 'f2',
        run: setting(editing, 'name'),
      },
      {
        id: 'run.describe',
        title: t('Describe this run'),
        section,
        run: setting(editing, 'description'),
      },
      { id: 'run.tag', title: t('Tag this run'), section, keys: 't', run: setting(adding, 'tag') },
      {
        id: 'run.group',
        title: t('Put this run into a group'),
        section,
        run: setting(adding, 'group'),
      },
      {
        id: 'run.note',
        title: t('Write notes on this run'),
        section,
        keys: 'n',
        run: setting(isWriting, true),
      },
    ];
  });
}

/** What a run is called in sentences. */
export function headName(run: RunFeed['run']): string {
  return `${titleOf(run)} ${shortId(run.id)}`;
}

/** Its own name; else that of the imported file, or of the project. */
function titleOf(run: RunFeed['run']): string {
  return run.name ?? importOf(run)?.name ?? run.projectName;
}

type EditProps = {
  readonly target: ChangeTarget;
  readonly canEdit: boolean;
  readonly editing: Signal<Editing>;
};

function RunTitle(props: EditProps & { readonly run: RunFeed['run'] }): JSX.Element {
  const { canEdit, editing, run, target } = props;
  const close = setting(editing, undefined);
  if (canEdit && editing.value === 'name')
    return (
      <>
        <h1 class="sr-only">{titleOf(run)}</h1>
        <LineField
          class="grow"
          label={t('Name of the run')}
          placeholder={importOf(run)?.name ?? run.projectName}
          text={run.name ?? ''}
          onCancel={close}
          onDone={async (name) => {
            await makeChanges([renaming(target, name === '' ? undefined : name)]);
            close();
          }}
        />
      </>
    );
  return (
    <>
      <h1 dir="auto">{titleOf(run)}</h1>
      {canEdit && (
        <IconButton
          icon="edit"
          label={t('Rename')}
          title={t('Rename')}
          onClick={setting(editing, 'name')}
        />
      )}
    </>
  );
}

function Description(props: EditProps & { readonly text: string | null }): JSX.Element | null {
  const { canEdit, editing, target, text } = props;
  const close = setting(editing, undefined);
  if (canEdit && editing.value === 'description')
    return (
      <LineField
        label={t('Description of the run')}
        placeholder={t('What the run is about')}
        maxLength={65_536}
        text={text ?? ''}
        onCancel={close}
        onDone={async (said) => {
          await makeChanges([describing(target, said === '' ? undefined : said)]);
          close();
        }}
      />
    );
  if (text === null) return null;
  return (
    <p class="run-description muted row gap-6">
      <span class="breakable" dir="auto">
        {text}
      </span>
      {canEdit && (
        <IconButton
          icon="edit"
          label={t('Change the description')}
          title={t('Change the description')}
          onClick={setting(editing, 'description')}
        />
      )}
    </p>
  );
}

/** How the run ended, where that is not as it was meant to: before anything else that is said of it. */
function Outcome({ feed }: { readonly feed: RunFeed }): JSX.Element | null {
  const outcome = runOutcome(feed);
  if (outcome === undefined) return null;
  return (
    <p class={`run-outcome strip ${outcome.isFailure ? 'tone-bad' : 'tone-paused'}`}>
      <Icon name="warning" />
      <span class="breakable">
        <strong>{outcome.text}</strong>
        {outcome.reason !== undefined && <span dir="auto">: {outcome.reason}</span>}
      </span>
    </p>
  );
}

function HeadActions(
  props: HeadProps & {
    readonly resumeHref: string | undefined;
    readonly target: ChangeTarget;
    readonly isThere: boolean;
  },
): JSX.Element {
  const { feed, isThere, resumeHref, target } = props;
  return (
    <span class="row wrap gap-8 push">
      <ReportButton feed={feed} />
      {isThere && deletionRefusal(target.store) === undefined && (
        <RunActions
          target={target}
          isLive={feed.status === 'running'}
          isArchived={feed.archivedAtMs !== undefined}
        />
      )}
      {isThere && resumeHref !== undefined && (
        <ButtonLink isPrimary href={resumeHref}>
          <Icon name="play" /> {t('Resume')}
        </ButtonLink>
      )}
    </span>
  );
}
