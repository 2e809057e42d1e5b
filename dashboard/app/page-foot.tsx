/** The lower end of every page: the keys, and the language. */
import type { JSX } from 'preact';
import { VERSION } from 'quark-sdk';
import { chooseLanguage, language, LANGUAGES } from '../languages/language.ts';
import { t } from '../parts/t.ts';
import { openKeyHelp } from './page-keys.tsx';

/** One quiet line. */
export function PageFoot(): JSX.Element {
  return (
    <footer class="page-foot quiet small row wrap gap-10">
      <span>Quark {VERSION}</span>
      <button type="button" class="link-button" onClick={openKeyHelp}>
        {t('Keys')} <kbd>?</kbd>
      </button>
      <span class="row gap-5" role="group" aria-label={t('Language')}>
        {Object.entries(LANGUAGES).map(([code, name]) => (
          <LanguageButton key={code} code={code} name={name} />
        ))}
      </span>
    </footer>
  );
}

function LanguageButton({
  code,
  name,
}: {
  readonly code: string;
  readonly name: string;
}): JSX.Element {
  return (
    <button
      type="button"
      class="link-button"
      lang={code}
      aria-pressed={code === language}
      onClick={() => chooseLanguage(code === 'de' ? 'de' : 'en')}
    >
      {name}
    </button>
  );
}
