/** What a chart does not show, said beside its title. */
import { useComputed } from '@preact/signals';
import type { JSX } from 'preact';
import { formatCount, formatValue } from '../parts/format.ts';
import { Icon } from '../parts/icons.tsx';
import { t } from '../parts/t.ts';
import { axisWord } from './plot/axis-ticks.ts';
import type { ChartState } from './chart-state.ts';
import type { ShownCurve } from './legend.tsx';
import { countNonFinite } from './reduce.ts';
import type { InnerRange } from './plot/value-axis.ts';

type Badge = { readonly count: number; readonly text: string; readonly hint: string };

/** What the curves do not show. */
export function Badges({ chart }: { readonly chart: ChartState }): JSX.Element {
  const { curves, drawn, range, settings } = chart;
  const sum = (of: (curve: ShownCurve) => number): number =>
    curves.value.reduce((total, curve) => total + of(curve), 0);
  const nonFinite = useComputed(() =>
    sum(
      ({ shape, series }) => series.standsFor?.nonFiniteCount ?? countNonFinite(shape, range.value),
    ),
  );
  const axis = axisWord(settings.value.axis);
  const unplaced = drawn.value?.data.unplacedCount ?? 0;
  const repeated = sum(({ points }) => points.repeatedCount);
  const missing = sum(({ points }) => points.missingCount);
  const pageCount = sum(({ series }) => (series.standsFor === undefined ? 0 : series.length));
  const stood = sum(({ series }) => series.standsFor?.sampleCount ?? 0);
  const badges: readonly Badge[] = [
    {
      count: pageCount,
      text: t('{count} of {all} points', {
        count: formatCount(pageCount),
        all: formatCount(stood),
      }),
      hint: t(
        'Of each few points the first, lowest, highest and last. A page does not hold more of a run as long as this one.',
      ),
    },
    {
      count: unplaced,
      text: t('{count} ≤ 0', { count: formatCount(unplaced) }),
      hint: t('A logarithmic scale has no position for zero and below.'),
    },
    {
      count: repeated,
      text: t('{count} repeated', { count: formatCount(repeated) }),
      hint: t(
        'Steps written more than once, as after a resume. The chart shows what was written last.',
      ),
    },
    {
      count: missing,
      text: t('{count} without {axis}', { count: formatCount(missing), axis }),
      hint: t('Points without a value for the {axis} axis.', { axis }),
    },
  ];
  return (
    <>
      <OutlierBadge outliers={drawn.value?.outliers} />
      {nonFinite.value > 0 && (
        <span
          class="badge tone-paused"
          data-testid="non-finite"
          title={t(
            'Values that are NaN or infinite. They break the line and are marked on the chart: a cross for NaN, a triangle for an infinity.',
          )}
        >
          <Icon name="warning" />
          {t('{count} not finite', { count: formatCount(nonFinite.value) })}
        </span>
      )}
      {badges
        .filter(({ count }) => count > 0)
        .map(({ text, hint }) => (
          <span key={text} class="badge" title={hint}>
            {text}
          </span>
        ))}
    </>
  );
}

function OutlierBadge(props: { readonly outliers: InnerRange | undefined }): JSX.Element | null {
  if (props.outliers === undefined) return null;
  return (
    <span
      class="badge tone-paused"
      data-testid="outliers"
      title={t(
        'The axis of values leaves out outliers: values more than three times the width of the middle half of all values away from it. Switch “Ignore outliers” off to see them.',
      )}
    >
      {outlierText(props.outliers)}
    </span>
  );
}

/** How far the values go that are cut off. */
function outlierText({ min, max, lowest, highest }: InnerRange): string {
  const low = formatValue(lowest);
  const high = formatValue(highest);
  if (lowest >= min) return t('outliers up to {high} cut off', { high });
  if (highest <= max) return t('outliers down to {low} cut off', { low });
  return t('outliers down to {low} and up to {high} cut off', { low, high });
}
