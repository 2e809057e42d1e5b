/** A table of values: a row for each metric, a column for each run or group, and how far each is from a baseline. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useMemo } from 'preact/hooks';
import { compareValues, summarizedMetrics, type ValueRow } from 'quark-sdk/analysis';
import { isMachineMetric } from '../../charts/group.ts';
import { csvBlob } from '../../charts/save/save-csv.ts';
import { downloadName, saveBlob } from '../../charts/save/save-file.ts';
import { SaveMenu } from '../../charts/save/save-menu.tsx';
import { Button, Segmented } from '../../parts/controls.tsx';
import { usePolling } from '../../parts/hooks.ts';
import { adding, setterOf } from '../../parts/signals.ts';
import { t, tn } from '../../parts/t.ts';
import { MAX_COMPARED, MAX_GROUPED } from '../compare-feed.ts';
import {
  comparedColumns,
  SHOWN_STATISTICS,
  type ComparedColumn,
  type ComparisonState,
  type ComparisonTabProps,
  type ShownStatistic,
} from '../comparison-state.ts';
import { GroupChoice, hasText, SearchField } from '../group-controls.tsx';
import { giveStyles } from '../run-styles.ts';
import { stepSamples, summarySamples } from './value-samples.ts';
import { ValueTable } from './value-table.tsx';
import './style.css';

/** Metrics that the table begins with, and that come with each press of "More". */
const ROWS_AT_FIRST = 60;
const MORE_ROWS = 120;
/** Columns that the table shows. */
const MAX_COLUMNS = 60;
const POLL_MS = 3000;

/** The tab. */
export default function ValuesView({ state }: ComparisonTabProps): JSX.Element {
  const { runs } = state;
  const all = comparedColumns(state);
  const columns = all.slice(0, MAX_COLUMNS);
  const text = columns.map(({ key }) => key).join();
  useEffect(() => giveStyles(columns.map(({ key }) => key)), [text]);
  const shownCount = useSignal(ROWS_AT_FIRST);
  const metrics = summarizedMetrics(runs.summaries.map(({ run }) => run)).filter((metric) =>
    hasText(metric, state.search.value),
  );
  // What the machine did comes last.
  const ordered = [
    ...metrics.filter((metric) => !isMachineMetric(metric)),
    ...metrics.filter(isMachineMetric),
  ];
  const shown = ordered.slice(0, shownCount.value);
  useStepCurves(state, shown);
  const rows = rowsOf(state, columns, shown);
  const baseline = baselineOf(state, columns);
  return (
    <section aria-label={t('Values')}>
      <h2 class="sr-only">{t('Values')}</h2>
      <Controls
        state={state}
        columns={columns}
        onSave={() => csvOf(columns, rowsOf(state, columns, ordered))}
      />
      <p class="quiet small">{explain(state, columns, baseline)}</p>
      {all.length > columns.length && (
        <p class="quiet small">
          {t(
            'The table has the first {most} of {count} columns. Group the runs to see all of them.',
            {
              most: MAX_COLUMNS,
              count: all.length,
            },
          )}
        </p>
      )}
      {rows.length === 0 ? (
        <p class="quiet nothing">
          {state.search.value === ''
            ? t('The records of these runs have no values of metrics.')
            : t('No metric has this in its name.')}
        </p>
      ) : (
        <ValueTable state={state} columns={columns} rows={rows} baseline={baseline} />
      )}
      {ordered.length > shown.length && (
        <Button class="more" onClick={adding(shownCount, MORE_ROWS)}>
          {tn(ordered.length - shown.length, '{count} more metric', '{count} more metrics')}
        </Button>
      )}
    </section>
  );
}

function Controls(props: {
  readonly state: ComparisonState;
  readonly columns: readonly ComparedColumn[];
  /** The whole table as a file. */
  readonly onSave: () => Promise<Blob>;
}): JSX.Element {
  const { columns, onSave, state } = props;
  return (
    <div class="compare-controls row wrap gap-12">
      <GroupChoice state={state} />
      <Segmented
        label={t('Value')}
        options={SHOWN_STATISTICS.map((value) => ({ value, label: statisticLabel(value) }))}
        value={state.statistic.value}
        onChange={setterOf(state.statistic)}
      />
      {state.statistic.value === 'step' && <StepField state={state} />}
      <BaselineChoice state={state} columns={columns} />
      <SearchField state={state} label={t('Search metrics')} />
      <SaveMenu
        name={t('Values')}
        ways={() => [
          {
            label: 'CSV',
            hint: t('all values and differences'),
            save: async () =>
              saveBlob(
                downloadName([t('comparison'), statisticLabel(state.statistic.value)], 'csv'),
                await onSave(),
              ),
          },
        ]}
      />
    </div>
  );
}

