/** Actions that every page has, and what they open: the command palette and the list of keys. */
import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { chooseLanguage, language, LANGUAGES } from '../languages/language.ts';
import { useActions, type PageAction } from '../parts/actions.ts';
import { LazyView } from '../parts/lazy-view.tsx';
import { setting } from '../parts/signals.ts';
import { t } from '../parts/t.ts';
import { hrefOf, type PageRoute } from '../route/route.ts';
import { chooseSource, source, sources, storeAt } from '../sources/sources.ts';
import { nextTheme, themeChoice } from '../theme/theme.ts';

const opened = signal<'palette' | 'keys' | undefined>(undefined);

/** Opens the command palette. */
export const openPalette: () => void = setting(opened, 'palette');

/** Shows the keys of the page. */
export const openKeyHelp: () => void = setting(opened, 'keys');

const close = setting(opened, undefined);
const loadPalette = (): Promise<typeof import('./palette.tsx')> => import('./palette.tsx');
const loadKeyHelp = (): Promise<typeof import('./key-help.tsx')> => import('./key-help.tsx');

/** The palette or the keys, while they are open. */
export function PageKeys(): JSX.Element | null {
  useActions(actionsOfEveryPage);
  if (opened.value === 'keys') return <LazyView load={loadKeyHelp} of={{ onClose: close }} />;
  if (opened.value === undefined) return null;
  const { uri } = source.value ?? {};
  return (
    <LazyView
      load={loadPalette}
      of={{ store: uri === undefined ? undefined : () => storeAt(uri), onClose: close }}
    />
  );
}

function actionsOfEveryPage(): readonly PageAction[] {
  const section = t('Everywhere');
  const goTo = (to: PageRoute) => () => {
    location.hash = hrefOf(to);
  };
  return [
    {
      id: 'palette',
      title: t('Find an action or a run'),
      section,
      keys: 'ctrl+k',
      run: openPalette,
    },
    { id: 'keys', title: t('Show the keys'), section, keys: '?', run: openKeyHelp },
    { id: 'runs', title: t('All runs'), section, run: goTo({ kind: 'runs' }) },
    {
      id: 'train',
      title: t('Train'),
      section,
      run: goTo({ kind: 'train', resumeRunId: undefined }),
    },
    {
      id: 'theme',
      title: t('Change the theme'),
      section,
      run: () => {
        themeChoice.value = nextTheme(themeChoice.peek());
      },
    },
    ...Object.entries(LANGUAGES)
      .filter(([code]) => code !== language)
      .map(([code, name]) => ({
        id: `language ${code}`,
        title: t('Change the language: {name}', { name }),
        section,
        run: () => chooseLanguage(code === 'de' ? 'de' : 'en'),
      })),
    ...sources.value
      .filter(({ id }) => id !== source.value?.id)
      .map(({ id, label }) => ({
        id: `source ${id}`,
        title: t('Read runs from: {source}', { source: label }),
        section,
        run: () => chooseSource(id),
      })),
  ];
}
