/** The frame around every view: header, source, theme, and the view that the address names. */
import { useSignalEffect } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { isQuarkError, type Store } from 'quark-sdk';
import { ChangeStrip } from '../changes/change-strip.tsx';
import { DeleteQuestion } from '../changes/delete-question.tsx';
import { DropZone } from '../dropped/drop-zone.tsx';
import { ImportDock } from '../dropped/import-dock.tsx';
import { ButtonLink, IconButton, Segmented } from '../parts/controls.tsx';
import { usePromise } from '../parts/hooks.ts';
import { Logo } from '../parts/icons.tsx';
import { LazyView } from '../parts/lazy-view.tsx';
import { ErrorNotice } from '../parts/notices.tsx';
import { setting } from '../parts/signals.ts';
import { t } from '../parts/t.ts';
import { whenQuiet } from '../parts/turns.ts';
import { frameSettings, type FrameSettings } from '../route/frame-settings.ts';
import { route } from '../route/location.ts';
import { hrefOf, type PageRoute } from '../route/route.ts';
import { RunList } from '../runs/run-list.tsx';
import { signOut, waitsForKey } from '../sources/server-access.ts';
import {
  BROWSER_URI,
  chooseSource,
  isGallery,
  source,
  sources,
  storeAt,
  storeMark,
} from '../sources/sources.ts';
import { nextTheme, themeChoice } from '../theme/theme.ts';
import { AccountMenu } from './account-menu.tsx';
import { KeyForm } from './key-form.tsx';
import { keyWords } from './key-words.ts';
import { openPalette, PageKeys } from './page-keys.tsx';
import { PageFoot } from './page-foot.tsx';
import { StatusLine } from './status-line.tsx';
import type { TrainPage } from './train-page.ts';
import './style.css';

/** How long after the first runs the code of their page is loaded, in milliseconds. */
const AHEAD_MS = 1_000;

/** The whole page. */
export function App({ trainPage }: { readonly trainPage: TrainPage }): JSX.Element {
  useSignalEffect(() => {
    document.title = titleOf(route.value);
  });
  useSignalEffect(() => {
    // Dropped files need no network: what shows them is loaded with the first of them.
    if (!sources.value.some(({ id }) => id === 'files')) return;
    const loadComparison = async (): Promise<void> => (await loadComparePage()).loadTabs();
    for (const load of [loadRunPage, loadComparison, ...LIST_OF_FILES])
      load().catch(() => undefined);
  });
  if (frameSettings !== undefined)
    return (
      <main id="main">
        <Framed of={frameSettings} />
      </main>
    );
  return (
    <>
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          document.getElementById('main')?.focus();
        }}
      >
        {t('Skip to content')}
      </a>
      <Header isTraining={trainPage.isTraining.value} />
      <main id="main" tabIndex={-1}>
        <View trainPage={trainPage} />
      </main>
      <PageFoot />
      <StatusLine />
      <ChangeStrip />
      <DeleteQuestion />
      <ImportDock />
      <DropZone />
      <PageKeys />
    </>
  );
}

const TITLES = {
  runs: () => `${t('Runs')} · `,
  compare: () => `${t('Comparison')} · `,
  reports: () => `${t('Reports')} · `,
  train: () => `${t('Train')} · `,
  unknown: () => '',
} as const;

function titleOf(shown: PageRoute): string {
  return `${shown.kind === 'run' ? `${shown.runId} · ` : TITLES[shown.kind]()}Quark`;
}

const THEME_NAMES = {
  system: () => t('system'),
  light: () => t('light'),
  dark: () => t('dark'),
} as const;
const THEME_ICONS = { system: 'auto', light: 'sun', dark: 'moon' } as const;

function Header({ isTraining }: { readonly isTraining: boolean }): JSX.Element {
  const { kind } = route.value;
  const theme = themeChoice.value;
  // Until it is known where runs can be read from, there may be more than one source.
  const isSingle = source.value !== undefined && (sources.value.length === 1 || kind === 'train');
  return (
    <header class={isSingle ? 'header is-single' : 'header'}>
      <a class="brand inline" href={hrefOf({ kind: 'runs' })} aria-label={t('Quark, all runs')}>
        <Logo />
        <span>Quark</span>
      </a>
      <PageLinks isTraining={isTraining} />
      <span class="header-space grow" />
      {sources.value.length > 1 && kind !== 'train' && (
        <Segmented
          label={t('Where runs are read from')}
          options={sources.value.map(({ id, label, hint }) => ({ value: id, label, hint }))}
          value={source.value?.id ?? 'browser'}
          onChange={chooseSource}
        />
      )}
      {source.value?.id === 'server' && kind !== 'train' && <AccountMenu />}
      <IconButton
        class="palette-button"
        icon="search"
        label={t('Find an action or a run')}
        title={`${t('Find an action or a run')} (${keyWords('ctrl+k')})`}
        onClick={openPalette}
      />
      <IconButton
        class="theme-button"
        icon={THEME_ICONS[theme]}
        label={t('Theme: {theme}. Change to {next}.', {
          theme: THEME_NAMES[theme](),
          next: THEME_NAMES[nextTheme(theme)](),
        })}
        title={t('Theme: {theme}', { theme: THEME_NAMES[theme]() })}
        onClick={setting(themeChoice, nextTheme(theme))}
      />
    </header>
  );
}

