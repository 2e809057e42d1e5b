/** Texts over steps, and what differs between two steps or two runs. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import type { MediaItem } from 'quark-sdk/media';
import { choiceText, FINITE_NUMBER, plainText } from '../../parts/address-text.ts';
import { useAddressed } from '../../parts/addressed.ts';
import { CopyButton } from '../../parts/controls.tsx';
import { formatCount } from '../../parts/format.ts';
import { Markdown } from '../../parts/markdown/markdown.tsx';
import { t } from '../../parts/t.ts';
import { useContent } from '../content.ts';
import { ContentProblem, atText } from '../item-caption.tsx';
import { MediaGrid } from '../media-grid.tsx';
import type { KindProps } from '../kind-view.ts';
import { mediaOf, type MediaRun } from '../media-feed.ts';
import { positionsOf } from '../media-steps.ts';
import { baseText, TEXT_MODES, type BaseText, type TextMode } from './base-text.ts';
import { TextTools } from './text-tools.tsx';
import { diffTexts, type DiffLine } from './diff.ts';

/** A longer text is cut for the page. */
const MAX_SHOWN_CHARS = 200_000;
const MAX_SHOWN_LINES = 5000;

/** The texts of runs. */
export default function TextsView({ keys, runs, step }: KindProps): JSX.Element {
  const chosen = useSignal<TextMode>('text');
  const baseStep = useSignal<number | undefined>(undefined);
  const baseRunId = useSignal('');
  useAddressed('text', chosen, choiceText(TEXT_MODES));
  useAddressed('text-step', baseStep, FINITE_NUMBER);
  useAddressed('text-run', baseRunId, plainText());
  const mode = chosen.value === 'run' && runs.length < 2 ? 'text' : chosen.value;
  const baseRun = runs.find(({ runId }) => runId === baseRunId.value) ?? runs[0];
  const texts = runs.flatMap((run) => mediaOf(run, 'text')).filter(({ key }) => keys.includes(key));
  const steps = positionsOf(texts);
  return (
    <>
      <TextTools
        mode={mode}
        chosen={chosen}
        baseStep={baseStep}
        baseRunId={baseRunId}
        steps={steps}
        runs={runs}
      />
      <MediaGrid kind="text" class="text-grid" keys={keys} runs={runs} step={step}>
        {({ item, items, run }) => (
          <TextBody
            run={run}
            item={item}
            base={baseText({
              mode,
              items,
              item,
              step: baseStep.value ?? steps[0],
              run,
              baseRun,
              key: item.key,
            })}
            isDiff={mode !== 'text' && !(mode === 'run' && run === baseRun)}
          />
        )}
      </MediaGrid>
    </>
  );
}

function TextBody(props: {
  readonly run: MediaRun;
  readonly item: MediaItem<'text'>;
  readonly base: BaseText | undefined;
  readonly isDiff: boolean;
}): JSX.Element {
  const { base, isDiff, item, run } = props;
  const before = base?.item;
  const text = useContent(run.source, item);
  const other = useContent(base?.run.source ?? run.source, before);
  const problem = text.error ?? other.error;
  if (problem !== undefined) return <ContentProblem error={problem} />;
  if (text.found === undefined) return <span class="skeleton" style={{ width: '60%' }} />;
  const words = text.found.value;
  if (!isDiff)
    return item.metadata.format === 'markdown' ? (
      <Markdown text={words} topLevel={4} />
    ) : (
      <PlainText text={words} label={item.key} />
    );
  if (before === undefined)
    return <p class="quiet small">{t('There is no other text to compare with.')}</p>;
  if (other.found === undefined) return <span class="skeleton" style={{ width: '60%' }} />;
  return (
    <>
      <p class="quiet small">
        {base === undefined || base.run === run
          ? t('Compared with {position}', { position: atText(before) })
          : t('Compared with {position} of {name}', {
              position: atText(before),
              name: base.run.name,
            })}
      </p>
      <TextDiff before={other.found.value} after={words} label={item.key} />
    </>
  );
}

/** A text as it is: nothing in it is markup. */
export function PlainText(props: { readonly text: string; readonly label: string }): JSX.Element {
  const { label, text } = props;
  const isCut = text.length > MAX_SHOWN_CHARS;
  return (
    <div class="text-body">
      <CopyButton text={text} label={t('Copy the text')} />
      <pre
        class="code"
        tabIndex={0}
        role="region"
        aria-label={t('Text of {name}', { name: label })}
        dir="auto"
      >
        {isCut ? text.slice(0, MAX_SHOWN_CHARS) : text}
      </pre>
      {isCut && (
        <p class="quiet small">
          {t('The first {shown} of {count} characters are shown.', {
            shown: formatCount(MAX_SHOWN_CHARS),
            count: formatCount(text.length),
          })}
        </p>
      )}
    </div>
  );
}

function TextDiff(props: {
  readonly before: string;
  readonly after: string;
  readonly label: string;
}): JSX.Element {
  const { after, before, label } = props;
  const lines = useMemo(
    () => diffTexts(before.slice(0, MAX_SHOWN_CHARS), after.slice(0, MAX_SHOWN_CHARS)),
    [before, after],
  );
  const count = (kind: DiffLine['kind']): string =>
    formatCount(lines.filter((line) => line.kind === kind).length);
  return (
    <>
      <p class="small" data-testid="diff-summary">
        {t('{added} lines added, {removed} removed', {
          added: count('added'),
          removed: count('removed'),
        })}
      </p>
      <pre
        class="code text-diff"
        tabIndex={0}
        role="region"
        aria-label={t('Changes of {name}', { name: label })}
      >
        {lines.slice(0, MAX_SHOWN_LINES).map((line, at) => (
          <span key={at} class="diff-line" data-kind={line.kind}>
            <span class="diff-sign" aria-hidden="true">
              {line.kind === 'same' ? ' ' : line.kind === 'added' ? '+' : '−'}
            </span>
            <span>
              {line.kind !== 'same' && (
                <span class="sr-only">{line.kind === 'added' ? t('added:') : t('removed:')} </span>
              )}
              {line.words.map((word, i) =>
                word.isChanged ? (
                  <mark key={i}>{word.text}</mark>
                ) : (
                  <span key={i}>{word.text}</span>
                ),
              )}
            </span>
          </span>
        ))}
      </pre>
    </>
  );
}
