/** What the analyzers say of a run: its health, its phases over the loss, and what was found. */
import { useComputed, useSignal, type ReadonlySignal, type Signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { phaseBands } from '../../annotations/phase-bands.ts';
import { widenedRange } from '../../charts/plot/chart-range.ts';
import {
  ALL_PANELS,
  createChartView,
  linkPanels,
  showAll,
  zoomTo,
  type ChartView,
} from '../../charts/chart-view.ts';
import { ZOOMS } from '../../charts/chart-text.ts';
import { FLAG, plainText } from '../../parts/address-text.ts';
import { useAddressed } from '../../parts/addressed.ts';
import { groupMetrics } from '../../charts/group.ts';
import type { ChartBand } from '../../charts/metric-chart.ts';
import type { PanelContext } from '../../charts/chart-state.ts';
import { Panel } from '../../charts/panel.tsx';
import type { XRange } from '../../charts/reduce.ts';
import { analyzeInWorker } from '../../dropped/analysis.ts';
import { Button } from '../../parts/controls.tsx';
import { formatCount } from '../../parts/format.ts';
import { ErrorNotice, SectionHead, errorText, Waiting, Warning } from '../../parts/notices.tsx';
import { t } from '../../parts/t.ts';
import type { RunFeed } from '../../series/run-feed.ts';
import { seriesColor } from '../../theme/palette.ts';
import { phaseColor } from '../../theme/phase-color.ts';
import type { RunAnalysis } from '../../worker/run-analysis.ts';
import type { TabProps } from '../feed/tab.ts';
import { askingStamp, useAsked } from '../feed/use-asked.ts';
import { runOutcome } from '../header/run-outcome.ts';
import { isAcknowledged, sayingCount } from './alert-changes.ts';
import { AlertList } from './alert-list.tsx';
import { RolesForm } from './roles-form.tsx';
import { SilenceForm } from './silence-form.tsx';
import './style.css';

/** The "Analysis" tab. */
export default function AnalysisView({ feed, watch }: TabProps): JSX.Element {
  const { store } = feed.reader;
  const { answer, error, retry } = useAsked(
    () => analyzeInWorker(store, feed.run.id),
    feed,
    `${askingStamp(feed, watch.nowMs.value)} ${sayingCount(feed.events)}`,
  );
  if (answer.value === undefined) {
    if (error.value === undefined) return <Waiting label={t('Analysing the run')} />;
    return (
      <ErrorNotice title={t('This run cannot be analysed')} error={error.value} onRetry={retry} />
    );
  }
  return (
    <>
      {error.value !== undefined && (
        <Warning>
          {t('It could not be analysed again: {reason}', { reason: errorText(error.value) })}
        </Warning>
      )}
      <Findings feed={feed} analysis={answer.value} revision={watch.revision} onSaid={retry} />
    </>
  );
}

function Findings(props: {
  readonly feed: RunFeed;
  readonly analysis: RunAnalysis;
  readonly revision: ReadonlySignal<number>;
  /** Called when something was said of an alert: the run is judged again. */
  readonly onSaid: () => void;
}): JSX.Element {
  const { feed, analysis, onSaid } = props;
  const marked = useSignal<XRange | undefined>(undefined);
  const view = useMemo(() => {
    const made = createChartView();
    made.smoothing.value = 0;
    return made;
  }, [feed]);
  view.axis.value = analysis.phaseAxis;
  useAddressed('linked', view.isLinked, FLAG);
  useAddressed('zoom', view.zooms, ZOOMS);
  const show = (range: XRange): void => {
    marked.value = range;
    const extent = feed.series.extent(analysis.phaseAxis, 0) ?? range;
    linkPanels(view, true);
    zoomTo(view, ALL_PANELS, widenedRange(range, extent));
    document.querySelector('.analysis-chart')?.scrollIntoView({ block: 'nearest' });
  };
  return (
    <section class="analysis stack" aria-label={t('Analysis')}>
      <Verdict feed={feed} analysis={analysis} onSaid={onSaid} />
      <Health analysis={analysis} />
      <PhaseChart {...props} view={view} marked={marked} onShow={show} />
      <Alerts feed={feed} analysis={analysis} onShow={show} onSaid={onSaid} />
    </section>
  );
}

const TONES: Readonly<Record<RunAnalysis['healthScores'][number]['status'], string>> = {
  healthy: 'live',
  watch: 'accent',
  degraded: 'paused',
  critical: 'bad',
  not_assessed: 'done',
};

/** The run in a line or two, in the colour of its health. */
function Verdict(props: {
  readonly feed: RunFeed;
  readonly analysis: RunAnalysis;
  readonly onSaid: () => void;
}): JSX.Element {
  const { analysis, feed } = props;
  const outcome = runOutcome(feed);
  const overall = analysis.healthScores.find(({ scoreKey }) => scoreKey === 'overall');
  const [first, ...rest] = analysis.verdict;
  return (
    <header class={`verdict stack gap-6 tone-${TONES[overall?.status ?? 'not_assessed']}`}>
      {outcome !== undefined && (
        <p class={`strong breakable ${outcome.isFailure ? 'is-bad' : ''}`}>
          {outcome.reason === undefined ? outcome.text : `${outcome.text}: ${outcome.reason}`}
        </p>
      )}
      <p class="verdict-first strong breakable">{first}</p>
      {rest.map((line) => (
        <p key={line} class="breakable">
          {line}
        </p>
      ))}
      <RolesForm {...props} />
      {analysis.judgedWith !== '' && (
        <p class="quiet small breakable">
          {t('Settings: {settings}.', { settings: analysis.judgedWith })}
        </p>
      )}
    </header>
  );
}

function Health({ analysis }: { readonly analysis: RunAnalysis }): JSX.Element {
  return (
    <dl class="health" aria-label={t('Health')}>
      {analysis.healthScores.map(({ scoreKey, score, status, summary }) => (
        <div
          key={scoreKey}
          class={`health-score card is-${status} tone-${TONES[status]}`}
          title={summary}
        >
          <dt class="quiet small">{scoreKey}</dt>
          <dd>
            <strong>{score === null ? '–' : Math.round(score)}</strong>
            <span class="health-status small">{status.replace('_', ' ')}</span>
            {score !== null && (
              <span class="bar" aria-hidden="true">
                <span style={{ width: `${score}%` }} />
              </span>
            )}
          </dd>
        </div>
      ))}
    </dl>
  );
}

type PhaseProps = {
  readonly feed: RunFeed;
  readonly analysis: RunAnalysis;
  readonly revision: ReadonlySignal<number>;
  readonly view: ChartView;
  readonly marked: Signal<XRange | undefined>;
  readonly onShow: (range: XRange) => void;
};

/** The phases, as a list and as bands behind the curve of the loss. */
function PhaseChart(props: PhaseProps): JSX.Element {
  const { feed, analysis, view, marked, revision } = props;
  void revision.value;
  const groups = groupMetrics(feed.series.keys);
  const group = groups.find(({ id }) => id === 'loss') ?? groups[0];
  const context = useComputed((): PanelContext => {
    const origin = { startMs: Date.parse(feed.run.startedAt), scale: feed.series.epochScale };
    return {
      revision: revision.value,
      originOf: () => origin,
      extentOf: (axis) => feed.series.extent(axis, origin.startMs),
    };
  });
  const shown = useSignal(analysis);
  shown.value = analysis;
  const bands = useComputed(() => bandsOf(shown.value, marked.value));
  return (
    <section class="analysis-chart" aria-label={t('Phases')}>
      <SectionHead title={t('Phases')}>
        {(view.zooms.value.size > 0 || marked.value !== undefined) && (
          <Button
            isSmall
            onClick={() => {
              showAll(view);
              marked.value = undefined;
            }}
          >
            {t('Show all')}
          </Button>
        )}
      </SectionHead>
      <PhaseList {...props} />
      {group !== undefined && (
        <div class="chart-grid single-chart">
          <Panel group={group} series={feed.series} view={view} context={context} bands={bands} />
        </div>
      )}
    </section>
  );
}

function PhaseList({ analysis, onShow }: PhaseProps): JSX.Element {
  const { phases, phaseAxis } = analysis;
  if (phases.length === 0)
    return (
      <p class="quiet">
        {t('No phases: they are told from losses or accuracies, of which there are not enough.')}
      </p>
    );
  return (
    <ol class="phases row wrap gap-6">
      {phases.map(({ id, phaseName, displayName, stepStart, stepEnd, summary }) => (
        <li key={id}>
          <button
            type="button"
            class="phase small"
            title={summary}
            onClick={() => onShow({ min: stepStart, max: stepEnd })}
          >
            <span class="phase-mark" style={{ background: phaseColor(phaseName) }} />
            {displayName}
            <span class="quiet">
              {phaseAxis} {formatCount(stepStart)}–{formatCount(stepEnd)}
            </span>
          </button>
        </li>
      ))}
    </ol>
  );
}

/** The phases, and what somebody asked to see. */
function bandsOf(analysis: RunAnalysis, marked: XRange | undefined): readonly ChartBand[] {
  const bands = phaseBands(analysis);
  if (marked === undefined) return bands;
  const { min, max } = marked;
  return [...bands, { start: min, end: max, color: seriesColor(0), label: '', isMarked: true }];
}

function Alerts(props: {
  readonly feed: RunFeed;
  readonly analysis: RunAnalysis;
  readonly onShow: (range: XRange) => void;
  readonly onSaid: () => void;
}): JSX.Element {
  const { analysis, feed, onSaid, onShow } = props;
  const { groups, healthScores, phaseAxis, problems, silenced, silences } = analysis;
  const isAssessed = healthScores.some(
    ({ score, scoreKey }) => scoreKey === 'overall' && score !== null,
  );
  const meant = useSignal('');
  useAddressed('alert', meant, plainText());
  const footOf = (group: (typeof groups)[number]): JSX.Element => (
    <SilenceForm feed={feed} group={group} silences={silences} onSaid={onSaid} />
  );
  const list = { axis: phaseAxis, onShow, footOf, meant: meant.value };
  const known = groups.filter((group) => isAcknowledged(group, silences));
  const open = groups.filter((group) => !known.includes(group));
  return (
    <section class="alerts" aria-label={t('Alerts')}>
      <SectionHead title={t('Alerts')}>
        <span class="quiet">{open.length === 0 ? '' : formatCount(open.length)}</span>
      </SectionHead>
      {open.length === 0 ? (
        <p class="quiet">{sayNothing(isAssessed, known.length > 0, silenced.length > 0)}</p>
      ) : (
        <AlertList {...list} groups={open} />
      )}
      {known.length > 0 && (
        <details class="silenced-alerts">
          <summary>{t('Acknowledged ({count})', { count: formatCount(known.length) })}</summary>
          <AlertList {...list} groups={known} />
        </details>
      )}
      {silenced.length > 0 && (
        <details class="silenced-alerts">
          <summary>{t('Silenced ({count})', { count: formatCount(silenced.length) })}</summary>
          <AlertList {...list} groups={silenced} isSilenced />
        </details>
      )}
      {problems.map((message) => (
        <Warning key={message}>{message}</Warning>
      ))}
    </section>
  );
}

function sayNothing(isAssessed: boolean, isKnown: boolean, isSilenced: boolean): string {
  if (isKnown && !isSilenced) return t('All that was found is acknowledged.');
  if (isKnown) return t('All that was found is acknowledged or silenced.');
  if (isSilenced) return t('All that was found is silenced.');
  return isAssessed
    ? t('No alerts.')
    : t('Nothing was found, as the training could not be judged.');
}
