/** Which settings a metric depends on, over all runs of the comparison. */
import type { JSX, RefObject } from 'preact';
import { useRef } from 'preact/hooks';
import {
  configImportance,
  type ConfigImportance,
  type RunQuantity,
  type SettingImportance,
} from 'quark-sdk/analysis';
import { drawnWays } from '../../charts/save/save-drawn.ts';
import { SaveMenu } from '../../charts/save/save-menu.tsx';
import { formatValue } from '../../parts/format.ts';
import { usePromise } from '../../parts/hooks.ts';
import { ErrorNotice, Waiting } from '../../parts/notices.tsx';
import { t, tn } from '../../parts/t.ts';
import type { ComparisonTabProps } from '../comparison-state.ts';
import { ScrollTable, Head, RowHead } from '../scroll-table.tsx';
import { chosenQuantity, quantitiesOf, quantityName, usualTarget } from '../quantities.ts';
import { QuantityChoice } from '../quantity-choice.tsx';
import { cutMiddle, quantityScale } from '../quantity-scale.ts';
import { useWidth } from '../use-width.ts';
import './style.css';

/** The tab. */
export default function ImportanceView({ state }: ComparisonTabProps): JSX.Element {
  void state.recordsRevision.value;
  const records = state.runs.summaries.map(({ run }) => run);
  const quantities = quantitiesOf(records);
  const target = chosenQuantity(quantities, state.target.value, usualTarget(quantities));
  const stamp = records.map(({ id, updatedAt }) => `${id} ${updatedAt}`).join();
  const { error, found } = usePromise(
    target === undefined ? undefined : `${target.id} ${stamp}`,
    () =>
      importanceOf(
        target,
        records.map(({ config }) => config),
      ),
  );
  if (target === undefined)
    return <p class="quiet nothing">{t('The records of these runs have no values of metrics.')}</p>;
  return (
    <section class="stack compare-importance" aria-label={t('Importance')}>
      <div class="compare-controls row wrap gap-12">
        <QuantityChoice
          label={t('Of the metric')}
          quantities={quantities}
          value={target.id}
          isMetric
          onChange={(id) => {
            state.target.value = id;
          }}
        />
      </div>
      {error !== undefined && <ErrorNotice title={t('It cannot be computed')} error={error} />}
      {found === undefined && error === undefined && <Waiting label={t('Computing')} />}
      {found !== undefined && <Answer found={found.value} target={target} />}
    </section>
  );
}

function importanceOf(
  target: RunQuantity | undefined,
  configs: readonly Parameters<typeof configImportance>[0][number]['config'][],
): Promise<ConfigImportance> {
  return configImportance(
    configs.map((config, at) => {
      const value = target?.values[at];
      return { config, value: typeof value === 'number' ? value : null };
    }),
  );
}

/** The method by its name, and what its numbers are. */
function methodText(found: ConfigImportance): string {
  switch (found.method) {
    case 'forest':
      return t(
        'Permutation importance in a random forest (Breiman 2001) over the ranks of the metric: by how much of the variance the error for runs that a tree has not seen grows when the values of the setting are shuffled. Bars have 95 % intervals from random halves of the runs.',
      );
    case 'ranks':
      return t(
        'The share of the variance of ranks that goes with each setting alone, less what chance gives (Kruskal and Wallis; Spearman for settings of many values), with 95 % jackknife intervals and p-values by shuffling, corrected by Holm. With 24 runs a random forest can be asked.',
      );
    case 'none':
      return '';
  }
}

function Answer(props: {
  readonly found: ConfigImportance;
  readonly target: RunQuantity;
}): JSX.Element {
  const { found, target } = props;
  const name = quantityName(target);
  if (found.reason !== null)
    return (
      <p class="quiet" data-testid="no-importance">
        {t('Nothing is said of what {name} depends on: {reason}', { name, reason: found.reason })}
      </p>
    );
  return (
    <>
      <p class="small muted importance-method">
        {methodText(found)}{' '}
        {found.explained !== null &&
          t('The forest predicts {share} % of the variance of runs that it has not seen.', {
            share: Math.round(100 * Math.max(0, found.explained)),
          })}
      </p>
      <p class="small quiet">
        {tn(found.runCount, '{count} run', '{count} runs')}
        {found.leftOutCount > 0 &&
          `, ${tn(found.leftOutCount, '{count} without a finite value left out', '{count} without a finite value left out')}`}
      </p>
      {found.notes.map((note) => (
        <p key={note} class="small tone-paused strip">
          {note}
        </p>
      ))}
      <Bars found={found} name={name} />
      <ImportanceTable settings={found.settings} />
    </>
  );
}

const LINE = 30;
const FOOT = 26;
const PAD = 12;
const MAX_BARS = 40;
const LETTER = 7;

