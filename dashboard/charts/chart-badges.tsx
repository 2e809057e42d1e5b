/** What a chart does not show, said beside its title. */
import { useComputed, type ReadonlySignal } from '@preact/signals';
import type { JSX } from 'preact';
import { formatCount, formatValue } from '../parts/format.ts';
import { Icon } from '../parts/icons.tsx';
import type { ChartState } from './chart-state.ts';
import type { ShownCurve } from './legend.tsx';
import type { NotShown } from './metric-chart.ts';
import { countNonFinite } from './reduce.ts';
import type { InnerRange } from './value-axis.ts';

/** What the curves do not show. */
export function Badges({ chart }: { readonly chart: ChartState }): JSX.Element {
  const { curves, notShown, range } = chart;
  const axis = chart.props.view.axis.value;
  const sum = (of: (curve: ShownCurve) => number): number =>
    curves.value.reduce((total, curve) => total + of(curve), 0);
  const nonFinite = useComputed(() =>
    sum(({ shape, standsFor }) => standsFor?.nonFiniteCount ?? countNonFinite(shape, range.value)),
  );
  const badges = [
    {
      count: notShown.value.unplacedCount,
      what: '≤ 0',
      hint: 'A logarithmic scale has no position for zero and below.',
    },
    {
      count: sum(({ points }) => points.repeatedCount),
      what: 'repeated',
      hint: 'Steps written more than once, as after a resume. The chart shows what was written last.',
    },
    {
      count: sum(({ points }) => points.missingCount),
      what: `without ${axis}`,
      hint: `Points without a value for the ${axis} axis.`,
    },
  ];
  return (
    <>
      <OutlierBadge notShown={notShown} />
      {nonFinite.value > 0 && (
        <span
          class="badge tone-paused"
          data-testid="non-finite"
          title="Values that are NaN or infinite. They break the line and are marked on the chart: a cross for NaN, a triangle for an infinity."
        >
          <Icon name="warning" />
          {formatCount(nonFinite.value)} not finite
        </span>
      )}
      {badges
        .filter(({ count }) => count > 0)
        .map(({ count, what, hint }) => (
          <span key={what} class="badge" title={hint}>
            {formatCount(count)} {what}
          </span>
        ))}
    </>
  );
}

function OutlierBadge(props: { readonly notShown: ReadonlySignal<NotShown> }): JSX.Element | null {
  const { outliers } = props.notShown.value;
  if (outliers === undefined) return null;
  return (
    <span
      class="badge tone-paused"
      data-testid="outliers"
      title="The axis of values leaves out outliers: values more than three times the width of the middle half of all values away from it. Switch “Ignore outliers” off to see them."
    >
      {outlierText(outliers)}
    </span>
  );
}

/** How far the values go that are cut off. */
function outlierText({ min, max, lowest, highest }: InnerRange): string {
  const parts = [
    ...(lowest < min ? [`down to ${formatValue(lowest)}`] : []),
    ...(highest > max ? [`up to ${formatValue(highest)}`] : []),
  ];
  return `outliers ${parts.join(' and ')} cut off`;
}
