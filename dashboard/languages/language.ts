/** The language of the page: the one that was chosen in this browser, else the browser's own, else English. */
import { storedText } from '../parts/browser-storage.ts';
import { setCatalogue, type Catalogue } from '../parts/t.ts';

/** Languages by their codes, each in its own words. */
export const LANGUAGES = { en: 'English', de: 'Deutsch' } as const;

/** The code of a language of the page. */
export type Language = keyof typeof LANGUAGES;

const CATALOGUES: Readonly<
  Record<Exclude<Language, 'en'>, () => Promise<{ readonly default: Catalogue }>>
> = {
  de: () => import('./german.json'),
};

const stored = storedText('quark.language');

/** The language of this visit. */
export const language: Language = remembered();

/**
 * Has all texts come in the language of this visit. Undefined where they do already; otherwise the page waits before it is drawn. A
 * catalogue that cannot be loaded leaves the page in English.
 */
export function startLanguage(): Promise<void> | undefined {
  document.documentElement.lang = language;
  if (language === 'en') return undefined;
  return CATALOGUES[language]().then(
    ({ default: catalogue }) => setCatalogue(catalogue),
    () => {
      document.documentElement.lang = 'en';
    },
  );
}

/** Speaks this language from now on: the page is loaded again. */
export function chooseLanguage(chosen: Language): void {
  stored.set(chosen);
  location.reload();
}

function remembered(): Language {
  const wanted = stored.get() ?? (globalThis.navigator?.language ?? '').slice(0, 2);
  return isLanguage(wanted) ? wanted : 'en';
}

function isLanguage(text: string): text is Language {
  return Object.hasOwn(LANGUAGES, text);
}
