/** What the model was shown: hard batches, what they have in common, and how often the model saw each class. */
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import type { DataDiagnosticsSummary } from 'quark-sdk/probes';
import { findBatchesInWorker } from '../../dropped/analysis.ts';
import { exposureRows } from './batch-text.ts';
import { formatCount, formatValue } from '../../parts/format.ts';
import { BatchFeed } from './feed.ts';
import type { RunFeed } from '../../series/run-feed.ts';
import { Findings } from './batch-findings.tsx';
import { HardBatches, rounded } from './hard-batches.tsx';
import { HowTo } from '../../parts/how-to.tsx';
import { ErrorNotice } from '../../parts/parts.tsx';
import type { TabProps } from '../feed/tab.ts';
import { askingStamp, useAsked } from '../feed/use-asked.ts';
import { useFeed } from '../../parts/use-feed.ts';

/** The "Batches" tab. */
export default function BatchesView({ feed, watch }: TabProps): JSX.Element {
  const nowMs = watch.nowMs.value;
  const { isLive } = feed;
  const batches = useMemo(() => new BatchFeed(feed.reader), [feed]);
  const { revision, error, isRead } = useFeed(batches, isLive);
  void revision.value;
  if (error.value !== undefined && !isRead.value)
    return <ErrorNotice title="The batches cannot be read" error={error.value} />;
  if (!isRead.value) return <div class="heat-waiting" aria-busy="true" aria-label="Reading" />;
  const { summary } = batches;
  if (summary === undefined)
    return (
      <HowTo
        title={isLive ? 'No batches yet' : 'No batches were recorded'}
        text="Data diagnostics keep the loss and the make-up of each batch, never the samples."
        code={`const diagnostics = new DataDiagnostics(session);
diagnostics.logBatch(loss, { step, labels, sampleIds });`}
      />
    );
  return (
    <Batches
      feed={feed}
      summary={summary}
      lastEpoch={batches.lastEpoch}
      stamp={askingStamp(feed, nowMs)}
    />
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
    <section class="batches" aria-label="Batches">
      <Losses summary={summary} />
      <HardBatches summary={summary} lastEpoch={props.lastEpoch} findings={asked.answer.value} />
      <Findings asked={asked} exposure={summary.exposure} />
      <Exposure summary={summary} />
    </section>
  );
}

function Losses({ summary }: { readonly summary: DataDiagnosticsSummary }): JSX.Element {
  const { lossSummary, exposure } = summary;
  const facts: [string, string][] = [
    ['batches', formatCount(summary.batchCount)],
    ['median loss', numberText(lossSummary?.median)],
    ['highest loss', numberText(lossSummary?.max)],
    ['not finite', formatCount(lossSummary?.nonFiniteCount ?? 0)],
  ];
  if (exposure.uniqueSampleCount > 0)
    facts.push(['different samples', formatCount(exposure.uniqueSampleCount)]);
  return (
    <dl class="tiles">
      {facts.map(([name, value]) => (
        <div key={name} class="tile">
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function Exposure({ summary }: { readonly summary: DataDiagnosticsSummary }): JSX.Element | null {
  const rows = exposureRows(summary.exposure);
  if (rows.length === 0) return null;
  const { imbalanceRatio } = summary.exposure;
  return (
    <section aria-label="Class exposure">
      <header class="section-head">
        <h2>Class exposure</h2>
        {imbalanceRatio !== null && (
          <span class="quiet">
            the most seen class {formatValue(rounded(imbalanceRatio))} times as often as the least
          </span>
        )}
      </header>
      <div class="table-frame">
        <table class="table exposure">
          <thead>
            <tr>
              <th scope="col">Class</th>
              <th scope="col">Samples</th>
              <th scope="col">Share</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(({ name, count, share, width }) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td>{formatCount(count)}</td>
                <td>
                  <span class="exposure-share">
                    <span class="exposure-bar" style={{ width: `${width * 75}%` }} />
                    <span>{(share * 100).toFixed(1)} %</span>
                  </span>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function numberText(value: number | null | undefined): string {
  return value === null || value === undefined ? '–' : formatValue(value);
}
