import type { AlertSeverity } from '../../../records/literals.ts';
import type { TelemetryColumns } from '../../columns/run-columns.ts';
import { ladder } from '../../signals/ladder.ts';
import { observe } from '../../signals/observe.ts';
import { defineRule, mostSevereFirst } from '../../signals/rule.ts';
import { type ThresholdValues } from '../../signals/rule-types.ts';
import { median, robustDeviation, sampleRows, trendScore } from '../../signals/statistics.ts';
import { dataShares, stepDurations, type StepDurations } from '../../signals/step-durations.ts';
import { say, sayShare, when } from '../../text/sentences.ts';

/** Rows at the start that compiling and warming up may take. */
const WARM_UP_SHARE = 0.1;
/** Fewest steps that say anything. */
const MIN_STEPS = 5;
/** Whatever the machine: at a minute a step, a day holds 1,440 steps. */
const PATIENCE_MS = 60_000;
/** Share of all time that steps take beyond the typical one, where unevenness costs something. */
const LOST_SHARE = 0.2;
const SLOW_DOWN = 1.5;
/** Mann-Kendall score beyond which times rise and do not merely vary, over this many medians. */
const CLEAR_RISE = 3;
const RISE_BLOCKS = 40;
/** Unevenness below this is that of the system, which gives other work a turn. */
const SCHEDULING_MS = 25;
/** Share of all processors of the machine in use, in percent, from which a step has to wait for one. */
const CROWDED_PERCENT = 95;

const STEP_TIME = ladder('Median step time in milliseconds', {
  runtimeWarningStepTimeMs: 250,
  runtimeErrorStepTimeMs: 500,
  runtimeCriticalStepTimeMs: 1000,
});
const DATA_FRACTION = ladder('Median share of a step that is spent waiting for data', {
  runtimeWarningDataFraction: 0.4,
  runtimeErrorDataFraction: 0.6,
  runtimeCriticalDataFraction: 0.75,
});
const JITTER = ladder('Robust deviation of step times over their median', {
  runtimeWarningJitterRatio: 0.25,
  runtimeErrorJitterRatio: 0.5,
  runtimeCriticalJitterRatio: 0.75,
});

const THRESHOLDS = {
  ...STEP_TIME.thresholds,
  ...DATA_FRACTION.thresholds,
  ...JITTER.thresholds,
};

export const runtimeBottleneckRisk = defineRule({
  id: 'runtime_bottleneck_risk',
  category: 'runtime',
  needs: { anyOf: ['step_times'], points: MIN_STEPS },
  detects: 'Steps that take long, wait for data, or take unevenly long.',
  source:
    'abiotic-quark; what must agree by default, and that unevenness by itself is a warning at most, is ours',
  cause: 'the input pipeline, the machine or other work on it holds the training up',
  advice:
    'measure where a step spends its time, and load and prepare batches ahead of the step that needs them',
  live: 'trend',
  thresholds: THRESHOLDS,
  measure({ columns, isAbsolute, signals, thresholds: t }) {
    const load = loadOf(columns.telemetry);
    const shares = dataShares(columns, signals);
    const durations = stepDurations(columns, signals);
    const fraction = shares === undefined ? Number.NaN : median(steady(shares.values));
    const times = steady(durations?.values ?? new Float64Array(0));
    const pace = paceOf(times, fraction, t);
    // Other work on the machine makes steps uneven: where nothing else agrees, that is worth a warning and no more, and a remark where
    // all processors are known to be in use.
    const cap = isAbsolute ? undefined : load >= CROWDED_PERCENT ? 'info' : 'warning';
    const delays = [
      delayOf('fraction', shares, fraction, t),
      ...(isAbsolute || pace.agrees || pace.isUneven
        ? [delayOf('speed', durations, pace.typical, t, pace.agrees ? undefined : cap)]
        : []),
      ...(isAbsolute || pace.isUneven ? [delayOf('jitter', durations, pace.jitter, t, cap)] : []),
    ].flat();
    const sorted = mostSevereFirst(delays);
    return sorted.slice(0, 1).map((worst) => ({ worst, sorted, pace, load, isAbsolute }));
  },
  finding: {
    levels: {
      critical: ({ worst }) => worst.severity === 'critical',
      error: ({ worst }) => worst.severity === 'error',
      warning: ({ worst }) => worst.severity === 'warning',
      info: () => true,
    },
    title: 'Steps are held up',
    fact: ({ pace, sorted }) => {
      const [first = '', ...others] = sorted.map((delay) => sayDelay(delay, pace));
      const rest = others.map((text) => `; ${text.charAt(0).toLowerCase()}${text.slice(1)}`);
      return `${first}${rest.join('')}.`;
    },
    confidence: ({ isAbsolute }) => (isAbsolute ? 0.6 : 0.8),
    cause: ({ load, worst }) =>
      worst.severity === 'info'
        ? `other work takes the processors of the machine, of which ${say(load)} % were in use`
        : undefined,
    advice: ({ worst }) =>
      worst.severity === 'info'
        ? 'check the step times again when the machine has nothing else to do'
        : undefined,
    evidence: ({ pace, sorted }, t) =>
      sorted.map((delay) =>
        observe(delay.subject, [], `${sayDelay(delay, pace)}.`, {
          observed: delay.value,
          threshold: DELAYS[delay.kind].warningOf(t),
        }),
      ),
  },
});

