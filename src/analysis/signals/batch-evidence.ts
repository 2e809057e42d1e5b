/** What the data diagnostics know of the batch behind a value, as evidence. */
import { batchOfRow } from '../columns/batch-of-row.ts';
import { classesOf, samplesOf } from '../columns/batch-columns.ts';
import type { PlacedColumns, RunColumns } from '../columns/run-columns.ts';
import { say, sayNames } from '../text/sentences.ts';
import { positionOfStep, sayPosition } from './positions.ts';
import type { Observation } from './rule-types.ts';

/** Classes and samples that a sentence names, and samples that are listed. */
const SAID = 5;
const LISTED = 64;

/** The batch that was trained on when `series` had the value of `row`; none where no batch was recorded. */
export function batchEvidence(
  { batches }: RunColumns,
  series: PlacedColumns,
  row: number,
): readonly Observation[] {
  const at = batchOfRow(batches, series, row);
  if (at < 0) return [];
  const position = positionOfStep(batches.steps[at] ?? Number.NaN);
  const loss = batches.losses[at] ?? Number.NaN;
  const classes = classesOf(batches, at);
  const samples = samplesOf(batches, at);
  const parts = [`loss ${say(loss)}`];
  if (classes.size > 0)
    parts.push(
      `classes ${sayNames(
        [...classes].map(([name, count]) => `${name} (${count})`),
        SAID,
      )}`,
    );
  if (samples.length > 0) parts.push(`samples ${sayNames(samples, SAID)}`);
  return [
    {
      kind: 'batch_diagnostic',
      source: `batch of ${sayPosition(position)}`,
      summary: `The batch of ${sayPosition(position)} had ${parts.join(', ')}.`,
      observed: loss,
      from: position,
      to: position,
      metadata: {
        ...(samples.length > 0
          ? { sample_ids: samples.slice(0, LISTED), sample_count: samples.length }
          : {}),
        ...(classes.size > 0 ? { class_counts: Object.fromEntries(classes) } : {}),
      },
    },
  ];
}
