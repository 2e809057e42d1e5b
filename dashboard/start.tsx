/** Starts the page. */
import { render } from 'preact';
import './theme/tokens.css';
import './theme/base.css';
import './parts/style.css';
import { App } from './app/app.tsx';
import type { TrainPage } from './app/train-page.ts';
import { startLanguage } from './languages/language.ts';
import { followKeys } from './parts/actions.ts';
import { followLocation } from './route/location.ts';
import { findSources } from './sources/sources.ts';
import { sendUnsentRuns } from './sources/unsent-runs.ts';
import { followTheme } from './theme/theme.ts';

/** Shows the page in the element `app` of the document, and follows the address from then on. */
export function startPage(trainPage: TrainPage): void {
  followTheme();
  followLocation();
  followKeys();
  void findSources(async (index, at) =>
    (await import('./gallery/gallery-store.ts')).openGallery(index, at),
  );
  const show = (): void => {
    const root = document.getElementById('app');
    if (root !== null) render(<App trainPage={trainPage} />, root);
  };
  const waiting = startLanguage();
  if (waiting === undefined) show();
  else void waiting.then(show);
  sendUnsentRuns();
}
