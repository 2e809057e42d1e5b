/** The frame around every view: header, source, theme, and the view that the address names. */
import { useSignal, useSignalEffect, type Signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { isQuarkError, openRun, type Store } from 'quark-sdk';
import { Icon, Logo } from '../parts/icons.tsx';
import { ComparePage } from '../compare/compare-view.tsx';
import { ErrorNotice, Segmented } from '../parts/parts.tsx';
import { RunList } from '../runs/run-list.tsx';
import { RunPage } from '../run/run-page.tsx';
import { route } from '../route/location.ts';
import { hrefOf, type Route } from '../route/route.ts';
import { AccountMenu } from './account-menu.tsx';
import { KeyForm } from './key-form.tsx';
import { signOut, waitsForKey } from '../sources/server-access.ts';
import {
  BROWSER_URI,
  chooseSource,
  source,
  sources,
  storeAt,
  storeMark,
} from '../sources/sources.ts';
import { DropZone } from '../dropped/drop-zone.tsx';
import { ImportDock } from '../dropped/import-dock.tsx';
import { nextTheme, themeChoice, type ThemeChoice } from '../theme/theme.ts';
import { LazyView } from '../parts/lazy-view.tsx';
import type { TrainPage } from './train-page.ts';

/** The whole page. */
export function App({ trainPage }: { readonly trainPage: TrainPage }): JSX.Element {
  useSignalEffect(() => {
    document.title = titleOf(route.value);
  });
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
        Skip to content
      </a>
      <Header isTraining={trainPage.isTraining.value} />
      <main id="main" tabIndex={-1}>
        <View trainPage={trainPage} />
      </main>
      <ImportDock />
      <DropZone />
    </>
  );
}

function titleOf(place: Route): string {
  switch (place.kind) {
    case 'runs':
      return 'Runs · Quark';
    case 'run':
      return `${place.runId} · Quark`;
    case 'compare':
      return 'Comparison · Quark';
    case 'train':
      return 'Train · Quark';
    case 'unknown':
      return 'Quark';
  }
}

const THEME_ICONS = { system: 'auto', light: 'sun', dark: 'moon' } as const;

function Header({ isTraining }: { readonly isTraining: boolean }): JSX.Element {
  const place = route.value.kind;
  const theme: ThemeChoice = themeChoice.value;
  return (
    <header class="header">
      <a class="brand" href={hrefOf({ kind: 'runs' })} aria-label="Quark, all runs">
        <Logo />
        <span>Quark</span>
      </a>
      <nav aria-label="Pages">
        <a
          href={hrefOf({ kind: 'runs' })}
          aria-current={place === 'train' || place === 'unknown' ? undefined : 'page'}
        >
          Runs
        </a>
        <a
          href={hrefOf({ kind: 'train', resumeRunId: undefined })}
          aria-current={place === 'train' ? 'page' : undefined}
        >
          Train
          {isTraining && (
            <span class="nav-live">
              <span class="sr-only">, under way</span>
            </span>
          )}
        </a>
      </nav>
      <span class="header-space" />
      {sources.value.length > 1 && place !== 'train' && (
        <Segmented
          label="Where runs are read from"
          options={sources.value.map(({ id, label, hint }) => ({ value: id, label, hint }))}
          value={source.value?.id ?? 'browser'}
          onChange={chooseSource}
        />
      )}
      {source.value?.id === 'server' && place !== 'train' && <AccountMenu />}
      <button
        type="button"
        class="icon-button theme-button"
        aria-label={`Theme: ${theme}. Change to ${nextTheme(theme)}.`}
        title={`Theme: ${theme}`}
        onClick={() => {
          themeChoice.value = nextTheme(theme);
        }}
      >
        <Icon name={THEME_ICONS[theme]} />
      </button>
    </header>
  );
}

