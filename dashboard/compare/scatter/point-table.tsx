/** The points of a scatter as a table. */
import type { JSX } from 'preact';
import type { RunQuantity } from 'quark-sdk/analysis';
import { t, tn } from '../../parts/t.ts';
import type { ComparisonState } from '../comparison-state.ts';
import { ScrollTable, Head, RowHead } from '../scroll-table.tsx';
import { quantityName } from '../quantities.ts';
import { RunEnd, RunLink, RunSwatch } from '../run-marks.tsx';
import { quantityText, type ScatterPoint } from './scatter-plot.tsx';

/** Lines of the table. */
const MAX_LINES = 500;

/** The runs of the front first. */
export function PointTable(props: {
  readonly state: ComparisonState;
  readonly points: readonly ScatterPoint[];
  readonly x: RunQuantity;
  readonly y: RunQuantity;
  readonly front: readonly number[];
}): JSX.Element {
  const { front, points, state, x, y } = props;
  const isFront = new Set(front);
  const order = [...front, ...[...points.keys()].filter((at) => !isFront.has(at))];
  const summaries = new Map(state.runs.summaries.map((summary) => [summary.run.id, summary]));
  return (
    <details open={front.length > 0}>
      <summary class="small muted">
        {tn(points.length, 'As a table: {count} run', 'As a table: {count} runs')}
      </summary>
      <ScrollTable
        label={t('Points as a table')}
        class="setting-scroll"
        head={
          <>
            <Head isFirst>{t('Run')}</Head>
            <Head isNumber>{quantityName(x)}</Head>
            <Head isNumber>{quantityName(y)}</Head>
            <Head>{t('Pareto front')}</Head>
          </>
        }
      >
        {order.slice(0, MAX_LINES).map((at) => {
          const point = points[at];
          const summary = summaries.get(point?.runId ?? '');
          return (
            point !== undefined && (
              <tr key={point.runId}>
                <RowHead>
                  <span class="inline gap-6">
                    <RunSwatch styleKey={point.runId} />
                    <span class="breakable">{point.name}</span>
                    <RunLink runId={point.runId} name={point.name} />
                  </span>
                  {summary !== undefined && <RunEnd summary={summary} />}
                </RowHead>
                <td class="is-number">{quantityText(x, point.x)}</td>
                <td class="is-number">{quantityText(y, point.y)}</td>
                <td>{isFront.has(at) ? t('in the front') : ''}</td>
              </tr>
            )
          );
        })}
      </ScrollTable>
    </details>
  );
}