type Limits = ThresholdValues<keyof typeof THRESHOLDS>;

/** What may delay a training. */
const DELAYS = { fraction: DATA_FRACTION, speed: STEP_TIME, jitter: JITTER } as const;

type Delay = {
  readonly kind: keyof typeof DELAYS;
  readonly subject: StepDurations;
  readonly value: number;
  readonly severity: AlertSeverity;
};

/** A delay of at most some severity; none where it is no warning. */
function delayOf(
  kind: Delay['kind'],
  subject: StepDurations | undefined,
  value: number,
  t: Limits,
  cap?: AlertSeverity,
): readonly Delay[] {
  const severity = DELAYS[kind].severityOf(value, t);
  if (subject === undefined || severity === undefined) return [];
  return [{ kind, subject, value, severity: cap ?? severity }];
}

function sayDelay({ kind, value }: Delay, { isSlowing, typical }: Pace): string {
  switch (kind) {
    case 'fraction':
      return `The typical step waits for data ${sayShare(value)} of its time`;
    case 'speed':
      return `The typical step takes ${say(value)} ms${when(isSlowing, ', and steps get slower')}`;
    case 'jitter':
      return `Step times vary by ${sayShare(value)} of the typical ${say(typical)} ms`;
  }
}

/** How fast and how evenly steps are made. */
type Pace = {
  readonly typical: number;
  readonly jitter: number;
  readonly isSlowing: boolean;
  /** Whether they are so uneven that it costs something. */
  readonly isUneven: boolean;
  /** Whether something else says that steps take too long. */
  readonly agrees: boolean;
};

function paceOf(times: Float64Array, fraction: number, t: Limits): Pace {
  const typical = median(times);
  const jitter = robustDeviation(times) / typical;
  const isSlowing = times.length > 0 && getSlower(times);
  return {
    typical,
    jitter,
    isSlowing,
    isUneven:
      jitter >= t.runtimeWarningJitterRatio &&
      jitter * typical >= SCHEDULING_MS &&
      lostShare(times, typical) >= LOST_SHARE,
    agrees:
      fraction >= t.runtimeWarningDataFraction ||
      (isSlowing && times.length >= 4 * MIN_STEPS) ||
      typical >= PATIENCE_MS,
  };
}

/** Use of all processors of the machine in percent, as it typically was; NaN where too few samples tell. */
function loadOf({ cpuUsagePercent }: TelemetryColumns): number {
  const known = cpuUsagePercent.filter((percent) => Number.isFinite(percent));
  return known.length < MIN_STEPS ? Number.NaN : median(known);
}

/** Whether the last fifth takes much longer than the first, by more than uneven times do by chance. */
function getSlower(times: Float64Array): boolean {
  const fifth = Math.ceil(times.length / 5);
  if (!(median(times.subarray(-fifth)) > SLOW_DOWN * median(times.subarray(0, fifth))))
    return false;
  const blocks = Math.min(RISE_BLOCKS, times.length);
  const levels = Array.from({ length: blocks }, (_, i) =>
    median(
      times.subarray(
        Math.floor((i * times.length) / blocks),
        Math.floor(((i + 1) * times.length) / blocks),
      ),
    ),
  );
  return trendScore(levels) > CLEAR_RISE;
}

/** Times that the typical one comes from, at most. */
const MAX_TIMES = 16_384;

/** The finite times after the warm-up, of a long run every n-th; none when there are too few. */
function steady(values: Float64Array): Float64Array {
  const rows = sampleRows(values.length, MAX_TIMES);
  const known = Float64Array.from(rows, (row) => values[row] ?? Number.NaN).filter((value) =>
    Number.isFinite(value),
  );
  if (known.length < MIN_STEPS) return new Float64Array(0);
  return known.subarray(Math.min(10, Math.floor(known.length * WARM_UP_SHARE)));
}

/** Share of all time that steps took beyond the typical one. */
function lostShare(times: Float64Array, typical: number): number {
  let lost = 0;
  let total = 0;
  for (const time of times) {
    lost += Math.max(0, time - typical);
    total += time;
  }
  return total > 0 ? lost / total : 0;
}
