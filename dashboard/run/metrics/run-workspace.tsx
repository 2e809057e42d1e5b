/** The workspace of a run: the charts of its metrics in sections, with marks and notes. */
import { useComputed, useSignal, useSignalEffect, type ReadonlySignal } from '@preact/signals';
import type { JSX } from 'preact';
import { addStepNote, removeStepNote, stepNotesOf, type StepNote } from 'quark-sdk/workspace';
import { writingRefusal } from '../../changes/write-rights.ts';
import { useChartAddress } from '../../charts/chart-address.ts';
import { phaseBands } from '../../annotations/phase-bands.ts';
import { runMarks } from '../../annotations/run-marks.ts';
import { storedFindings } from '../../annotations/stored-findings.ts';
import { settleAxis } from '../../charts/chart-view.ts';
import type { PanelContext } from '../../charts/chart-state.ts';
import type { ChartMark } from '../../charts/marks.ts';
import type { ChartBand } from '../../charts/metric-chart.ts';
import { t } from '../../parts/t.ts';
import { whenQuiet } from '../../parts/turns.ts';
import type { NoteAccess } from '../../workspace/marks-dialog.tsx';
import { Workspace } from '../../workspace/workspace.tsx';

import { sayingCount } from '../analysis/alert-changes.ts';
import type { TabProps } from '../feed/tab.ts';
import { askingStamp, useAsked } from '../feed/use-asked.ts';

/** All metrics of a run, those of the machine last. */
export function RunWorkspace(props: TabProps): JSX.Element {
  const { charts, feed, watch } = props;
  const { reader, run, series } = feed;
  const { store } = reader;
  const startMs = Date.parse(run.startedAt);
  useChartAddress(charts);
  const context = useComputed((): PanelContext => {
    const origin = { startMs, scale: series.epochScale };
    return {
      revision: watch.revision.value,
      originOf: () => origin,
      extentOf: (axis, keys) => series.extent(axis, startMs, keys),
    };
  });
  useSignalEffect(() => {
    void watch.revision.value;
    settleAxis(charts, (axis) => series.separates(axis));
  });
  const keyCount = useComputed(() => {
    void watch.revision.value;
    return series.keys.length;
  });
  const keys = useComputed(() => {
    void keyCount.value;
    return series.keys;
  });
  const eventCount = useSignal(feed.events.length);
  eventCount.value = feed.events.length;
  const notes = useNotes(feed, eventCount);
  const { bands, marks } = useMarks(props, notes.all, eventCount);
  const noteAccess: NoteAccess = {
    ...notes.access,
    notes: notes.all.value,
    refusal: writingRefusal(store, t('write notes'), run.projectName),
  };
  return (
    <Workspace
      store={store}
      project={run.projectName}
      charts={charts}
      series={series}
      keys={keys}
      context={context}
      drawing={{ bands, marks }}
      readShare={feed.readShare}
      refusal={writingRefusal(store, t('save views'), run.projectName)}
      notes={noteAccess}
    />
  );
}

/** What stands at steps of the run. What of it cannot be read is not marked: the tab of the analysis says why. */
function useMarks(
  { feed, watch }: TabProps,
  notes: ReadonlySignal<readonly StepNote[]>,
  eventCount: ReadonlySignal<number>,
): {
  readonly bands: ReadonlySignal<readonly ChartBand[]>;
  readonly marks: ReadonlySignal<readonly ChartMark[]>;
} {
  const { reader, run } = feed;
  const { answer: findings } = useAsked(
    async () => {
      await whenQuiet();
      return storedFindings(reader.store, run.id);
    },
    feed,
    `${askingStamp(feed, watch.nowMs.value)} ${sayingCount(feed.events)}`,
  );
  const marks = useComputed(() => {
    void eventCount.value;
    const { events } = feed;
    return runMarks({ runId: run.id, events, notes: notes.value, findings: findings.value });
  });
  const bands = useComputed(() => (findings.value === undefined ? [] : phaseBands(findings.value)));
  return { bands, marks };
}

/** The notes of a run, and writing them. */
function useNotes(
  feed: TabProps['feed'],
  eventCount: ReadonlySignal<number>,
): {
  readonly all: ReadonlySignal<readonly StepNote[]>;
  readonly access: Pick<NoteAccess, 'add' | 'remove'>;
} {
  const { reader, run } = feed;
  const { store } = reader;
  // The events of a run that has ended are read every few seconds: what is written here is seen at once.
  const written = useSignal<readonly StepNote[]>([]);
  const removed = useSignal<ReadonlySet<string>>(new Set());
  const all = useComputed(() => {
    void eventCount.value;
    const read = stepNotesOf(feed.events);
    const known = new Set(read.map(({ id }) => id));
    return [...read, ...written.value.filter(({ id }) => !known.has(id))].filter(
      ({ id }) => !removed.value.has(id),
    );
  });
  const access: Pick<NoteAccess, 'add' | 'remove'> = {
    add: async (step, text) => {
      const note = await addStepNote(store, run.id, { step, text });
      written.value = [...written.peek(), note];
    },
    remove: async (id) => {
      await removeStepNote(store, run.id, id);
      removed.value = new Set([...removed.peek(), id]);
    },
  };
  return { all, access };
}
