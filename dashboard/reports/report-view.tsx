/** One report: read, and edited where it is shown. */
import { useSignal, type Signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useMemo } from 'preact/hooks';
import type { Store } from 'quark-sdk';
import {
  freezeReport,
  type ReportBlock,
  type StoredReport,
  type WrittenReport,
} from 'quark-sdk/workspace';
import { makeChanges } from '../changes/page-changes.ts';
import { editRefusal } from '../changes/rights.ts';
import { downloadName, saveBlob } from '../charts/save/save-file.ts';
import { useActions } from '../parts/actions.ts';
import { Button, CopyButton } from '../parts/controls.tsx';
import { errorText, Warning } from '../parts/notices.tsx';
import { toggling } from '../parts/signals.ts';
import { runTask } from '../parts/tasks.ts';
import { t } from '../parts/t.ts';
import { hrefOf } from '../route/route.ts';
import { BlockEditor } from './block-editor.tsx';
import { deletingReport } from './report-acts.ts';
import { pageText } from './page-text.ts';
import { BlockView } from './report-blocks.tsx';
import { ReportDraft } from './report-draft.ts';

const NEW_BLOCKS = (): readonly { readonly title: string; readonly block: ReportBlock }[] => [
  { title: t('Add text'), block: { kind: 'text', text: '' } },
  { title: t('Add a chart'), block: { kind: 'chart', metric: 'train/loss', where: '' } },
  {
    title: t('Add a table of runs'),
    block: { kind: 'runs', where: '', columns: ['status', 'startedAt'] },
  },
];

/** The page of a report. */
export function ReportView(props: {
  readonly store: Store;
  readonly project: string;
  readonly stored: StoredReport;
}): JSX.Element {
  const { project, store, stored } = props;
  const draft = useMemo(() => new ReportDraft(store, project, stored), [stored]);
  const isWriting = useSignal(false);
  const refusal = editRefusal(store, project);
  const failure = useSignal<unknown>(undefined);
  const exportFile = async (): Promise<void> => {
    failure.value = undefined;
    try {
      await exportReport(store, project, draft.written.peek());
    } catch (error) {
      failure.value = error;
    }
  };
  useReport(draft, refusal === undefined, () => void exportFile());
  return (
    <div class="page report-page column gap-12">
      <header class="page-head">
        <p class="crumb">
          <a href={hrefOf({ kind: 'reports' })}>{t('Reports')}</a> · {project}
        </p>
        <ReportHead
          draft={draft}
          isWriting={isWriting}
          canWrite={refusal === undefined}
          onExport={() => void exportFile()}
          onDelete={() => {
            void makeChanges([
              deletingReport(store, project, { id: stored.id, name: stored.name }),
            ]);
            location.hash = hrefOf({ kind: 'reports' });
          }}
        />
        {refusal !== undefined && <p class="page-sub">{refusal}</p>}
      </header>
      <SaveNotice draft={draft} />
      {failure.value !== undefined && <Warning isError>{errorText(failure.value)}</Warning>}
      <div class="report-body column gap-12">
        <Blocks store={store} project={project} draft={draft} isWriting={isWriting.value} />
      </div>
      {isWriting.value && (
        <div class="row wrap gap-8">
          {NEW_BLOCKS().map((one) => (
            <Button key={one.title} isSmall onClick={() => draft.add(one.block)}>
              {one.title}
            </Button>
          ))}
        </div>
      )}
    </div>
  );
}

/** Saves a file of what the report shows now. */
function exportReport(store: Store, project: string, written: WrittenReport): Promise<void> {
  return runTask(t('Reading the runs of the report'), async () => {
    const [{ writtenReportHtml }, frozen] = await Promise.all([
      import('quark-sdk/analysis'),
      freezeReport({ store, project, ...pageText() }, written),
    ]);
    const html = await writtenReportHtml(frozen);
    saveBlob(downloadName([written.title], 'html'), new Blob([html], { type: 'text/html' }));
  });
}

