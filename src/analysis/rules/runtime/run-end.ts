import { isEndEvent } from '../../../records/run-ending.ts';
import type { RunColumns } from '../../columns/run-columns.ts';
import { positionOfStep } from '../../signals/positions.ts';
import { defineRuleOfKinds } from '../../signals/rule.ts';
import { when } from '../../text/sentences.ts';

export const runEnd = defineRuleOfKinds({
  id: 'run_end',
  category: 'runtime',
  needs: { anyOf: ['run'] },
  detects: 'A run that failed, was interrupted, or whose process is gone.',
  source: 'ours: the status of the run, and the errors that were recorded',
  cause: 'the program threw an error',
  advice: 'read the last error of the run, correct its cause, and resume from the last checkpoint',
  live: 'whole_run',
  thresholds: {},
  measure({ columns, isAbsolute }): readonly End[] {
    const end = isAbsolute ? undefined : endOf(columns);
    return end === undefined ? [] : [end];
  },
  findings: {
    failed: {
      levels: 'critical',
      title: ({ why }) => WHYS[why].title ?? 'The run failed',
      fact: (end) => sayEnd('The run failed', end),
      confidence: 1,
      cause: ({ why }) => WHYS[why].cause,
      advice: ({ why }) => WHYS[why].advice,
      span: (end) => at(end),
      evidence: (end) => [observeEnd(end)],
    },
    interrupted: {
      levels: 'warning',
      title: ({ why }) => WHYS[why].title ?? 'The run was interrupted',
      fact: (end) => sayEnd('The run was interrupted', end),
      confidence: 1,
      cause: ({ why }) =>
        WHYS[why].cause ?? 'somebody or something stopped the program before it was done',
      advice: ({ why }) => WHYS[why].advice ?? 'resume it if it was not meant to end there',
      span: (end) => at(end),
      evidence: (end) => [observeEnd(end)],
    },
    gone: {
      levels: 'error',
      title: 'The process of the run is gone',
      fact: (end) => sayEnd('The run has not ended, and no session has it any more', end),
      confidence: 0.95,
      cause: 'the process crashed or was killed',
      advice: 'read the last messages of the process and of the machine, and resume the run',
      span: (end) => at(end),
      evidence: (end) => [observeEnd(end)],
    },
  },
});

/** How a run ended that did not complete. */
type End = EndOf<'failed'> | EndOf<'interrupted'> | EndOf<'gone'>;

type EndOf<K extends string> = {
  readonly kind: K;
  /** The last step that anything was recorded of; null where none was. */
  readonly lastStep: number | null;
  /** The message of the last error, cut off; empty where none was recorded. */
  readonly message: string;
  readonly why: Why;
};

/** What is known of why a run ended. */
type Why = 'memory' | 'time' | 'killed' | 'crash' | 'unknown';

type About = {
  /** What the message says when it says why. */
  readonly says?: RegExp;
  readonly title?: string;
  readonly cause?: string;
  readonly advice?: string;
};

/** The first whose pattern is in the message counts. */
const WHYS: Readonly<Record<Why, About>> = {
  memory: {
    says: /out[ _]of[ _]memory|\boom\b|oom[-_ ]kill|cannot allocate|bad_alloc|allocation failed|heap limit|memory limit|TERM_MEMLIMIT|RESOURCE_EXHAUSTED/iu,
    title: 'The run ran out of memory',
    cause: 'the model, the batch and what stays in memory between steps need more than there is',
    advice:
      'halve the batch; if the memory in use grows from step to step, find what is never released',
  },
  time: {
    says: /time limit|walltime|TERM_RUNLIMIT|TERM_CPULIMIT/iu,
    title: 'The run reached its time limit',
    cause: 'the scheduler ended the job when its time was over',
    advice: 'resume from the last checkpoint, and ask for more time or save checkpoints more often',
  },
  killed: {
    says: /^(?:killed$|kill(?:ed)? process)/iu,
    title: 'The run was killed',
    cause: 'the system ended the process, most often because the machine had no memory left',
    advice:
      'look at the memory of the machine at that time, use smaller batches or fewer loading workers, and resume',
  },
  crash: {
    says: /segmentation fault|bus error|illegal instruction|floating point exception|^aborted|illegal memory access|device-side assert/iu,
    title: 'The run crashed',
    cause:
      'native code, such as a driver, an extension or a kernel of the device, did something illegal',
    advice:
      'run it again with the checks of the framework for native code on, and with versions of driver and framework that belong together',
  },
  unknown: {},
};
const MAX_CHARS = 200;

function endOf(columns: RunColumns): End | undefined {
  const { isLive, status } = columns.run;
  if (status === 'completed' || (status === 'running' && isLive)) return undefined;
  const message = lastError(columns);
  const about = { lastStep: lastStepOf(columns), message, why: whyOf(message) };
  if (status === 'failed') return { kind: 'failed', ...about };
  return status === 'running' ? { kind: 'gone', ...about } : { kind: 'interrupted', ...about };
}

function whyOf(message: string): Why {
  const known: readonly Why[] = ['memory', 'time', 'killed', 'crash'];
  return known.find((why) => WHYS[why].says?.test(message) === true) ?? 'unknown';
}

/** The message of the last error or interruption. */
function lastError({ events }: RunColumns): string {
  const row = events.eventTypes.findLastIndex(
    (type, i) => isEndEvent(type) || /error|critical/u.test(events.severities[i] ?? ''),
  );
  const payload: unknown = row < 0 ? null : JSON.parse(events.payloads[row] ?? 'null');
  const message: unknown =
    typeof payload === 'object' && payload !== null
      ? (Reflect.get(payload, 'message') ?? Reflect.get(payload, 'reason'))
      : null;
  if (typeof message !== 'string') return '';
  const [line = ''] = message.trim().split('\n');
  return line.length > MAX_CHARS ? `${line.slice(0, MAX_CHARS)}...` : line;
}

function lastStepOf({ metrics }: RunColumns): number | null {
  let last = Number.NEGATIVE_INFINITY;
  for (const { steps } of metrics.values())
    for (let row = steps.length - 1; row >= 0; row--) {
      const step = steps[row] ?? Number.NaN;
      if (!Number.isFinite(step)) continue;
      last = Math.max(last, step);
      break;
    }
  return last === Number.NEGATIVE_INFINITY ? null : last;
}

function sayEnd(what: string, { lastStep, message }: End): string {
  const after = when(lastStep !== null, ` after step ${lastStep}`);
  return `${what}${after}${when(message !== '', `: ${message.replace(/[.\s]+$/u, '')}`)}.`;
}

function at({ lastStep }: End) {
  const position = lastStep === null ? { step: null, epoch: null } : positionOfStep(lastStep);
  return { from: position, to: position };
}

function observeEnd(end: End) {
  const { kind, message } = end;
  return {
    kind: 'event',
    source: 'run',
    summary: message === '' ? `The run is ${kind}.` : message,
    ...at(end),
    metadata: { end: kind },
  };
}
