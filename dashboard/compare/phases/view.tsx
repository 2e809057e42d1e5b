/** What the analysis says of each run, side by side: how it ended, its scores, and its phases and alerts on one axis. */
import { useSignal, type ReadonlySignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { HEALTH_SCORE_KEYS } from 'quark-sdk';
import { analyzeInWorker } from '../../dropped/analysis.ts';
import { formatCount } from '../../parts/format.ts';
import { errorText, SectionHead } from '../../parts/notices.tsx';
import { t, tn } from '../../parts/t.ts';
import type { RunAnalysis } from '../../worker/run-analysis.ts';
import { MAX_COMPARED } from '../compare-feed.ts';
import type { ComparisonState, ComparisonTabProps } from '../comparison-state.ts';
import { ScrollTable, Head, RowHead } from '../scroll-table.tsx';
import { RunEnd, RunLink, RunSwatch } from '../run-marks.tsx';
import { PhaseLanes } from './phase-lanes.tsx';
import './style.css';

/** What is known of a run: its analysis, or why there is none. */
export type AnalysedRun = {
  readonly runId: string;
  readonly name: string;
  readonly analysis: RunAnalysis | undefined;
};

/** The tab. */
export default function PhasesView({ state }: ComparisonTabProps): JSX.Element {
  void state.recordsRevision.value;
  const all = state.runs.summaries;
  const shown = all.slice(0, MAX_COMPARED);
  const { analyses, failures, pending } = useAnalyses(state);
  const runs = shown.map(({ run: { id } }): AnalysedRun => ({
    runId: id,
    name: state.runs.nameOf(id),
    analysis: analyses.value.get(id),
  }));
  return (
    <div class="stack compare-phases">
      {all.length > shown.length && (
        <p class="quiet small">
          {t('The first {most} of {count} runs are analysed.', {
            most: MAX_COMPARED,
            count: all.length,
          })}
        </p>
      )}
      <p class="quiet small" role="status">
        {pending.value > 0
          ? tn(pending.value, 'Analysing: {count} run to go', 'Analysing: {count} runs to go')
          : ''}
      </p>
      <Scores state={state} runs={runs} failures={failures.value} />
      <section aria-label={t('Phases and alerts')}>
        <SectionHead title={t('Phases and alerts')} />
        <PhaseLanes runs={runs} />
      </section>
      <Alerts runs={runs} />
    </div>
  );
}

type Analyses = {
  readonly analyses: ReadonlySignal<ReadonlyMap<string, RunAnalysis>>;
  readonly failures: ReadonlySignal<ReadonlyMap<string, string>>;
  readonly pending: ReadonlySignal<number>;
};

/** Analyses the runs one after the other, and again when their records have changed. */
function useAnalyses(state: ComparisonState): Analyses {
  const analyses = useSignal<ReadonlyMap<string, RunAnalysis>>(new Map());
  const failures = useSignal<ReadonlyMap<string, string>>(new Map());
  const pending = useSignal(0);
  const done = useSignal<ReadonlyMap<string, string>>(new Map());
  const stamps = state.runs.summaries
    .slice(0, MAX_COMPARED)
    .map(({ run }) => [run.id, run.updatedAt] as const);
  useEffect(() => {
    const leaving = new AbortController();
    const work = async (): Promise<void> => {
      const open = stamps.filter(([id, at]) => done.peek().get(id) !== at);
      pending.value = open.length;
      for (const [id, at] of open) {
        try {
          const analysis = await analyzeInWorker(state.store, id);
          if (leaving.signal.aborted) return;
          analyses.value = new Map(analyses.peek()).set(id, analysis);
        } catch (error) {
          if (leaving.signal.aborted) return;
          failures.value = new Map(failures.peek()).set(id, errorText(error));
        }
        done.value = new Map(done.peek()).set(id, at);
        pending.value -= 1;
      }
    };
    void work();
    return () => leaving.abort();
  }, [stamps.join()]);
  return { analyses, failures, pending };
}

/** Scores beside how the run ended: a run that failed may have learned well until then. */
function Scores(props: {
  readonly state: ComparisonState;
  readonly runs: readonly AnalysedRun[];
  readonly failures: ReadonlyMap<string, string>;
}): JSX.Element {
  const { failures, runs, state } = props;
  return (
    <section aria-label={t('Health')}>
      <SectionHead title={t('Health')} />
      <ScrollTable
        label={t('Table of scores')}
        head={
          <>
            <Head isFirst>{t('Run')}</Head>
            <Head>{t('End')}</Head>
            {HEALTH_SCORE_KEYS.map((key) => (
              <Head key={key} isNumber>
                {key}
              </Head>
            ))}
            <Head>{t('Verdict')}</Head>
          </>
        }
      >
        {runs.map(({ analysis, name, runId }) => {
          const summary = state.runs.summaries.find(({ run }) => run.id === runId);
          return (
            <tr key={runId}>
              <RowHead>
                <span class="inline gap-6">
                  <RunSwatch styleKey={runId} />
                  <span class="breakable">{name}</span>
                  <RunLink runId={runId} name={name} />
                </span>
              </RowHead>
              <td>
                {summary?.effectiveStatus === 'completed' && t('Completed')}
                {summary !== undefined && <RunEnd summary={summary} />}
              </td>
              {HEALTH_SCORE_KEYS.map((key) => (
                <Score key={key} analysis={analysis} scoreKey={key} />
              ))}
              <td class="verdict-cell">{analysis?.verdict[0] ?? failures.get(runId) ?? '…'}</td>
            </tr>
          );
        })}
      </ScrollTable>
    </section>
  );
}

function Score(props: {
  readonly analysis: RunAnalysis | undefined;
  readonly scoreKey: string;
}): JSX.Element {
  const found = props.analysis?.healthScores.find(({ scoreKey }) => scoreKey === props.scoreKey);
  if (found === undefined) return <td class="is-number quiet">–</td>;
  return (
    <td class="is-number" title={found.summary}>
      {found.score === null ? '–' : Math.round(found.score)}
      <span class="quiet small score-status">{found.status.replace('_', ' ')}</span>
    </td>
  );
}

/** Which alert is of which run. */
function Alerts({ runs }: { readonly runs: readonly AnalysedRun[] }): JSX.Element | null {
  const titles = new Map<string, Map<string, string>>();
  for (const { analysis, runId } of runs)
    for (const { cause } of analysis?.groups ?? []) {
      const cells = titles.get(cause.title) ?? new Map<string, string>();
      const at = cause.stepStart === null ? '' : ` · ${formatCount(cause.stepStart)}`;
      cells.set(runId, `${cause.severity}${at}`);
      titles.set(cause.title, cells);
    }
  if (titles.size === 0) return null;
  return (
    <section aria-label={t('Alerts')}>
      <SectionHead title={t('Alerts')}>
        <span class="quiet small">{t('severity and first step')}</span>
      </SectionHead>
      <ScrollTable
        label={t('Table of alerts')}
        head={
          <>
            <Head isFirst>{t('Alert')}</Head>
            {runs.map(({ name, runId }) => (
              <Head key={runId}>
                <span class="breakable">{name}</span>
              </Head>
            ))}
          </>
        }
      >
        {[...titles].map(([title, cells]) => (
          <tr key={title}>
            <RowHead>{title}</RowHead>
            {runs.map(({ runId }) => (
              <td key={runId} class={cells.has(runId) ? '' : 'quiet'}>
                {cells.get(runId) ?? '–'}
              </td>
            ))}
          </tr>
        ))}
      </ScrollTable>
    </section>
  );
}