/** The actions of a report, and a warning before the tab is closed that has changes. */
function useReport(draft: ReportDraft, canWrite: boolean, onExport: () => void): void {
  useActions(() => [
    {
      id: 'report.export',
      title: t('Export the report as HTML'),
      section: t('Report'),
      run: onExport,
    },
    ...(canWrite
      ? [
          {
            id: 'report.save',
            title: t('Save the report'),
            section: t('Report'),
            keys: 'ctrl+s',
            run: () => void draft.save(),
          },
        ]
      : []),
  ]);
  useEffect(() => {
    const warn = (event: BeforeUnloadEvent): void => {
      if (draft.state.peek().kind !== 'saved') event.preventDefault();
    };
    addEventListener('beforeunload', warn);
    return () => removeEventListener('beforeunload', warn);
  }, [draft]);
}

function ReportHead(props: {
  readonly draft: ReportDraft;
  readonly isWriting: Signal<boolean>;
  readonly canWrite: boolean;
  readonly onExport: () => void;
  readonly onDelete: () => void;
}): JSX.Element {
  const { canWrite, draft, isWriting } = props;
  const { title } = draft.written.value;
  return (
    <div class="row wrap spread gap-10">
      {isWriting.value ? (
        <input
          class="report-title grow"
          type="text"
          maxLength={200}
          aria-label={t('Title of the report')}
          value={title}
          onInput={({ currentTarget }) => draft.setTitle(currentTarget.value)}
        />
      ) : (
        <h1 class="breakable">{title}</h1>
      )}
      <span class="row wrap gap-8">
        {canWrite && (
          <Button isSmall onClick={toggling(isWriting)}>
            {isWriting.value ? t('Read') : t('Write')}
          </Button>
        )}
        {canWrite && draft.state.value.kind !== 'saved' && (
          <Button isSmall isPrimary onClick={() => void draft.save()}>
            {t('Save')}
          </Button>
        )}
        {canWrite && draft.state.value.kind === 'saved' && (
          <Button isSmall onClick={props.onDelete}>
            {t('Delete')}
          </Button>
        )}
        <Button isSmall onClick={props.onExport}>
          {t('Export as HTML')}
        </Button>
        <CopyButton text={location.href} label={t('Copy the link')} />
      </span>
    </div>
  );
}

function Blocks(props: {
  readonly store: Store;
  readonly project: string;
  readonly draft: ReportDraft;
  readonly isWriting: boolean;
}): JSX.Element {
  const { draft, project, store } = props;
  const { blocks } = draft.written.value;
  if (blocks.length === 0) return <p class="nothing">{t('Nothing is written yet.')}</p>;
  return (
    <>
      {blocks.map((block, at) => (
        // oxlint-disable-next-line react/no-array-index-key -- a block has no name but its position
        <section key={at} class="report-block">
          {props.isWriting && (
            <BlockEditor
              // Another block at this position has other fields.
              key={`${at} ${draft.moves.value}`}
              store={store}
              project={project}
              block={block}
              number={at + 1}
              onChange={(changed) => draft.replace(at, changed)}
              onUp={at === 0 ? undefined : () => draft.move(at, at - 1)}
              onDown={at === blocks.length - 1 ? undefined : () => draft.move(at, at + 1)}
              onRemove={() => draft.remove(at)}
              onFailure={(error) => {
                draft.state.value = { kind: 'failed', error };
              }}
            />
          )}
          <BlockView store={store} project={project} block={block} />
        </section>
      ))}
    </>
  );
}

function SaveNotice({ draft }: { readonly draft: ReportDraft }): JSX.Element | null {
  const state = draft.state.value;
  if (state.kind === 'failed') return <Warning isError>{errorText(state.error)}</Warning>;
  if (state.kind !== 'conflict') return null;
  const { theirs } = state;
  return (
    <Warning isError>
      {theirs === null
        ? t('Somebody has deleted this report meanwhile.')
        : t('Somebody has saved this report meanwhile: nothing was overwritten.')}{' '}
      {theirs !== null && (
        <Button isSmall onClick={() => draft.take(theirs)}>
          {t('Show theirs, without my changes')}
        </Button>
      )}{' '}
      <Button isSmall onClick={() => void draft.overwrite(theirs)}>
        {t('Save mine over it')}
      </Button>
    </Warning>
  );
}
