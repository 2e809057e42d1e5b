import type { AlertSeverity } from '../../../records/literals.ts';
import type { TelemetryColumns } from '../../columns/run-columns.ts';
import { placeAt } from '../../signals/positions.ts';
import {
  defineRule,
  say,
  sayShare,
  severityAbove,
  type Finding,
  type Observation,
} from '../../signals/rule.ts';
import { dataShares, stepDurations, type StepDurations } from '../../signals/step-durations.ts';
import { median, robustDeviation, sampleRows, trendScore } from '../../signals/statistics.ts';

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

export const runtimeBottleneckRisk = defineRule({
  id: 'runtime_bottleneck_risk',
  category: 'runtime',
  detects: 'Steps that take long, wait for data, or take unevenly long.',
  source:
    'the reference; what must agree by default, and that unevenness by itself is a warning at most, is ours',
  cause: 'the input pipeline, the machine or other work on it holds the training up',
  advice:
    'measure where a step spends its time, and load and prepare batches ahead of the step that needs them',
  thresholds: {
    runtimeWarningStepTimeMs: {
      value: 250,
      doc: 'Median step time for a warning, in milliseconds.',
    },
    runtimeErrorStepTimeMs: { value: 500, doc: 'Median step time for an error, in milliseconds.' },
    runtimeCriticalStepTimeMs: {
      value: 1000,
      doc: 'Median step time that is critical, in milliseconds.',
    },
    runtimeWarningDataFraction: {
      value: 0.4,
      doc: 'Median share of a step waiting for data, for a warning.',
    },
    runtimeErrorDataFraction: { value: 0.6, doc: 'The same, for an error.' },
    runtimeCriticalDataFraction: { value: 0.75, doc: 'The same, critical.' },
    runtimeWarningJitterRatio: {
      value: 0.25,
      doc: 'Robust deviation of step times over their median, for a warning.',
    },
    runtimeErrorJitterRatio: { value: 0.5, doc: 'The same, for an error.' },
    runtimeCriticalJitterRatio: { value: 0.75, doc: 'The same, critical.' },
  },
  evaluate({ columns, isReference, signals, thresholds: t }) {
    const durations = stepDurations(columns, signals);
    const shares = dataShares(columns, signals);
    const findings: { severity: AlertSeverity; fact: string; observation: Observation }[] = [];
    const add = (
      severity: AlertSeverity | undefined,
      at: StepDurations,
      fact: string,
      observed: number,
      threshold: number,
    ): void => {
      if (severity === undefined) return;
      const from = placeAt(at.series, 0);
      const to = placeAt(at.series, at.values.length - 1);
      findings.push({
        severity,
        fact,
        observation: {
          kind: at.kind,
          source: at.source,
          summary: `${fact}.`,
          observed,
          threshold,
          from,
          to,
        },
      });
    };
    const fraction = shares === undefined ? Number.NaN : median(steady(shares.values));
    if (shares !== undefined)
      add(
        severityAbove(
          fraction,
          t.runtimeWarningDataFraction,
          t.runtimeErrorDataFraction,
          t.runtimeCriticalDataFraction,
        ),
        shares,
        `The typical step waits for data ${sayShare(fraction)} of its time`,
        fraction,
        t.runtimeWarningDataFraction,
      );
    const times = durations === undefined ? new Float64Array(0) : steady(durations.values);
    const load = loadOf(columns.telemetry);
    const isCrowded = load >= CROWDED_PERCENT;
    if (durations !== undefined && times.length > 0) {
      const typical = median(times);
      const jitter = robustDeviation(times) / typical;
      const isSlowing = getSlower(times);
      const isUneven =
        jitter >= t.runtimeWarningJitterRatio &&
        jitter * typical >= SCHEDULING_MS &&
        lostShare(times, typical) >= LOST_SHARE;
      const agrees =
        fraction >= t.runtimeWarningDataFraction ||
        (isSlowing && times.length >= 4 * MIN_STEPS) ||
        typical >= PATIENCE_MS;
      // Other work on the machine makes steps uneven: where nothing else agrees, that is worth a warning and no more, and a remark where
      // all processors are known to be in use.
      const capped = (severity: AlertSeverity | undefined): AlertSeverity | undefined =>
        isReference || severity === undefined ? severity : isCrowded ? 'info' : 'warning';
      const speed = severityAbove(
        typical,
        t.runtimeWarningStepTimeMs,
        t.runtimeErrorStepTimeMs,
        t.runtimeCriticalStepTimeMs,
      );
      if (isReference || agrees || isUneven)
        add(
          agrees ? speed : capped(speed),
          durations,
          `The typical step takes ${say(typical)} ms${isSlowing ? ', and steps get slower' : ''}`,
          typical,
          t.runtimeWarningStepTimeMs,
        );
      if (isReference || isUneven)
        add(
          capped(
            severityAbove(
              jitter,
              t.runtimeWarningJitterRatio,
              t.runtimeErrorJitterRatio,
              t.runtimeCriticalJitterRatio,
            ),
          ),
          durations,
          `Step times vary by ${sayShare(jitter)} of the typical ${say(typical)} ms`,
          jitter,
          t.runtimeWarningJitterRatio,
        );
    }
    const order = ['critical', 'error', 'warning', 'info'];
    const sorted = findings.toSorted(
      (a, b) => order.indexOf(a.severity) - order.indexOf(b.severity),
    );
    const [worst] = sorted;
    if (worst === undefined) return [];
    const { from, to } = worst.observation;
    const finding: Finding = {
      severity: worst.severity,
      title: 'Steps are held up',
      fact: `${sorted.map(({ fact }, i) => (i === 0 ? fact : fact.charAt(0).toLowerCase() + fact.slice(1))).join('; ')}.`,
      confidence: isReference ? 0.6 : 0.8,
      ...(worst.severity === 'info'
        ? {
            cause: `other work takes the processors of the machine, of which ${say(load)} % were in use`,
            advice: 'look at step times again when the machine has nothing else to do',
          }
        : {}),
      ...(from === undefined ? {} : { from }),
      ...(to === undefined ? {} : { to }),
      observations: sorted.map(({ observation }) => observation),
    };
    return [finding];
  },
});

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
