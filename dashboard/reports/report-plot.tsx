/** A chart of a report: curves as SVG, so that a report is one file without a script. */
import type { JSX } from 'preact';
import type { ReportCurve } from 'quark-sdk/workspace';
import { formatValue } from '../parts/format.ts';
import { t } from '../parts/t.ts';

const WIDTH = 720;
const HEIGHT = 240;
const LEFT = 64;
const RIGHT = 12;
const TOP = 12;
const BOTTOM = 26;
const COLORS = 8;
const TICKS = [0, 0.25, 0.5, 0.75, 1];

/** The curves in one plot, with a legend below. */
export function ReportPlot(props: {
  readonly title: string;
  readonly curves: readonly ReportCurve[];
}): JSX.Element {
  const { curves, title } = props;
  const x = extentOf(curves.map(({ steps }) => steps));
  const y = extentOf(curves.map(({ values }) => values));
  if (x === undefined || y === undefined)
    return <p class="nothing">{t('No run of the query has values of this metric.')}</p>;
  const left = (value: number): number => LEFT + shareOf(x, value) * (WIDTH - LEFT - RIGHT);
  const top = (value: number): number =>
    HEIGHT - BOTTOM - shareOf(y, value) * (HEIGHT - TOP - BOTTOM);
  return (
    <figure class="report-plot">
      <figcaption class="breakable">{title}</figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={describe(title, curves)}>
        {TICKS.map((share) => {
          const value = y.low + share * (y.high - y.low);
          const position = x.low + share * (x.high - x.low);
          return (
            <g key={share}>
              <line class="grid" x1={LEFT} x2={WIDTH - RIGHT} y1={top(value)} y2={top(value)} />
              <text x={LEFT - 6} y={top(value) + 4} text-anchor="end">
                {formatValue(value)}
              </text>
              <text
                x={left(position)}
                y={HEIGHT - 8}
                text-anchor={share === 1 ? 'end' : share === 0 ? 'start' : 'middle'}
              >
                {formatValue(position)}
              </text>
            </g>
          );
        })}
        {curves.map((curve, at) => (
          // oxlint-disable-next-line react/no-array-index-key -- runs may have one name; their order is that of the query
          <path key={at} class={`curve s${at % COLORS}`} d={pathOf(curve, left, top)} />
        ))}
      </svg>
      <ul class="report-legend">
        {curves.map(({ label, values }, at) => (
          // oxlint-disable-next-line react/no-array-index-key -- as above
          <li key={at} class={`s${at % COLORS}`}>
            <span class="breakable">{label}</span>{' '}
            <b>{values.length === 0 ? '–' : formatValue(values.at(-1) ?? 0)}</b>
          </li>
        ))}
      </ul>
    </figure>
  );
}

type Extent = { readonly low: number; readonly high: number };

function extentOf(lists: readonly (readonly number[])[]): Extent | undefined {
  let [low, high] = [Infinity, -Infinity];
  for (const list of lists)
    for (const value of list) {
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
  return low <= high ? { low, high } : undefined;
}

/** Of a range without width the middle is the position of all. */
function shareOf({ high, low }: Extent, value: number): number {
  return high > low ? (value - low) / (high - low) : 0.5;
}

function pathOf(
  { steps, values }: ReportCurve,
  left: (value: number) => number,
  top: (value: number) => number,
): string {
  return steps
    .map(
      (step, at) =>
        `${at === 0 ? 'M' : 'L'}${left(step).toFixed(1)} ${top(values[at] ?? 0).toFixed(1)}`,
    )
    .join('');
}

function describe(title: string, curves: readonly ReportCurve[]): string {
  const ends = curves.map(({ label, values }) => `${label} ${formatValue(values.at(-1) ?? 0)}`);
  return `${title}: ${ends.join(', ')}`;
}
