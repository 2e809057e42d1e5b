/** Findings about batches in words and rows. Pure. */
import type { ExposureSummary } from 'quark-sdk/probes';
import { formatCount, formatValue, rounded } from '../../parts/format.ts';
import type { BatchFindings } from '../../worker/run-analysis.ts';
import { t, tn } from '../../parts/t.ts';

const REASONS: Readonly<Record<string, () => string>> = {
  non_finite_loss: () => t('loss is NaN or infinite'),
  loss_percentile: () => t('among the highest losses'),
  loss_z_score: () => t('loss far from the mean'),
  loss_iqr: () => t('loss far above the usual range'),
  sequence_length_z_score: () => t('unusually long sequence'),
  sequence_length_iqr: () => t('sequence far longer than usual'),
};

/** Why a batch counts as hard, as a person says it. */
export function reasonText(reason: string): string {
  return REASONS[reason]?.() ?? reason.replaceAll('_', ' ');
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

/** Known classes with their counts: names that are numbers in their order, others by name. */
function countsOf(classCounts: Readonly<Record<string, unknown>> | null): {
  readonly entries: readonly (readonly [name: string, count: number])[];
  readonly total: number;
} {
  const entries = Object.entries(classCounts ?? {})
    .flatMap(([name, count]): [string, number][] =>
      typeof count === 'number' ? [[name, count]] : [],
    )
    .toSorted(([a], [b]) => a.localeCompare(b, 'en', { numeric: true }));
  return { entries, total: entries.reduce((sum, [, count]) => sum + count, 0) };
}

/** The classes with what was seen of each; names that are numbers in their order, others by name. */
export function exposureRows({ classCounts }: Pick<ExposureSummary, 'classCounts'>): ExposureRow[] {
  const { entries, total } = countsOf(classCounts);
  const largest = entries.reduce((most, [, count]) => Math.max(most, count), 0);
  if (total === 0) return [];
  return entries.map(([name, count]) => ({
    name,
    count,
    share: count / total,
    width: count / largest,
  }));
}

/** Names that a cell of a table has room for. */
const SHOWN_NAMES = 4;

/** The classes of a batch, the most frequent first, with their share of it: `7 63 %, 3 25 %, …`, with spaces that do not break before the signs. Undefined where none is known. */
export function classText(
  classCounts: Readonly<Record<string, unknown>> | null,
): { readonly text: string; readonly exact: string } | undefined {
  const { entries, total } = countsOf(classCounts);
  const counts = entries.filter(([, count]) => count > 0).toSorted(([, x], [, y]) => y - x);
  if (total === 0) return undefined;
  const shown = counts
    .slice(0, SHOWN_NAMES)
    .map(([name, count]) => `${name} ${Math.round((100 * count) / total)}\u00a0%`);
  return {
    text: `${shown.join(', ')}${counts.length > SHOWN_NAMES ? ', …' : ''}`,
    exact: counts
      .map(([name, count]) => t('{name}: {count} of {total}', { name, count, total }))
      .join(', '),
  };
}

/** The samples of a batch that a cell has room for, hard ones first. */
export function sampleNames(
  sampleIds: readonly string[],
  hardIds: ReadonlySet<string>,
): {
  readonly names: readonly { readonly id: string; readonly isHard: boolean }[];
  readonly more: number;
} {
  const hard = sampleIds.filter((id) => hardIds.has(id));
  const names = [...hard, ...sampleIds.filter((id) => !hardIds.has(id))]
    .slice(0, Math.max(SHOWN_NAMES, hard.length))
    .map((id) => ({ id, isHard: hardIds.has(id) }));
  return { names, more: sampleIds.length - names.length };
}

/** A number with three digits: more of them say nothing here. */
export function threeDigits(value: number): string {
  return formatValue(rounded(value));
}

/** How many times as much one number is as another: `12 times`; undefined where there is no ratio. */
export function timesText(value: number, other: number): string | undefined {
  const ratio = value / other;
  if (!(value > 0 && other > 0) || !Number.isFinite(ratio)) return undefined;
  return t('{ratio} times', { ratio: formatValue(rounded(ratio, 2)) });
}

/** A share: `12 %`, `0.34 %`. */
export function shareText(share: number): string {
  return `${formatValue(rounded(100 * share, 2))} %`;
}

/** What is said where no sample stands out. */
export function noSamplesText(
  found: Pick<BatchFindings, 'isShuffled' | 'testedSampleCount'>,
): string {
  if (found.testedSampleCount === 0)
    return t('No sample was in two batches, so that nothing can be said of single ones.');
  const tested = tn(
    found.testedSampleCount,
    '{count} sample was seen more than once',
    '{count} samples were seen more than once',
    { count: formatCount(found.testedSampleCount) },
  );
  return found.isShuffled === false
    ? t(
        '{tested}, always with the same others: shuffle the batches, and hard samples can be told.',
        { tested },
      )
    : t('None stands out; {tested}.', { tested });
}
