/** What the model was shown: hard batches, what they have in common, and how often the model saw each class. */
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import type { DataDiagnosticsSummary } from 'quark-sdk/probes';
import { findBatchesInWorker } from '../../dropped/analysis.ts';
import { formatCount, formatValue } from '../../parts/format.ts';
import { HowTo, SectionHead, Tiles } from '../../parts/notices.tsx';
import { FeedGate, useFeed } from '../../parts/use-feed.tsx';
import type { RunFeed } from '../../series/run-feed.ts';
import type { TabProps } from '../feed/tab.ts';
import { askingStamp, useAsked } from '../feed/use-asked.ts';
import { Findings } from './batch-findings.tsx';
import { exposureRows, threeDigits } from './batch-text.ts';
import { BatchFeed } from './feed.ts';
import { HardBatchList } from './hard-batches.tsx';
import { Table } from './table.tsx';
import './style.css';
import { t } from '../../parts/t.ts';

/** The "Batches" tab. */
export default function BatchesView({ feed, watch }: TabProps): JSX.Element {
  const nowMs = watch.nowMs.value;
  const { isLive } = feed;
  const batches = useMemo(() => new BatchFeed(feed.reader), [feed]);
  const reading = useFeed(batches, isLive);
  void reading.revision.value;
  return (
    <FeedGate reading={reading} title={t('The batches cannot be read')}>
      {() =>
        batches.summary === undefined ? (
          <HowTo
            title={isLive ? t('No batches yet') : t('No batches were recorded')}
            text={t(
              'Data diagnostics record the loss and the make-up of each batch, never the samples.',
            )}
            code={`const diagnostics = new DataDiagnostics(session);
diagnostics.logBatch(loss, { step, labels, sampleIds });`}
          />
        ) : (
          <Batches
            feed={feed}
            summary={batches.summary}
            lastEpoch={batches.lastEpoch}
            stamp={askingStamp(feed, nowMs)}
          />
        )
      }
    </FeedGate>
  );
}

function Batches(props: {
  readonly feed: RunFeed;
  readonly summary: DataDiagnosticsSummary;
  readonly lastEpoch: DataDiagnosticsSummary | undefined;
  readonly stamp: string;
}): JSX.Element {
  const { feed, summary } = props;
  const asked = useAsked(
    () => findBatchesInWorker(feed.reader.store, feed.run.id),
    feed,
    props.stamp,
  );
  return (
    <section class="batches column" aria-label={t('Batches')}>
      <Losses summary={summary} />
      <HardBatchList summary={summary} lastEpoch={props.lastEpoch} findings={asked.answer.value} />
      <Findings asked={asked} exposure={summary.exposure} />
      <Exposure summary={summary} />
    </section>
  );
}

function Losses({ summary }: { readonly summary: DataDiagnosticsSummary }): JSX.Element {
  const { lossSummary, exposure } = summary;
  const { uniqueSampleCount } = exposure;
  return (
    <Tiles
      tiles={[
        { name: t('batches'), text: formatCount(summary.batchCount) },
        { name: t('median loss'), text: numberText(lossSummary?.median) },
        { name: t('highest loss'), text: numberText(lossSummary?.max) },
        { name: t('not finite'), text: formatCount(lossSummary?.nonFiniteCount ?? 0) },
        ...(uniqueSampleCount > 0
          ? [{ name: t('different samples'), text: formatCount(uniqueSampleCount) }]
          : []),
      ]}
    />
  );
}

function Exposure({ summary }: { readonly summary: DataDiagnosticsSummary }): JSX.Element | null {
  const rows = exposureRows(summary.exposure);
  if (rows.length === 0) return null;
  const { imbalanceRatio } = summary.exposure;
  return (
    <section aria-label={t('Class exposure')}>
      <SectionHead title={t('Class exposure')}>
        {imbalanceRatio !== null && (
          <span class="quiet">
            {t('the most seen class {ratio} times as often as the least', {
              ratio: threeDigits(imbalanceRatio),
            })}
          </span>
        )}
      </SectionHead>
      <Table
        class="exposure"
        hasNames
        rows={rows}
        keyOf={({ name }) => name}
        columns={[
          { title: t('Class'), cell: ({ name }) => name },
          { title: t('Samples'), cell: ({ count }) => formatCount(count) },
          {
            title: t('Share'),
            cell: ({ share, width }) => (
              <span class="row gap-12">
                <span class="exposure-bar" style={{ width: `${width * 75}%` }} />
                <span>{(share * 100).toFixed(1)} %</span>
              </span>
            ),
          },
        ]}
      />
    </section>
  );
}

function numberText(value: number | null | undefined): string {
  return value === null || value === undefined ? '–' : formatValue(value);
}
