/** What the model was shown: hard batches, and how often it saw each class. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import type { DataDiagnosticsSummary, HardBatchFinding, ReadableRun } from 'quark-sdk/probes';
import { exposureRows, reasonText } from '../model/batch-text.ts';
import { formatCount, formatValue } from '../model/format.ts';
import { BatchFeed } from '../model/probe-feed.ts';
import { HowTo } from './how-to.tsx';
import { ErrorNotice, Segmented } from './parts.tsx';
import { useFeed } from './use-feed.ts';

/** The "Batches" part of a run's page. */
export function BatchesView(props: {
  readonly run: ReadableRun;
  readonly isLive: boolean;
}): JSX.Element {
  const feed = useMemo(() => new BatchFeed(props.run), [props.run]);
  const { revision, error, isRead } = useFeed(feed, props.isLive);
  void revision.value;
  if (error.value !== undefined && !isRead.value)
    return <ErrorNotice title="The batches cannot be read" error={error.value} />;
  if (!isRead.value) return <div class="heat-waiting" aria-busy="true" aria-label="Reading" />;
  const { summary } = feed;
  if (summary === undefined)
    return (
      <HowTo
        title={props.isLive ? 'No batches yet' : 'No batches were recorded'}
        text="Data diagnostics keep the loss and the make-up of each batch, never the samples."
        code={`const diagnostics = new DataDiagnostics(session);
diagnostics.logBatch(loss, { step, labels, sampleIds });`}
      />
    );
  return (
    <section class="batches" aria-label="Batches">
      <Losses summary={summary} />
      <HardBatches summary={summary} lastEpoch={feed.lastEpoch} />
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

const SPANS = [
  { value: 'epoch', label: 'Last epoch' },
  { value: 'run', label: 'Whole run' },
] as const;

function HardBatches(props: {
  readonly summary: DataDiagnosticsSummary;
  readonly lastEpoch: DataDiagnosticsSummary | undefined;
}): JSX.Element {
  // Of a whole run the first batches are the hard ones, because the model knew nothing yet.
  const span = useSignal<(typeof SPANS)[number]['value']>('epoch');
  const shown = span.value === 'epoch' ? (props.lastEpoch ?? props.summary) : props.summary;
  const found: readonly HardBatchFinding[] = shown.hardBatches;
  return (
    <section aria-label="Hard batches">
      <header class="section-head">
        <h2>Hard batches</h2>
        {props.lastEpoch !== undefined && (
          <Segmented
            label="Batches of"
            options={SPANS}
            value={span.value}
            onChange={(next) => {
              span.value = next;
            }}
          />
        )}
      </header>
      {found.length === 0 ? (
        <p class="nothing">No batch stands out.</p>
      ) : (
        <div class="table-frame">
          <table class="table">
            <thead>
              <tr>
                <th scope="col">Step</th>
                <th scope="col">Epoch</th>
                <th scope="col">Loss</th>
                <th scope="col">Deviations</th>
                <th scope="col" class="cell-words">
                  Why
                </th>
                <th scope="col" class="cell-words">
                  Samples
                </th>
              </tr>
            </thead>
            <tbody>
              {found.map((batch) => (
                <tr key={batch.sequence ?? batch.step}>
                  <td>{batch.step === null ? '–' : formatCount(batch.step)}</td>
                  <td>{batch.epoch === null ? '–' : formatCount(batch.epoch)}</td>
                  <td class={Number.isFinite(batch.loss) ? '' : 'is-bad'}>
                    {formatValue(batch.loss)}
                  </td>
                  <td>{batch.zScore === null ? '–' : `${formatValue(round(batch.zScore))} σ`}</td>
                  <td class="cell-words">{batch.reasons.map(reasonText).join(', ')}</td>
                  <td class="cell-words" title={batch.sampleIds?.join(', ')}>
                    {batch.sampleIds === null
                      ? '–'
                      : `${batch.sampleIds.slice(0, 4).join(', ')}${batch.sampleIds.length > 4 ? ', …' : ''}`}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
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
            the most seen class {formatValue(round(imbalanceRatio))} times as often as the least
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

function round(value: number): number {
  return Number(value.toPrecision(3));
}
