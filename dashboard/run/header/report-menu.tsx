/** The report of a run: read on the page, and saved as one HTML file or as Markdown. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { RunReport } from 'quark-sdk/analysis';
import { downloadName, saveBlob } from '../../charts/save/save-file.ts';
import { reportInWorker } from '../../dropped/analysis.ts';
import { useActions } from '../../parts/actions.ts';
import { Button, CopyButton } from '../../parts/controls.tsx';
import { usePromise } from '../../parts/hooks.ts';
import { Markdown } from '../../parts/markdown/markdown.tsx';
import { ErrorNotice, Waiting } from '../../parts/notices.tsx';
import { setting } from '../../parts/signals.ts';
import { t } from '../../parts/t.ts';
import { runTask } from '../../parts/tasks.ts';
import type { RunFeed } from '../../series/run-feed.ts';

/** The button, and the report while it is read. */
export function ReportButton({ feed }: { readonly feed: RunFeed }): JSX.Element {
  const isOpen = useSignal(false);
  useActions(() => [
    {
      id: 'run.report',
      title: t('Report of this run'),
      section: t('Run'),
      run: setting(isOpen, true),
    },
  ]);
  return (
    <>
      <Button isSmall onClick={setting(isOpen, true)}>
        {t('Report')}
      </Button>
      {isOpen.value && <ReportDialog feed={feed} onClose={setting(isOpen, false)} />}
    </>
  );
}

function ReportDialog(props: {
  readonly feed: RunFeed;
  readonly onClose: () => void;
}): JSX.Element {
  const { feed, onClose } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const { error, found, retry } = usePromise(feed.run.id, (runId) =>
    runTask(t('Writing the report'), () => reportInWorker(feed.reader.store, runId)),
  );
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog
      ref={dialog}
      class="report floating"
      aria-label={t('Report of this run')}
      onClose={onClose}
    >
      <header class="row wrap gap-6">
        <h2>{t('Report')}</h2>
        {found !== undefined && (
          <ReportFiles name={feed.run.name ?? feed.run.id} report={found.value} />
        )}
        <Button isSmall class="push" onClick={() => dialog.current?.close()}>
          {t('Close')}
        </Button>
      </header>
      <div class="report-text" tabIndex={0} role="region" aria-label={t('Report')}>
        {error !== undefined ? (
          <ErrorNotice title={t('The report cannot be written')} error={error} onRetry={retry} />
        ) : found === undefined ? (
          <Waiting label={t('Writing the report')} />
        ) : (
          <Markdown text={found.value.markdown} topLevel={2} />
        )}
      </div>
    </dialog>
  );
}

function ReportFiles(props: { readonly name: string; readonly report: RunReport }): JSX.Element {
  const { name, report } = props;
  const save = (extension: 'html' | 'md', text: string, type: string) => (): void =>
    saveBlob(
      downloadName([name, 'report'], extension),
      new Blob([text], { type: `${type};charset=utf-8` }),
    );
  return (
    <>
      <Button
        isSmall
        title={t('One file with plots, which fetches nothing')}
        onClick={save('html', report.html, 'text/html')}
      >
        {t('Save as HTML')}
      </Button>
      <Button isSmall onClick={save('md', report.markdown, 'text/markdown')}>
        {t('Save as Markdown')}
      </Button>
      <CopyButton text={report.markdown} label={t('Copy as Markdown')} />
    </>
  );
}