function Bars(props: { readonly found: ConfigImportance; readonly name: string }): JSX.Element {
  const { found, name } = props;
  const svg = useRef<SVGSVGElement>(null);
  const title = t('What {name} depends on', { name });
  const header = ['setting', 'importance', 'low', 'high', 'rank_correlation', 'adjusted_p_value'];
  return (
    <figure class="card importance-card">
      <header class="row spread gap-8">
        <h3 class="ellipsis">{title}</h3>
        <SaveMenu
          name={title}
          ways={() =>
            drawnWays({
              name: title,
              svg: svg.current,
              header,
              rows: () =>
                found.settings.map((one) => [
                  [one.path, ...one.sameAs].join(', '),
                  one.importance,
                  one.low,
                  one.high,
                  one.rankCorrelation,
                  one.adjustedPValue,
                ]),
            })
          }
        />
      </header>
      <BarPlot settings={found.settings.slice(0, MAX_BARS)} svg={svg} />
    </figure>
  );
}

function BarPlot(props: {
  readonly settings: readonly SettingImportance[];
  readonly svg: RefObject<SVGSVGElement | null>;
}): JSX.Element {
  const { settings, svg } = props;
  const frame = useRef<HTMLDivElement>(null);
  const width = useWidth(frame);
  const labels = Math.min(220, width.value * 0.36);
  const plot = Math.max(0, width.value - labels - 2 * PAD);
  const ends = settings.flatMap(({ high, importance, low }) => [low, high, importance]);
  const scale = quantityScale([0, ...ends], false, 5);
  const foot = settings.length * LINE;
  const x = (value: number): number => labels + PAD + (scale.at(value) ?? 0) * plot;
  return (
    <div ref={frame}>
      <svg
        ref={svg}
        width={width.value}
        height={foot + FOOT}
        role="img"
        aria-label={t('Bars of importance. The table below has the same.')}
      >
        {scale.ticks.map(({ at, label }) => {
          const tick = labels + PAD + at * plot;
          return (
            <g key={label}>
              <line class="grid-line" x1={tick} x2={tick} y1="0" y2={foot} />
              <text class="axis-label" x={tick} y={foot + 18} text-anchor="middle">
                {label}
              </text>
            </g>
          );
        })}
        {settings.map((one, at) => (
          <Bar key={one.path} of={one} y={at * LINE + LINE / 2} x={x} labels={labels} />
        ))}
      </svg>
    </div>
  );
}

function Bar(props: {
  readonly of: SettingImportance;
  readonly x: (value: number) => number;
  readonly y: number;
  /** The width of the names. */
  readonly labels: number;
}): JSX.Element {
  const { labels, x, y } = props;
  const { high, importance, low, path } = props.of;
  const [from, to] = [x(Math.min(0, importance)), x(Math.max(0, importance))];
  return (
    <g>
      <text class="lane-name" x={labels} y={y + 4} text-anchor="end">
        {cutMiddle(path, Math.max(6, Math.floor(labels / LETTER)))}
      </text>
      <rect class="importance-bar" x={from} y={y - 7} width={Math.max(1, to - from)} height="14" />
      <path
        class="importance-interval"
        d={`M${x(low)} ${y}H${x(high)}M${x(low)} ${y - 4}v8M${x(high)} ${y - 4}v8`}
      />
    </g>
  );
}

function ImportanceTable(props: { readonly settings: readonly SettingImportance[] }): JSX.Element {
  const hasTests = props.settings.some(({ adjustedPValue }) => adjustedPValue !== null);
  return (
    <ScrollTable
      label={t('Table of importance')}
      head={
        <>
          <Head isFirst>{t('Setting')}</Head>
          <Head isNumber>{t('Importance')}</Head>
          <Head isNumber>{t('95 % interval')}</Head>
          <Head isNumber>{t('Rank correlation')}</Head>
          {hasTests && <Head isNumber>{t('p (Holm)')}</Head>}
          <Head>{t('Told from chance')}</Head>
        </>
      }
    >
      {props.settings.map((one) => (
        <tr key={one.path}>
          <RowHead>{[one.path, ...one.sameAs].join(', ')}</RowHead>
          <td class="is-number">{one.importance.toFixed(2)}</td>
          <td class="is-number">
            {t('{low} to {high}', { low: one.low.toFixed(2), high: one.high.toFixed(2) })}
          </td>
          <td class="is-number">{one.rankCorrelation?.toFixed(2) ?? '–'}</td>
          {hasTests && (
            <td class="is-number">
              {one.adjustedPValue === null ? '–' : formatValue(one.adjustedPValue)}
            </td>
          )}
          <td>{isTold(one) ? t('yes') : t('no')}</td>
        </tr>
      ))}
    </ScrollTable>
  );
}

/** Whether chance alone would hardly give as much. */
function isTold({ adjustedPValue, low }: SettingImportance): boolean {
  return adjustedPValue === null ? low > 0 : adjustedPValue < 0.05;
}
