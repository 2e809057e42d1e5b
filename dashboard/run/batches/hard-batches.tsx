/** The batches that stand out: of the last epoch, of the run, or of those trained on around the same time. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { DataDiagnosticsSummary } from 'quark-sdk/probes';
import type { BatchFindings } from '../../worker/batch-findings.ts';
import { classText, reasonText, sampleNames } from './batch-text.ts';
import { formatCount, formatValue } from '../../parts/format.ts';
import { Segmented } from '../../parts/parts.tsx';

const SPANS = [
  { value: 'epoch', label: 'Last epoch', hint: 'Beside the other batches of the last epoch' },
  { value: 'run', label: 'Whole run', hint: 'Beside all batches of the run' },
  {
    value: 'around',
    label: 'Of their time',
    hint: 'Beside the 51 batches that were trained on around the same time',
  },
] as const;

/** A line of the table. */
type Row = {
  readonly key: number;
  readonly step: number | null;
  readonly epoch: number | null;
  readonly loss: number;
  readonly deviations: number | null;
  readonly why: string;
  readonly sampleIds: readonly string[];
  readonly classCounts: Readonly<Record<string, unknown>> | null;
};

/** A table of batches, with the span that they stand out of. */
export function HardBatches(props: {
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
  const hasClasses = rows.some(({ classCounts }) => classText(classCounts) !== undefined);
  return (
    <section aria-label="Hard batches">
      <header class="section-head">
        <h2>Hard batches</h2>
        {spans.length > 1 && (
          <Segmented
            label="Batches of"
            options={spans}
            value={chosen}
            onChange={(next) => {
              span.value = next;
            }}
          />
        )}
      </header>
      {rows.length === 0 ? (
        <p class="quiet">No batch stands out.</p>
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
                {hasClasses && (
                  <th scope="col" class="cell-words">
                    Classes
                  </th>
                )}
              </tr>
            </thead>
            <tbody>
              {rows.map((row) => (
                <tr key={row.key}>
                  <td>{placeText(row.step)}</td>
                  <td>{placeText(row.epoch)}</td>
                  <td class={Number.isFinite(row.loss) ? '' : 'is-bad'}>{formatValue(row.loss)}</td>
                  <td>
                    {row.deviations === null ? '–' : `${formatValue(rounded(row.deviations))} σ`}
                  </td>
                  <td class="cell-words">{row.why}</td>
                  <SampleCell sampleIds={row.sampleIds} hardIds={hardIds} />
                  {hasClasses && <ClassCell classCounts={row.classCounts} />}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
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
        : `${formatValue(rounded(batch.usualLoss))} is usual at that time`,
    sampleIds: batch.sampleIds,
    classCounts: batch.classCounts,
  }));
}

/** Samples of a batch, hard ones first and marked. */
export function SampleCell(props: {
  readonly sampleIds: readonly string[];
  readonly hardIds: ReadonlySet<string>;
}): JSX.Element {
  const { names, more } = sampleNames(props.sampleIds, props.hardIds);
  return (
    <td class="cell-words breakable" title={props.sampleIds.join(', ')}>
      {names.length === 0 && '–'}
      {names.map(({ id, isHard }, at) => (
        <span key={id}>
          {at > 0 && ', '}
          {isHard ? <span class="hard-sample">{id}</span> : id}
        </span>
      ))}
      {more > 0 && ', …'}
    </td>
  );
}

/** Classes of a batch with their shares. */
export function ClassCell(props: { readonly classCounts: Row['classCounts'] }): JSX.Element {
  const found = classText(props.classCounts);
  return (
    <td class="cell-words breakable" title={found?.exact}>
      {found?.text ?? '–'}
    </td>
  );
}

/** A step or epoch. */
export function placeText(place: number | null): string {
  return place === null ? '–' : formatCount(place);
}

/** Three digits: more of them say nothing here. */
export function rounded(value: number): number {
  return Number(value.toPrecision(3));
}