function PageLinks({ isTraining }: { readonly isTraining: boolean }): JSX.Element {
  const { kind } = route.value;
  return (
    <nav class="tab-links" aria-label={t('Pages')}>
      <a
        href={hrefOf({ kind: 'runs' })}
        aria-current={['train', 'reports', 'unknown'].includes(kind) ? undefined : 'page'}
      >
        {t('Runs')}
      </a>
      {!isGallery.value && (
        <a
          href={hrefOf({ kind: 'reports' })}
          aria-current={kind === 'reports' ? 'page' : undefined}
        >
          {t('Reports')}
        </a>
      )}
      {!isGallery.value && (
        <a
          href={hrefOf({ kind: 'train', resumeRunId: undefined })}
          aria-current={kind === 'train' ? 'page' : undefined}
        >
          {t('Train')}
          {isTraining && (
            <span class="nav-live">
              <span class="sr-only">{t(', under way')}</span>
            </span>
          )}
        </a>
      )}
    </nav>
  );
}

const loadRunPage = (): Promise<typeof import('../run/run-page.tsx')> =>
  import('../run/run-page.tsx');
/** Where people go from a list: the code of its page is there when they do. */
function loadAhead(): void {
  void whenQuiet().then(() =>
    setTimeout(() => void loadRunPage().catch(() => undefined), AHEAD_MS),
  );
}
const loadOtherSource = (): Promise<typeof import('./other-source.tsx')> =>
  import('./other-source.tsx');
const loadComparePage = (): Promise<typeof import('../compare/page/compare-view.tsx')> =>
  import('../compare/page/compare-view.tsx');

/** What a list of dropped runs shows that the list of a server does not need at once. */
const LIST_OF_FILES = [
  () => import('../compare/one-chart.tsx'),
  () => import('../runs/model/curve-reading.ts'),
];

/** The page that the address names. */
function View({ trainPage }: { readonly trainPage: TrainPage }): JSX.Element {
  const shown = route.value;
  const { uri, id = 'browser' } = source.value ?? {};
  const mark = storeMark(uri);
  if (shown.kind === 'unknown')
    return (
      <section class="notice">
        <div>
          <h1>{t('There is nothing here')}</h1>
          <p>{t('The address names no page.')}</p>
          <ButtonLink href={hrefOf({ kind: 'runs' })}>{t('All runs')}</ButtonLink>
        </div>
      </section>
    );
  return (
    <WithStore uri={shown.kind === 'train' ? BROWSER_URI : uri}>
      {(store) => {
        switch (shown.kind) {
          case 'runs':
            return <RunList key={mark} store={store} sourceId={id} onShown={loadAhead} />;
          case 'run':
            return (
              <LazyView
                key={`${mark} ${shown.runId}`}
                load={loadRunPage}
                of={{
                  store,
                  runId: shown.runId,
                  view: shown.view,
                  resumeHref: ({ run, status }) =>
                    status === 'interrupted' && id === 'browser' && trainPage.canResume(run)
                      ? hrefOf({ kind: 'train', resumeRunId: run.id })
                      : undefined,
                  otherSource: <LazyView load={loadOtherSource} of={{ runId: shown.runId }} />,
                }}
              />
            );
          case 'compare':
            return (
              <LazyView key={mark} load={loadComparePage} of={{ store, runIds: shown.runIds }} />
            );
          case 'reports':
            return (
              <LazyView
                key={`${mark} ${hrefOf(shown)}`}
                load={loadReports}
                of={{ store, at: shown.report }}
              />
            );
          case 'train':
            return (
              <LazyView load={trainPage.load} of={{ store, resumeRunId: shown.resumeRunId }} />
            );
        }
      }}
    </WithStore>
  );
}

const loadReports = (): Promise<typeof import('../reports/reports-page.tsx')> =>
  import('../reports/reports-page.tsx');
const loadEmbedded = (): Promise<typeof import('../embed/embedded-page.tsx')> =>
  import('../embed/embedded-page.tsx');

/** The page within another page, which shows a run and asks for no key: who sees it cannot tell whose page asks. */
function Framed({ of }: { readonly of: FrameSettings }): JSX.Element {
  const { uri } = source.value ?? {};
  const shown = route.value;
  if (waitsForKey(uri))
    return (
      <ErrorNotice
        isPage
        title={t('This service asks for a key')}
        error={t('Open the run in Quark to give one.')}
      />
    );
  return (
    <WithStore uri={uri}>
      {(store) => (
        <LazyView
          load={loadEmbedded}
          of={{ store, of, runId: shown.kind === 'run' ? shown.runId : undefined }}
        />
      )}
    </WithStore>
  );
}

/** Opens the store of a source and shows what is inside, or why it cannot be opened. */
function WithStore(props: {
  readonly uri: string | undefined;
  readonly children: (store: Store) => JSX.Element;
}): JSX.Element {
  const { uri } = props;
  const mark = storeMark(uri);
  const isWaiting = waitsForKey(uri);
  const opening = usePromise(isWaiting || uri === undefined ? undefined : mark, () =>
    storeAt(uri ?? ''),
  );
  const { error } = opening;
  // A key that was good once: revoked, or at its end.
  const isSignedOut = isQuarkError(error) && error.details['status'] === 401;
  useEffect(() => {
    if (isSignedOut) signOut(error.message);
  }, [isSignedOut]);
  if (isWaiting) return <KeyForm />;
  if (error !== undefined && !isSignedOut) {
    const { retry } = opening;
    return (
      <ErrorNotice isPage title={t('The storage cannot be opened')} error={error} onRetry={retry} />
    );
  }
  if (opening.found?.input !== mark)
    return <div class="page" role="group" aria-busy="true" aria-label={t('Opening the storage')} />;
  return props.children(opening.found.value);
}