function View({ trainPage }: { readonly trainPage: TrainPage }): JSX.Element {
  const place = route.value;
  switch (place.kind) {
    case 'runs':
      return (
        <WithStore uri={source.value?.uri}>
          {(store) => (
            <RunList
              key={storeMark(source.value?.uri)}
              store={store}
              sourceId={source.value?.id ?? 'browser'}
            />
          )}
        </WithStore>
      );
    case 'run':
      return (
        <WithStore uri={source.value?.uri}>
          {(store) => (
            <RunPage
              key={`${storeMark(source.value?.uri)} ${place.runId}`}
              store={store}
              runId={place.runId}
              view={place.view}
              resumeHref={({ run, status }) =>
                status === 'interrupted' &&
                source.value?.id === 'browser' &&
                trainPage.canResume(run)
                  ? hrefOf({ kind: 'train', resumeRunId: run.id })
                  : undefined
              }
              otherSource={<OtherSource runId={place.runId} />}
            />
          )}
        </WithStore>
      );
    case 'compare':
      return (
        <WithStore uri={source.value?.uri}>
          {(store) => (
            <ComparePage key={storeMark(source.value?.uri)} store={store} runIds={place.runIds} />
          )}
        </WithStore>
      );
    case 'train':
      return (
        <WithStore uri={BROWSER_URI}>
          {(store) => (
            <LazyView load={trainPage.load} of={{ store, resumeRunId: place.resumeRunId }} />
          )}
        </WithStore>
      );
    case 'unknown':
      return (
        <section class="notice">
          <div>
            <h2>There is nothing here</h2>
            <p>The address names no page.</p>
            <div class="notice-actions">
              <a class="button" href={hrefOf({ kind: 'runs' })}>
                All runs
              </a>
            </div>
          </div>
        </section>
      );
  }
}

/** A run that is not in this place may be in another one: goes there if it is, else offers to look. */
function OtherSource({ runId }: { readonly runId: string }): JSX.Element {
  const others = sources.value.filter((one) => one.id !== source.value?.id);
  const uris = others.map(({ uri }) => uri).join(' ');
  useEffect(() => {
    let isCurrent = true;
    for (const other of others) {
      storeAt(other.uri)
        .then((store) => openRun(store, runId))
        .then(
          () => {
            if (isCurrent) chooseSource(other.id);
          },
          // Not there either, or the place cannot be read: the person may still want to look.
          () => undefined,
        );
    }
    return () => {
      isCurrent = false;
    };
  }, [uris, runId]);
  return (
    <>
      {others.map(({ id, label }) => (
        <button key={id} type="button" class="button" onClick={() => chooseSource(id)}>
          Look in: {label}
        </button>
      ))}
    </>
  );
}

/** Opens the store of a source and shows what is inside, or why it cannot be opened. */
function WithStore(props: {
  readonly uri: string | undefined;
  readonly children: (store: Store) => JSX.Element;
}): JSX.Element {
  const opened: Signal<{ mark: string; store: Store } | undefined> = useSignal(undefined);
  const error = useSignal<unknown>(undefined);
  const attempt = useSignal(0);
  const { uri } = props;
  const mark = storeMark(uri);
  const isWaiting = waitsForKey(uri);
  useEffect(() => {
    if (uri === undefined || isWaiting) return undefined;
    let isCurrent = true;
    error.value = undefined;
    storeAt(uri).then(
      (store) => {
        if (isCurrent) opened.value = { mark, store };
      },
      (failure: unknown) => {
        if (!isCurrent) return;
        // A key that was good once: revoked, or at its end.
        if (isQuarkError(failure) && failure.details['status'] === 401) signOut(failure.message);
        else error.value = failure;
      },
    );
    return () => {
      isCurrent = false;
    };
  }, [mark, isWaiting, attempt.value]);
  if (isWaiting) return <KeyForm />;
  if (error.value !== undefined) {
    return (
      <ErrorNotice
        title="The storage cannot be opened"
        error={error.value}
        onRetry={() => {
          attempt.value += 1;
        }}
      />
    );
  }
  if (opened.value === undefined || opened.value.mark !== mark) {
    return <div class="page" aria-busy="true" aria-label="Opening the storage" />;
  }
  return props.children(opened.value.store);
}
