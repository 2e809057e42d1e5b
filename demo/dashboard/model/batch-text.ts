/** Findings about batches in words and rows. Pure. */
import type { ExposureSummary } from 'quark-sdk/probes';

const REASONS: Readonly<Record<string, string>> = {
  non_finite_loss: 'loss is NaN or infinite',
  loss_percentile: 'among the highest losses',
  loss_z_score: 'loss far from the mean',
  loss_iqr: 'loss far above the usual range',
  sequence_length_z_score: 'unusually long sequence',
  sequence_length_iqr: 'sequence far longer than usual',
};

/** Why a batch counts as hard, as a person says it. */
export function reasonText(reason: string): string {
  return REASONS[reason] ?? reason.replaceAll('_', ' ');
}

/** One class in the table of exposure. */
export type ExposureRow = {
  readonly name: string;
  readonly count: number;
  /** Of all samples whose class is known. */
  readonly share: number;
  /** Of the largest class, for a bar. */
  readonly width: number;
};

/** The classes with what was seen of each; names that are numbers in their order, others by name. */
export function exposureRows({ classCounts }: Pick<ExposureSummary, 'classCounts'>): ExposureRow[] {
  const entries = Object.entries(classCounts).flatMap(([name, count]): [string, number][] =>
    typeof count === 'number' ? [[name, count]] : [],
  );
  const total = entries.reduce((sum, [, count]) => sum + count, 0);
  const largest = entries.reduce((most, [, count]) => Math.max(most, count), 0);
  if (total === 0) return [];
  return entries
    .toSorted(([a], [b]) => a.localeCompare(b, 'en', { numeric: true }))
    .map(([name, count]) => ({ name, count, share: count / total, width: count / largest }));
}
