/** The runs, or groups of runs, of all charts of the page: their colours, and which of them are shown. */
import type { JSX } from 'preact';
import type { ChartView } from '../../charts/chart-view.ts';
import { toggled } from '../../parts/signals.ts';
import { t, tn } from '../../parts/t.ts';
import type { ComparedColumn, ComparisonState } from '../comparison-state.ts';
import { RunEnd, RunLink, StyleButton } from '../run-marks.tsx';

/** One line for each run or group. */
export function RunLegend(props: {
  readonly state: ComparisonState;
  readonly columns: readonly ComparedColumn[];
  readonly view: ChartView;
}): JSX.Element {
  const { columns, state, view } = props;
  const summaries = new Map(state.runs.summaries.map((summary) => [summary.run.id, summary]));
  return (
    <ul class="run-legend card" aria-label={t('Runs of the charts')} tabIndex={0}>
      {columns.map(({ key, name, runIds }) => {
        const isHidden = view.hidden.value.has(key);
        const summary = summaries.get(key);
        return (
          <li key={key} class="legend-run inline">
            <StyleButton styleKey={key} name={name} />
            <button
              type="button"
              class="legend-item"
              aria-pressed={!isHidden}
              title={isHidden ? t('Show {name}', { name }) : t('Hide {name}', { name })}
              onClick={() => {
                view.hidden.value = toggled(view.hidden.value, key);
              }}
            >
              <span class="legend-name ellipsis">{name}</span>
              {summary === undefined && (
                <span class="quiet">{tn(runIds.length, '{count} run', '{count} runs')}</span>
              )}
            </button>
            {summary !== undefined && <RunEnd summary={summary} />}
            {summary !== undefined && <RunLink runId={key} name={name} />}
          </li>
        );
      })}
    </ul>
  );
}