function statisticLabel(statistic: ShownStatistic): string {
  switch (statistic) {
    case 'last':
      return t('Last');
    case 'best':
      return t('Best');
    case 'min':
      return t('Min');
    case 'max':
      return t('Max');
    case 'step':
      return t('At a step');
  }
}

/** What the cells are, in words. */
function explain(
  state: ComparisonState,
  columns: readonly ComparedColumn[],
  baseline: number,
): string {
  const name = columns[baseline]?.name ?? '';
  const hasSeeds = columns.some(({ runIds }) => runIds.length > 1);
  const differences = t('Differences are from {name}, absolute and as a share of it.', { name });
  if (state.grouping.value === undefined || !hasSeeds) return differences;
  return `${t('Cells are means over the runs of a group with the 95 % interval of the mean.')} ${differences} ${t('A difference is called significant where Welch’s test with Holm’s correction over the columns gives p below 0.05.')}`;
}

function baselineOf(state: ComparisonState, columns: readonly ComparedColumn[]): number {
  return Math.max(
    0,
    columns.findIndex(({ key }) => key === state.baseline.value),
  );
}

function rowsOf(
  state: ComparisonState,
  columns: readonly ComparedColumn[],
  metrics: readonly string[],
): readonly ValueRow[] {
  const { feed, runs } = state;
  const statistic = state.statistic.value;
  const baseline = baselineOf(state, columns);
  const records = new Map(runs.summaries.map(({ run }) => [run.id, run]));
  if (statistic === 'step') void state.curvesRevision.value;
  return metrics.map((metric) => {
    const samples =
      statistic === 'step'
        ? stepSamples(columns, feed, metric, state.step.value)
        : summarySamples(columns, records, metric, statistic);
    return compareValues(metric, samples, samples.length === 0 ? {} : { baseline });
  });
}

/** Values at a step are read from curves; nothing else is. */
function useStepCurves(state: ComparisonState, metrics: readonly string[]): void {
  const { curvesRevision, feed, grouping, runs, statistic } = state;
  const isAsked = statistic.value === 'step';
  const text = isAsked ? metrics.join('\n') : '';
  const most = grouping.value === undefined ? MAX_COMPARED : MAX_GROUPED;
  useMemo(() => {
    feed.want(new Set(isAsked ? metrics : []));
    feed.show(runs.runIds, most);
  }, [text, most]);
  usePolling(
    async () => {
      if (isAsked && (await feed.poll())) curvesRevision.value += 1;
    },
    () => POLL_MS,
    [text, most],
  );
}

function StepField({ state }: { readonly state: ComparisonState }): JSX.Element {
  return (
    <label class="inline gap-8 muted small">
      <span>{t('Step')}</span>
      <input
        type="number"
        class="input step-field"
        min="0"
        step="1"
        value={state.step.value}
        onChange={(event) => {
          const value = Math.round(Number(event.currentTarget.value));
          if (Number.isSafeInteger(value) && value >= 0) state.step.value = value;
        }}
      />
    </label>
  );
}

function BaselineChoice(props: {
  readonly state: ComparisonState;
  readonly columns: readonly ComparedColumn[];
}): JSX.Element {
  const { columns, state } = props;
  return (
    <label class="compare-choice inline gap-8 muted small">
      <span>{t('Baseline')}</span>
      <select
        class="input"
        value={columns[baselineOf(state, columns)]?.key}
        onChange={(event) => {
          state.baseline.value = event.currentTarget.value;
        }}
      >
        {columns.map(({ key, name }) => (
          <option key={key} value={key}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

function csvOf(columns: readonly ComparedColumn[], rows: readonly ValueRow[]): Promise<Blob> {
  const header = [
    'metric',
    'column',
    'runs',
    'mean',
    'std',
    'low',
    'high',
    'difference',
    'share',
    'adjusted_p_value',
  ];
  return csvBlob(
    header,
    rows.flatMap(({ cells, metricKey }) =>
      cells.map((cell, at) => [
        metricKey,
        columns[at]?.name,
        cell.count,
        cell.mean,
        cell.std,
        cell.low,
        cell.high,
        cell.difference,
        cell.share,
        cell.adjustedPValue,
      ]),
    ),
  );
}
