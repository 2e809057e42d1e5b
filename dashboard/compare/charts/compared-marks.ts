/** What stands at steps of compared runs: alerts and notes as marks with the name of their run, and the phases of a run that is shown alone. */
import { useComputed, useSignal, type ReadonlySignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { openRun, type Store } from 'quark-sdk';
import { stepNotesOf, type StepNote } from 'quark-sdk/workspace';
import { phaseBands } from '../../annotations/phase-bands.ts';
import { runMarks } from '../../annotations/run-marks.ts';
import { storedFindings } from '../../annotations/stored-findings.ts';
import type { ChartView } from '../../charts/chart-view.ts';
import type { ChartMark } from '../../charts/marks.ts';
import type { ChartBand } from '../../charts/metric-chart.ts';
import { afterPaint } from '../../parts/turns.ts';
import type { RunFindings } from '../../worker/run-analysis.ts';
import { MAX_COMPARED } from '../compare-feed.ts';
import type { ComparedColumn, ComparisonState } from '../comparison-state.ts';

/** What is known of a run beside its curves. */
type Annotated = {
  readonly findings: RunFindings | undefined;
  readonly notes: readonly StepNote[];
};

/** Marks and bands of the charts of a comparison. Those of a run are hidden with its curves. */
export function useComparedMarks(
  state: ComparisonState,
  columns: readonly ComparedColumn[],
  view: ChartView,
): {
  readonly bands: ReadonlySignal<readonly ChartBand[]>;
  readonly marks: ReadonlySignal<readonly ChartMark[]>;
} {
  const known = useAnnotated(state);
  const given = useSignal(columns);
  if (textOf(given.peek()) !== textOf(columns)) given.value = columns;
  const marks = useComputed(() =>
    given.value.flatMap(({ key, runIds }) =>
      runIds.flatMap((runId) => {
        const found = known.value.get(runId);
        if (found === undefined) return [];
        const name = state.runs.nameOf(runId);
        return runMarks({ runId, events: [], ...found }).map((mark): ChartMark => ({
          ...mark,
          text: `${name}: ${mark.text}`,
          of: key,
        }));
      }),
    ),
  );
  const bands = useComputed(() => {
    const shown = given.value.filter(({ key }) => !view.hidden.value.has(key));
    const [alone] = shown.length === 1 ? (shown[0]?.runIds ?? []) : [];
    const findings = alone === undefined ? undefined : known.value.get(alone)?.findings;
    return findings === undefined || shown[0]?.runIds.length !== 1 ? [] : phaseBands(findings);
  });
  return { bands, marks };
}

/** Reads what is stored of each run, one after the other, and again when its record has changed. What cannot be read is not marked. */
function useAnnotated(state: ComparisonState): ReadonlySignal<ReadonlyMap<string, Annotated>> {
  const known = useSignal<ReadonlyMap<string, Annotated>>(new Map());
  const done = useSignal<ReadonlyMap<string, string>>(new Map());
  const stamps = state.runs.summaries
    .slice(0, MAX_COMPARED)
    .map(({ run }) => [run.id, run.updatedAt] as const);
  useEffect(() => {
    const leaving = new AbortController();
    const work = async (): Promise<void> => {
      await afterPaint();
      for (const [id, at] of stamps) {
        if (leaving.signal.aborted) return;
        if (done.peek().get(id) === at) continue;
        // oxlint-disable-next-line no-await-in-loop -- curves are read meanwhile, and come first
        const found = await annotated(state.store, id).catch(() => undefined);
        if (leaving.signal.aborted) return;
        done.value = new Map(done.peek()).set(id, at);
        if (found !== undefined) known.value = new Map(known.peek()).set(id, found);
      }
    };
    void work();
    return () => leaving.abort();
  }, [stamps.join()]);
  return known;
}

async function annotated(store: Store, runId: string): Promise<Annotated> {
  const reader = await openRun(store, runId);
  const [findings, added, removed] = await Promise.all([
    storedFindings(store, runId),
    reader.readEvents({ eventType: 'step_note' }),
    reader.readEvents({ eventType: 'step_note_removed' }),
  ]);
  return { findings, notes: stepNotesOf([...added, ...removed]) };
}

function textOf(columns: readonly ComparedColumn[]): string {
  return columns.map(({ key, runIds }) => `${key} ${runIds.join()}`).join('\n');
}
