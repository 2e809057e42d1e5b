/** The lines of parallel axes as a table. */
import type { Signal } from '@preact/signals';
import type { JSX } from 'preact';
import { formatMetric } from '../../parts/format.ts';
import { setting } from '../../parts/signals.ts';
import { t, tn } from '../../parts/t.ts';
import type { ComparisonState } from '../comparison-state.ts';
import { ScrollTable, Head, RowHead } from '../scroll-table.tsx';
import { quantityName } from '../quantities.ts';
import { RunEnd, RunLink } from '../run-marks.tsx';
import type { ParallelAxis } from './parallel-plot.tsx';

/** The runs that go through the brushes. */
export function LineTable(props: {
  readonly state: ComparisonState;
  readonly axes: readonly ParallelAxis[];
  readonly isThrough: readonly boolean[];
  readonly current: Signal<string | undefined>;
}): JSX.Element {
  const { axes, current, isThrough, state } = props;
  const shown = [...state.runs.summaries.entries()].filter(([at]) => isThrough[at] === true);
  return (
    <details>
      <summary class="small muted">
        {tn(shown.length, 'As a table: {count} run', 'As a table: {count} runs')}
      </summary>
      <ScrollTable
        label={t('Lines as a table')}
        class="setting-scroll"
        head={
          <>
            <Head isFirst>{t('Run')}</Head>
            {axes.map(({ quantity }) => (
              <Head key={quantity.id} isNumber>
                {quantityName(quantity)}
              </Head>
            ))}
          </>
        }
      >
        {shown.map(([at, summary]) => {
          const { id } = summary.run;
          const name = state.runs.nameOf(id);
          return (
            <tr key={id} onPointerEnter={setting(current, id)} onFocusIn={setting(current, id)}>
              <RowHead>
                <span class="inline gap-6">
                  <span class="breakable">{name}</span>
                  <RunLink runId={id} name={name} />
                </span>
                <RunEnd summary={summary} />
              </RowHead>
              {axes.map(({ quantity }) => {
                const value = quantity.values[at] ?? null;
                return (
                  <td key={quantity.id} class="is-number">
                    {typeof value === 'number'
                      ? formatMetric(quantity.name, value)
                      : (value ?? '–')}
                  </td>
                );
              })}
            </tr>
          );
        })}
      </ScrollTable>
    </details>
  );
}
