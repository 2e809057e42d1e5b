/** Any two settings or metrics of all runs against each other, and the runs that no other beats in both. */
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { paretoFront, type RunQuantity } from 'quark-sdk/analysis';
import { setterOf } from '../../parts/signals.ts';
import { t, tn } from '../../parts/t.ts';
import type { ComparisonState, ComparisonTabProps } from '../comparison-state.ts';
import {
  chosenQuantity,
  metricId,
  quantitiesOf,
  quantityName,
  usualTarget,
  type Quantities,
} from '../quantities.ts';
import { QuantityChoice } from '../quantity-choice.tsx';
import { quantityScale } from '../quantity-scale.ts';
import { giveStyles } from '../run-styles.ts';
import { ScatterPlot, type ScatterPoint } from './scatter-plot.tsx';
import { PointTable } from './point-table.tsx';
import './style.css';

/** The tab. */
export default function ScatterView({ state }: ComparisonTabProps): JSX.Element {
  void state.recordsRevision.value;
  const records = state.runs.summaries.map(({ run }) => run);
  const text = records.map(({ id }) => id).join();
  useEffect(() => giveStyles(records.map(({ id }) => id)), [text]);
  const quantities = quantitiesOf(records);
  const usualY = usualTarget(quantities);
  const y = chosenQuantity(quantities, state.y.value, usualY);
  const x = chosenQuantity(quantities, state.x.value, usualX(quantities, usualY));
  if (x === undefined || y === undefined)
    return <p class="quiet nothing">{t('The records of these runs have no values of metrics.')}</p>;
  const points = records.flatMap(({ id }, at): readonly ScatterPoint[] => {
    const [valueX, valueY] = [x.values[at] ?? null, y.values[at] ?? null];
    if (valueX === null || valueY === null) return [];
    return [{ runId: id, name: state.runs.nameOf(id), x: valueX, y: valueY }];
  });
  const front = frontOf(points, x, y);
  const isShown = state.showsFront.value;
  return (
    <section class="stack compare-scatter" aria-label={t('Scatter')}>
      <h2 class="sr-only">{t('Scatter')}</h2>
      <Choices state={state} quantities={quantities} x={x} y={y} />
      <p class="small quiet">
        {tn(points.length, '{count} run', '{count} runs')}
        {points.length < records.length &&
          `, ${t('{count} without both values', { count: records.length - points.length })}`}
        {'. '}
        {isShown && frontText(front, x, y)}
      </p>
      <ScatterPlot state={state} points={points} x={x} y={y} front={isShown ? (front ?? []) : []} />
      <PointTable state={state} points={points} x={x} y={y} front={isShown ? (front ?? []) : []} />
    </section>
  );
}

/** A setting that differs, else another metric. */
function usualX(
  { metrics, records, settings }: Quantities,
  y: string | undefined,
): string | undefined {
  const other = metrics.map((key) => metricId(records, key)).find((id) => id !== y);
  return settings.find((id) => !/seed/i.test(id)) ?? settings[0] ?? other ?? y;
}

/** Positions of the points in the front; undefined where nobody knows which way a quantity is better. */
function frontOf(
  points: readonly ScatterPoint[],
  { direction: betterX }: RunQuantity,
  { direction: betterY }: RunQuantity,
): readonly number[] | undefined {
  if (betterX === null || betterY === null) return undefined;
  const number = (value: number | string): number | null =>
    typeof value === 'number' ? value : null;
  return paretoFront(
    points.map(({ x, y }) => ({ x: number(x), y: number(y) })),
    { x: betterX, y: betterY },
  );
}

function frontText(front: readonly number[] | undefined, x: RunQuantity, y: RunQuantity): string {
  if (front === undefined)
    return t('There is no Pareto front: of {names} nobody knows which way is better.', {
      names: [x, y]
        .filter(({ direction }) => direction === null)
        .map(quantityName)
        .join(', '),
    });
  return tn(
    front.length,
    'Pareto front: {count} run is not beaten in both ({x} better when {betterX}, {y} when {betterY}).',
    'Pareto front: {count} runs are not beaten in both ({x} better when {betterX}, {y} when {betterY}).',
    {
      x: quantityName(x),
      y: quantityName(y),
      betterX: x.direction === 'lower' ? t('lower') : t('higher'),
      betterY: y.direction === 'lower' ? t('lower') : t('higher'),
    },
  );
}

function Choices(props: {
  readonly state: ComparisonState;
  readonly quantities: Quantities;
  readonly x: RunQuantity;
  readonly y: RunQuantity;
}): JSX.Element {
  const { quantities, state, x, y } = props;
  return (
    <div class="compare-controls row wrap gap-12">
      <QuantityChoice
        label={t('Across')}
        quantities={quantities}
        value={x.id}
        onChange={setterOf(state.x)}
      />
      <LogSwitch
        label={t('log')}
        isOn={quantityScale(x.values, state.logX.value).kind === 'log'}
        isPossible={quantityScale(x.values, true).kind === 'log'}
        onChange={(isOn) => {
          state.logX.value = isOn;
        }}
        name={t('Logarithmic across')}
      />
      <QuantityChoice
        label={t('Up')}
        quantities={quantities}
        value={y.id}
        onChange={setterOf(state.y)}
      />
      <LogSwitch
        label={t('log')}
        isOn={quantityScale(y.values, state.logY.value).kind === 'log'}
        isPossible={quantityScale(y.values, true).kind === 'log'}
        onChange={(isOn) => {
          state.logY.value = isOn;
        }}
        name={t('Logarithmic up')}
      />
      <LogSwitch
        label={t('Pareto front')}
        name={t('Pareto front')}
        isOn={state.showsFront.value}
        isPossible
        onChange={setterOf(state.showsFront)}
      />
    </div>
  );
}

function LogSwitch(props: {
  readonly label: string;
  readonly name: string;
  readonly isOn: boolean;
  readonly isPossible: boolean;
  readonly onChange: (isOn: boolean) => void;
}): JSX.Element {
  return (
    <label class="switch small">
      <input
        type="checkbox"
        aria-label={props.name}
        checked={props.isOn}
        disabled={!props.isPossible}
        onChange={(event) => props.onChange(event.currentTarget.checked)}
      />
      <span>{props.label}</span>
    </label>
  );
}
