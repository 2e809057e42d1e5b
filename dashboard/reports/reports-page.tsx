/** The reports of all projects of a store, and one of them. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { Store } from 'quark-sdk';
import { listReports, readReport, saveReport, type DocumentHeader } from 'quark-sdk/workspace';
import { editRefusal } from '../changes/rights.ts';
import { makeChanges } from '../changes/page-changes.ts';
import { Button, IconButton } from '../parts/controls.tsx';
import { usePolling, usePromise } from '../parts/hooks.ts';
import { ErrorNotice, errorText, Waiting, Warning } from '../parts/notices.tsx';
import { t } from '../parts/t.ts';
import { hrefOf } from '../route/route.ts';
import { deletingReport } from './report-acts.ts';
import { ReportView } from './report-view.tsx';
import './style.css';

/** How often the list is read again. */
const LIST_POLL_MS = 30_000;

/** The list, or the report that the address names. */
export default function ReportsPage(props: {
  readonly store: Store;
  readonly at: { readonly project: string; readonly id: string } | undefined;
}): JSX.Element {
  const { at, store } = props;
  return at === undefined ? <ReportList store={store} /> : <OneReport store={store} {...at} />;
}

function OneReport(props: {
  readonly store: Store;
  readonly project: string;
  readonly id: string;
}): JSX.Element {
  const { id, project, store } = props;
  const { error, found, retry } = usePromise(`${project} ${id}`, async () => ({
    stored: await readReport(store, project, id),
  }));
  if (error !== undefined)
    return (
      <ErrorNotice isPage title={t('The report cannot be read')} error={error} onRetry={retry} />
    );
  if (found === undefined) return <Waiting label={t('Reading the report')} />;
  const { stored } = found.value;
  if (stored === undefined)
    return (
      <ErrorNotice
        isPage
        title={t('This report is not here')}
        error={t('There is no such report in the project {project}.', { project })}
      />
    );
  return <ReportView store={store} project={project} stored={stored} />;
}

type Listed = { readonly project: string; readonly reports: readonly DocumentHeader[] };

async function readAll(store: Store): Promise<readonly Listed[]> {
  const projects = await store.listProjects();
  return Promise.all(
    projects.map(async ({ name }) => ({ project: name, reports: await listReports(store, name) })),
  );
}

function ReportList({ store }: { readonly store: Store }): JSX.Element {
  const found = useSignal<readonly Listed[] | undefined>(undefined);
  // Also after each change on the page, and after it was undone.
  const { error, retry } = usePolling(
    async () => {
      found.value = await readAll(store);
    },
    () => LIST_POLL_MS,
    [store.uri],
  );
  const projects = found.value;
  if (error.value !== undefined && projects === undefined)
    return (
      <ErrorNotice
        isPage
        title={t('The reports cannot be read')}
        error={error.value}
        onRetry={retry}
      />
    );
  if (projects === undefined) return <Waiting label={t('Reading the reports')} />;
  const refusal = editRefusal(store);
  const writable = projects
    .map(({ project }) => project)
    .filter((project) => editRefusal(store, project) === undefined);
  return (
    <div class="page column gap-12">
      <header class="page-head">
        <h1>{t('Reports')}</h1>
        {refusal !== undefined && <p class="page-sub">{refusal}</p>}
      </header>
      {refusal === undefined && writable.length > 0 && (
        <NewReport store={store} projects={writable} />
      )}
      {projects
        .filter(({ reports }) => reports.length > 0)
        .map(({ project, reports }) => (
          <section key={project} class="card report-list">
            <h2 class="breakable">{project}</h2>
            <ul class="ruled">
              {reports.map((report) => (
                <ReportLine
                  key={report.id}
                  store={store}
                  project={project}
                  report={report}
                  canDelete={refusal === undefined}
                />
              ))}
            </ul>
          </section>
        ))}
      {projects.every(({ reports }) => reports.length === 0) && (
        <p class="nothing">{t('There is no report yet.')}</p>
      )}
    </div>
  );
}

function ReportLine(props: {
  readonly store: Store;
  readonly project: string;
  readonly report: DocumentHeader;
  readonly canDelete: boolean;
}): JSX.Element {
  const { project, report, store } = props;
  const { author, id, name, updatedAtMs } = report;
  return (
    <li class="row wrap spread gap-10">
      <a class="breakable" href={hrefOf({ kind: 'reports', report: { project, id } })}>
        {name}
      </a>
      <span class="row gap-8 quiet small">
        {author === null ? '' : `${author} · `}
        {new Date(updatedAtMs).toLocaleString()}
        {props.canDelete && (
          <IconButton
            icon="trash"
            label={t('Delete the report {title}', { title: name })}
            onClick={() => void makeChanges([deletingReport(store, project, report)])}
          />
        )}
      </span>
    </li>
  );
}

function NewReport(props: {
  readonly store: Store;
  readonly projects: readonly string[];
}): JSX.Element {
  const project = useSignal(props.projects[0] ?? '');
  const failure = useSignal<unknown>(undefined);
  const make = async (): Promise<void> => {
    try {
      const made = await saveReport(props.store, project.value, {
        title: t('Untitled report'),
        blocks: [{ kind: 'text', text: '' }],
      });
      if (made.kind === 'updated')
        location.hash = hrefOf({
          kind: 'reports',
          report: { project: project.value, id: made.report.id },
        });
    } catch (error) {
      failure.value = error;
    }
  };
  return (
    <>
      <div class="row wrap gap-8">
        <label class="row gap-8">
          <span class="quiet small">{t('Project')}</span>
          <select
            value={project.value}
            onChange={({ currentTarget }) => (project.value = currentTarget.value)}
          >
            {props.projects.map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <Button isSmall isPrimary onClick={() => void make()}>
          {t('New report')}
        </Button>
      </div>
      {failure.value !== undefined && <Warning isError>{errorText(failure.value)}</Warning>}
    </>
  );
}
