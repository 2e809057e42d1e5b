/** What is shown of a store without runs: the few lines that record the first one. */
import type { JSX } from 'preact';
import { hrefOf } from '../route/route.ts';
import type { SourceId } from '../sources/sources.ts';
import { FilePickers } from '../dropped/file-pickers.tsx';
import { ButtonLink } from '../parts/controls.tsx';
import { Snippet } from '../parts/notices.tsx';
import { ListChoice } from './list-choice.tsx';
import { t } from '../parts/t.ts';

const SNIPPET = `import { MetricsLogger, TrainingSession } from 'quark-sdk';

await TrainingSession.run({ project: 'my-model' }, async (session) => {
  const metrics = new MetricsLogger(session);
  for (let step = 0; step < 1000; step++) {
    const loss = await trainStep(step);
    metrics.log('train/loss', loss, { step });
  }
  await metrics.close();
});`;

/** Shown instead of an empty table. */
export function EmptyRuns(props: { readonly sourceId: SourceId }): JSX.Element {
  return (
    <div class="page empty">
      <div class="empty-words">
        {props.sourceId !== 'files' && <ListChoice />}
        <h1>{t('No runs yet')}</h1>
        <p>
          {props.sourceId === 'server'
            ? t('Nothing has been recorded here.')
            : t('Nothing has been recorded in this browser.')}{' '}
          {t(
            'Ten lines around your training loop change that; the run appears here while it trains.',
          )}
        </p>
        <p class="empty-actions row wrap">
          <ButtonLink isPrimary href={hrefOf({ kind: 'train', resumeRunId: undefined })}>
            {t('Train a small network here')}
          </ButtonLink>
          <span class="quiet">{t('Handwritten digits, about a minute, in this tab.')}</span>
        </p>
        <section class="empty-drop" aria-label={t('Training logs you have')}>
          <h2>{t('Or drop training logs you have')}</h2>
          <p>
            {t(
              'TensorBoard, W&B, MLflow, Hugging Face, Lightning, Keras, any CSV, JSON lines or text log: files or whole folders, anywhere on this page. They are read here and sent nowhere.',
            )}
          </p>
          <FilePickers />
        </section>
      </div>
      <Snippet title="train.js" code={SNIPPET}>
        {highlighted(SNIPPET)}
      </Snippet>
    </div>
  );
}

const TOKEN = /('[^']*')|\b(import|from|await|async|const|new|for|let)\b|\b(\d+)\b/g;

function highlighted(code: string): (string | JSX.Element)[] {
  const out: (string | JSX.Element)[] = [];
  let at = 0;
  for (const match of code.matchAll(TOKEN)) {
    out.push(code.slice(at, match.index));
    const kind = match[1] !== undefined ? 'string' : match[2] !== undefined ? 'keyword' : 'number';
    out.push(
      <span key={match.index} class={`code-${kind}`}>
        {match[0]}
      </span>,
    );
    at = match.index + match[0].length;
  }
  out.push(code.slice(at));
  return out;
}
