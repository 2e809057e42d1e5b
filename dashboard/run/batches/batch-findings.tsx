/** What the analysis finds in the batches: samples and classes that hard ones have in common, and what was trained on at spikes. */
import type { JSX } from 'preact';
import type { ExposureSummary } from 'quark-sdk/probes';
import { Button } from '../../parts/controls.tsx';
import { formatCount } from '../../parts/format.ts';
import { SectionHead, errorText, Warning } from '../../parts/notices.tsx';
import type { BatchFindings } from '../../worker/run-analysis.ts';
import type { Answering } from '../feed/use-asked.ts';
import { classText, noSamplesText, shareText, threeDigits, timesText } from './batch-text.ts';
import { contentColumns, positionText, Table, type ShownColumn } from './table.tsx';
import { t } from '../../parts/t.ts';

/** Rows of a table that are listed. */
const SHOWN = 20;

/** The findings, or how far they are. */
export function Findings(props: {
  readonly asked: Answering<BatchFindings>;
  readonly exposure: ExposureSummary;
}): JSX.Element {
  const { answer, error, retry } = props.asked;
  const found = answer.value;
  return (
    <>
      {error.value !== undefined && (
        <Warning>
          {t('What hard batches have in common could not be looked for: {error}', {
            error: errorText(error.value),
          })}{' '}
          <Button isSmall onClick={retry}>
            {t('Try again')}
          </Button>
        </Warning>
      )}
      {found === undefined && error.value === undefined && (
        <p class="quiet" role="status">
          {t('Looking for what hard batches have in common…')}
        </p>
      )}
      {found !== undefined && (
        <>
          <HardSamples found={found} />
          <HardClasses found={found} exposure={props.exposure} />
          <Spikes found={found} />
        </>
      )}
    </>
  );
}

function HardSamples({ found }: { readonly found: BatchFindings }): JSX.Element {
  return (
    <Part
      title={t('Hard samples')}
      note={t(
        'Batches with these samples have high losses far more often than chance would have it: look at their labels.',
      )}
      nothing={noSamplesText(found)}
      rows={found.samples}
      keyOf={({ sampleId }) => sampleId}
      columns={[
        {
          title: t('Sample'),
          isWords: true,
          cell: ({ sampleId, together }) => (
            <>
              <span class="is-bad strong">{sampleId}</span>
              {together.length > 0 && (
                <span class="quiet" title={together.join(', ')}>
                  {' '}
                  {t('or {samples}', {
                    samples: `${together.slice(0, 2).join(', ')}${together.length > 2 ? ', …' : ''}`,
                  })}
                </span>
              )}
            </>
          ),
        },
        { title: t('Batches'), cell: ({ batchCount }) => formatCount(batchCount) },
        {
          title: t('Hard ones'),
          hint: t('Among the highest tenth of their time'),
          cell: ({ batchCount, hardBatchCount }) =>
            `${formatCount(hardBatchCount)} (${shareText(hardBatchCount / batchCount)})`,
        },
        {
          title: t('Its loss, about'),
          hint: t('Estimated from its batches'),
          cell: ({ loss }) => threeDigits(loss),
        },
        {
          title: t('Usual loss'),
          hint: t('Of the batches trained on around the same times'),
          cell: ({ usualLoss }) => threeDigits(usualLoss),
        },
        {
          ...EFFECT,
          cell: ({ loss, usualLoss }) => timesText(loss, usualLoss) ?? '–',
        },
        CHANCE,
      ]}
    />
  );
}

function HardClasses(props: {
  readonly found: BatchFindings;
  readonly exposure: ExposureSummary;
}): JSX.Element | null {
  const { classCounts } = props.exposure;
  if (classText(classCounts) === undefined) return null;
  return (
    <Part
      title={t('Hard classes')}
      note={t('Batches with more samples of these classes have higher losses.')}
      nothing={t('No class stands out.')}
      rows={props.found.classes}
      keyOf={({ className }) => className}
      columns={[
        {
          title: t('Class'),
          isWords: true,
          cell: ({ className }) => <span class="is-bad strong">{className}</span>,
        },
        {
          title: t('Samples'),
          cell: ({ className }) => {
            const count = classCounts[className];
            return typeof count === 'number' ? formatCount(count) : '–';
          },
        },
        { title: t('Share of all'), cell: ({ share }) => shareText(share) },
        {
          title: t('Of hard batches'),
          hint: t('Share in the tenth of batches that stand out most'),
          cell: ({ share, hardShare }) => {
            const times = timesText(hardShare, share);
            return `${shareText(hardShare)}${times === undefined ? '' : ` (${times})`}`;
          },
        },
        {
          title: t('Loss, about'),
          hint: t('Of a sample of the class, estimated'),
          cell: ({ loss }) => threeDigits(loss),
        },
        {
          title: t('Other classes'),
          hint: t('Loss of a sample of the others, estimated'),
          cell: ({ otherLoss }) => threeDigits(otherLoss),
        },
        {
          ...EFFECT,
          cell: ({ loss, otherLoss }) => timesText(loss, otherLoss) ?? '–',
        },
        CHANCE,
      ]}
    />
  );
}

function Spikes({ found }: { readonly found: BatchFindings }): JSX.Element {
  const hardIds = new Set(found.samples.flatMap((one) => [one.sampleId, ...one.together]));
  return (
    <Part
      title={t('Spikes and their batches')}
      note={t('What was trained on when the loss jumped.')}
      nothing={t('The training loss has no spike that it came back from.')}
      rows={found.spikes}
      keyOf={({ metricKey, step }) => `${metricKey} ${step}`}
      columns={[
        { title: t('Metric'), isWords: true, cell: ({ metricKey }) => metricKey },
        { title: t('Step'), cell: ({ step }) => positionText(step) },
        { title: t('From'), cell: ({ level }) => threeDigits(level) },
        { title: t('To'), className: () => 'strong', cell: ({ peak }) => threeDigits(peak) },
        {
          title: t('Loss of the batch'),
          cell: ({ batch }) => (batch === null ? t('not recorded') : threeDigits(batch.loss)),
        },
        ...contentColumns(
          found.spikes,
          ({ batch }) => batch ?? { sampleIds: [], classCounts: null },
          hardIds,
        ),
      ]}
    />
  );
}

/** How many times as large something is as usual. */
const EFFECT = {
  get title() {
    return t('Effect');
  },
  className: () => 'strong',
};

const CHANCE: ShownColumn<{ readonly pValue: number }> = {
  title: 'p',
  get hint() {
    return t('How often chance alone would do it, corrected for all that were asked about');
  },
  cell: ({ pValue }) => threeDigits(pValue),
};

/** A table with its title, or what is said where it has no row. */
function Part<R>(props: {
  readonly title: string;
  readonly note: string;
  readonly nothing: string;
  readonly rows: readonly R[];
  readonly keyOf: (row: R) => string;
  readonly columns: readonly ShownColumn<R>[];
}): JSX.Element {
  const { rows, keyOf, columns } = props;
  const more = rows.length - SHOWN;
  return (
    <section aria-label={props.title}>
      <SectionHead title={props.title} />
      {rows.length === 0 ? (
        <p class="quiet">{props.nothing}</p>
      ) : (
        <>
          <p class="section-note quiet medium">
            {props.note}
            {more > 0 && ` ${t('{count} more are not shown.', { count: formatCount(more) })}`}
          </p>
          <Table hasNames rows={rows.slice(0, SHOWN)} keyOf={keyOf} columns={columns} />
        </>
      )}
    </section>
  );
}
