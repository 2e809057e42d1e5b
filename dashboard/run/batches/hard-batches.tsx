/** The batches that stand out: of the last epoch, of the run, or of those trained on around the same time. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { DataDiagnosticsSummary } from 'quark-sdk/probes';
import { Segmented } from '../../parts/controls.tsx';
import { formatValue } from '../../parts/format.ts';
import { SectionHead } from '../../parts/notices.tsx';
import { setterOf } from '../../parts/signals.ts';
import type { BatchFindings } from '../../worker/run-analysis.ts';
import { reasonText, threeDigits } from './batch-text.ts';
import { contentColumns, positionText, Table, type BatchContents } from './table.tsx';
import { t } from '../../parts/t.ts';

const SPANS = [
  {
    value: 'epoch',
    get label() {
      return t('Last epoch');
    },
    get hint() {
      return t('Beside the other batches of the last epoch');
    },
  },
  {
    value: 'run',
    get label() {
      return t('Whole run');
    },
    get hint() {
      return t('Beside all batches of the run');
    },
  },
  {
    value: 'around',
    get label() {
      return t('Nearby steps');
    },
    get hint() {
      return t('Beside the 51 batches that were trained on around the same time');
    },
  },
] as const;

/** A line of the table. */
type Row = BatchContents & {
  readonly key: number;
  readonly step: number | null;
  readonly epoch: number | null;
  readonly loss: number;
  readonly deviations: number | null;
  readonly why: string;
};

/** A table of batches, with the span that they stand out of. */
export function HardBatchList(props: {
  readonly summary: DataDiagnosticsSummary;
  readonly lastEpoch: DataDiagnosticsSummary | undefined;
  /** Undefined until they are there. */
  readonly findings: BatchFindings | undefined;
}): JSX.Element {
  const { summary, lastEpoch, findings } = props;
  // Of a whole run the first batches are the hard ones, because the model knew nothing yet.
  const span = useSignal<(typeof SPANS)[number]['value']>('epoch');
  const spans = SPANS.filter(
    ({ value }) =>
      value === 'run' || (value === 'epoch' ? lastEpoch !== undefined : findings !== undefined),
  );
  const chosen = spans.find(({ value }) => value === span.value)?.value ?? 'run';
  const rows =
    chosen === 'around'
      ? rowsAround(findings)
      : rowsOf(chosen === 'epoch' ? (lastEpoch ?? summary) : summary);
  const hardIds = new Set(findings?.samples.flatMap((one) => [one.sampleId, ...one.together]));
  return (
    <section aria-label={t('Hard batches')}>
      <SectionHead title={t('Hard batches')}>
        {spans.length > 1 && (
          <Segmented
            label={t('Batches of')}
            options={spans}
            value={chosen}
            onChange={setterOf(span)}
          />
        )}
      </SectionHead>
      {rows.length === 0 ? (
        <p class="quiet">{t('No batch stands out.')}</p>
      ) : (
        <Table
          rows={rows}
          keyOf={({ key }) => key}
          columns={[
            { title: t('Step'), cell: ({ step }) => positionText(step) },
            { title: t('Epoch'), cell: ({ epoch }) => positionText(epoch) },
            {
              title: t('Loss'),
              className: ({ loss }) => (Number.isFinite(loss) ? '' : 'is-bad strong'),
              cell: ({ loss }) => formatValue(loss),
            },
            {
              title: t('Deviations'),
              cell: ({ deviations }) =>
                deviations === null ? '–' : `${threeDigits(deviations)} σ`,
            },
            { title: t('Why'), isWords: true, cell: ({ why }) => why },
            ...contentColumns(rows, (row) => row, hardIds),
          ]}
        />
      )}
    </section>
  );
}

function rowsOf({ hardBatches }: DataDiagnosticsSummary): readonly Row[] {
  return hardBatches.map((batch, at) => ({
    key: batch.sequence ?? at,
    step: batch.step,
    epoch: batch.epoch,
    loss: batch.loss,
    deviations: batch.zScore,
    why: batch.reasons.map(reasonText).join(', '),
    sampleIds: batch.sampleIds ?? [],
    classCounts: batch.classCounts,
  }));
}

/** Batches of the analysis that are listed. */
const SHOWN_AROUND = 10;

function rowsAround(findings: BatchFindings | undefined): readonly Row[] {
  return (findings?.batches ?? []).slice(0, SHOWN_AROUND).map((batch) => ({
    key: batch.row,
    step: batch.step,
    epoch: batch.epoch,
    loss: batch.loss,
    deviations: batch.deviations,
    why:
      batch.usualLoss === null
        ? reasonText('non_finite_loss')
        : t('{usualLoss} is usual at that time', { usualLoss: threeDigits(batch.usualLoss) }),
    sampleIds: batch.sampleIds,
    classCounts: batch.classCounts,
  }));
}
