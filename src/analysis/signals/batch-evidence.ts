/** What the data diagnostics know of the batch behind a value, as evidence. */
import { batchOfRow } from '../columns/batch-of-row.ts';
import { classesOf, samplesOf } from '../columns/batch-columns.ts';
import type { PlacedColumns, RunColumns } from '../columns/run-columns.ts';
import { placeOfStep, sayPlace } from './positions.ts';
import { say, type Observation } from './rule.ts';

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
  const place = placeOfStep(batches.steps[at] ?? Number.NaN);
  const loss = batches.losses[at] ?? Number.NaN;
  const classes = classesOf(batches, at);
  const samples = samplesOf(batches, at);
  const parts = [`loss ${say(loss)}`];
  if (classes.size > 0)
    parts.push(`classes ${listed([...classes].map(([name, count]) => `${name} (${count})`))}`);
  if (samples.length > 0) parts.push(`samples ${listed(samples)}`);
  return [
    {
      kind: 'batch_diagnostic',
      source: `batch of ${sayPlace(place)}`,
      summary: `The batch of ${sayPlace(place)} had ${parts.join(', ')}.`,
      observed: loss,
      from: place,
      to: place,
      metadata: {
        ...(samples.length > 0
          ? { sample_ids: samples.slice(0, LISTED), sample_count: samples.length }
          : {}),
        ...(classes.size > 0 ? { class_counts: Object.fromEntries(classes) } : {}),
      },
    },
  ];
}

function listed(names: readonly string[]): string {
  const more = names.length - SAID;
  return `${names.slice(0, SAID).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
