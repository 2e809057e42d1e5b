/** Whether what the training in this tab reports is stored: said while it is not, and when it is again. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { RecordingProblem, TrainingSession } from 'quark-sdk';
import { countText, formatDuration } from '../../dashboard/parts/format.ts';
import { Icon } from '../../dashboard/parts/icons.tsx';
import { recording, recordingProblem } from './training-state.ts';
import { t } from '../../dashboard/parts/t.ts';

const POLL_MS = 1000;

/** Nothing while recording works and always has. */
export function RecordingNotice(): JSX.Element | null {
  const problem = recordingProblem.value;
  if (problem === undefined) return null;
  const session = recording.value;
  if (problem.kind === 'stopped')
    return <Stopped key={problem.sinceMs} problem={problem} session={session} />;
  return (
    <div class="strip tone-paused" role="status" data-recording={problem.kind}>
      <Icon name="warning" /> {pastText(problem)}
    </div>
  );
}

function Stopped(props: {
  readonly problem: RecordingProblem;
  /** Undefined until the run has begun. */
  readonly session: TrainingSession | undefined;
}): JSX.Element {
  const { problem, session } = props;
  const nowMs = useSignal(Date.now());
  useEffect(() => {
    const timer = setInterval(() => {
      nowMs.value = Date.now();
    }, POLL_MS);
    return () => clearInterval(timer);
  }, []);
  const { bufferedRows, droppedRows } = session?.recordingStatus() ?? problem;
  const forMs = Math.max(0, nowMs.value - problem.sinceMs);
  return (
    <div class="strip strip-error tone-bad" data-recording="stopped">
      <Icon name="warning" />
      <span>
        <span role="alert">
          {t('Recording has stopped; training goes on.')} {problem.error.message}
        </span>{' '}
        <span data-testid="recording-waits">{waitText(forMs, bufferedRows, droppedRows)}</span>
      </span>
    </div>
  );
}

function waitText(forMs: number, bufferedRows: number, droppedRows: number): string {
  const values = { span: formatDuration(forMs), rows: countText(bufferedRows, 'row') };
  return droppedRows === 0
    ? t('It stopped {span} ago. {rows} wait in memory: keep this tab open.', values)
    : t(
        'It stopped {span} ago. {rows} wait in memory, {dropped} were dropped: keep this tab open.',
        {
          ...values,
          dropped: countText(droppedRows, 'row'),
        },
      );
}

function pastText({ droppedRows, kind, lostRows }: RecordingProblem): string {
  if (kind === 'storage_cleared')
    return t(
      'The data of this site was cleared: {rows} of this run are gone. Recording goes on with what was in memory.',
      { rows: countText(lostRows, 'row') },
    );
  const drops =
    droppedRows === 0
      ? t('Nothing is missing.')
      : t('{rows} were dropped.', { rows: countText(droppedRows, 'row') });
  return t('Recording had stopped and works again. {drops}', { drops });
}
