/** Parallel axes (Inselberg 1985): a line for each run through its settings and metrics. */
import { useSignal, type Signal } from '@preact/signals';
import type { JSX } from 'preact';
import { runQuantity, type RunQuantity } from 'quark-sdk/analysis';
import { Button, ButtonLink, IconButton } from '../../parts/controls.tsx';
import { setting } from '../../parts/signals.ts';
import { t, tn } from '../../parts/t.ts';
import { hrefOf } from '../../route/route.ts';
import type { ComparisonState, ComparisonTabProps } from '../comparison-state.ts';
import { lineColors, type LineColors } from '../line-colors.ts';
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
import { goesThrough, type Brushes } from '../brushes.ts';
import { ParallelPlot, type ParallelAxis } from './parallel-plot.tsx';
import { LineTable } from './line-table.tsx';
import './style.css';

/** Settings that have an axis unless somebody chooses others. */
const SETTINGS_AT_FIRST = 6;
const METRICS_AT_FIRST = 4;
/** Axes at most: more cannot be told apart. */
const MAX_AXES = 16;

/** The tab. */
export default function ParallelView({ state }: ComparisonTabProps): JSX.Element {
  void state.recordsRevision.value;
  const { brushes } = state;
  const current = useSignal<string | undefined>(undefined);
  const records = state.runs.summaries.map(({ run }) => run);
  const quantities = quantitiesOf(records);
  const target = chosenQuantity(quantities, state.target.value, usualTarget(quantities));
  if (target === undefined)
    return <p class="quiet nothing">{t('The records of these runs have no values of metrics.')}</p>;
  const ids = shownIds(state, quantities, target);
  const axes = ids.flatMap((id): readonly ParallelAxis[] => {
    const quantity = runQuantity(records, id);
    return quantity === undefined
      ? []
      : [{ quantity, scale: quantityScale(quantity.values, undefined) }];
  });
  const isLog = quantityScale(target.values, undefined).kind === 'log';
  const colors = lineColors(target, isLog);
  const isThrough = records.map((_, at) =>
    goesThrough(brushes.value, (id) => {
      const axis = axes.find(({ quantity }) => quantity.id === id);
      return axis?.scale.at(axis.quantity.values[at] ?? null);
    }),
  );
  const through = records.flatMap(({ id }, at) => (isThrough[at] === true ? [id] : []));
  return (
    <section class="stack compare-parallel" aria-label={t('Parallel axes')}>
      <h2 class="sr-only">{t('Parallel axes')}</h2>
      <Controls state={state} quantities={quantities} target={target} ids={ids} colors={colors} />
      <ParallelPlot
        state={state}
        axes={axes}
        target={target}
        colors={colors}
        isThrough={isThrough}
        brushes={brushes}
        current={current}
      />
      <Marked brushes={brushes} through={through} total={records.length} />
      <AxisList state={state} axes={axes} />
      <LineTable state={state} axes={axes} isThrough={isThrough} current={current} />
    </section>
  );
}

/** How many runs go through the marked parts, and what to do with them. */
function Marked(props: {
  readonly brushes: Signal<Brushes>;
  readonly through: readonly string[];
  /** How many runs there are. */
  readonly total: number;
}): JSX.Element {
  const { brushes, through, total } = props;
  return (
    <div class="row wrap gap-10 small">
      <span role="status">
        {brushes.value.size === 0
          ? t(
              'Drag along an axis to mark the runs that go through it there; or focus it and use the arrow keys, plus, minus and Escape.',
            )
          : tn(
              through.length,
              '{count} run goes through the marked parts',
              '{count} runs go through the marked parts',
            )}
      </span>
      {brushes.value.size > 0 && (
        <>
          <Button isSmall onClick={setting(brushes, new Map())}>
            {t('Clear the marks')}
          </Button>
          {through.length > 1 && through.length < total && (
            <ButtonLink isSmall href={hrefOf({ kind: 'compare', runIds: through })}>
              {t('Compare these')}
            </ButtonLink>
          )}
        </>
      )}
    </div>
  );
}

/** Ids of the axes: those that were chosen, else the settings that differ, and the metric at the end. */
function shownIds(
  state: ComparisonState,
  { metrics, records, settings }: Quantities,
  target: RunQuantity,
): readonly string[] {
  if (state.axes.value.length > 0) return state.axes.value.slice(0, MAX_AXES);
  const telling = settings.filter((id) => !/seed/i.test(id));
  const first = (telling.length > 0 ? telling : settings).slice(0, SETTINGS_AT_FIRST);
  // One axis alone shows no lines: runs of one configuration are told by what they measured.
  const others = first.length > 0 ? [] : metrics.map((key) => metricId(records, key));
  const measured = others.filter((id) => id !== target.id).slice(0, METRICS_AT_FIRST);
  return [...first, ...measured, target.id];
}

function Controls(props: {
  readonly state: ComparisonState;
  readonly quantities: Quantities;
  readonly target: RunQuantity;
  readonly ids: readonly string[];
  readonly colors: LineColors;
}): JSX.Element {
  const { colors, ids, quantities, state, target } = props;
  return (
    <div class="compare-controls row wrap gap-12">
      <QuantityChoice
        label={t('Colour by')}
        quantities={quantities}
        value={target.id}
        isMetric
        onChange={(id) => {
          state.target.value = id;
        }}
      />
      <span class="line-legend small muted">
        <span class="line-ramp" style={{ background: colors.gradient }} />
        {colors.ticks.map(({ share, text }) => (
          <span key={share}>{text}</span>
        ))}
      </span>
      {ids.length < MAX_AXES && (
        <QuantityChoice
          label={t('Add an axis')}
          quantities={quantities}
          value=""
          onChange={(id) => {
            if (id !== '' && !ids.includes(id)) state.axes.value = [...ids, id];
          }}
        />
      )}
    </div>
  );
}

/** The axes by name, with what can be done to each. */
function AxisList(props: {
  readonly state: ComparisonState;
  readonly axes: readonly ParallelAxis[];
}): JSX.Element {
  const { axes, state } = props;
  const ids = axes.map(({ quantity }) => quantity.id);
  const moved = (from: number, to: number): void => {
    const next = [...ids];
    const [id] = next.splice(from, 1);
    if (id !== undefined) next.splice(to, 0, id);
    state.axes.value = next;
  };
  return (
    <ul class="axis-list row wrap gap-6" aria-label={t('Axes')}>
      {axes.map(({ quantity, scale }, at) => {
        const name = quantityName(quantity);
        return (
          <li key={quantity.id} class="axis-item inline small">
            <span class="breakable">
              {name}
              {scale.kind === 'log' && <span class="quiet"> {t('log')}</span>}
            </span>
            {at > 0 && (
              <IconButton
                icon="back"
                label={t('Move {name} to the left', { name })}
                onClick={() => moved(at, at - 1)}
              />
            )}
            {at < axes.length - 1 && (
              <IconButton
                icon="forward"
                label={t('Move {name} to the right', { name })}
                onClick={() => moved(at, at + 1)}
              />
            )}
            {axes.length > 2 && (
              <IconButton
                icon="close"
                label={t('Remove the axis {name}', { name })}
                onClick={() => {
                  state.axes.value = ids.filter((id) => id !== quantity.id);
                }}
              />
            )}
          </li>
        );
      })}
    </ul>
  );
}
