/** Whether two runs can be compared at all, and what to keep in mind when they are. */
import { sayJudgedWith } from '../evaluate/judged-with.ts';
import { brokenKeys } from './metric-diff.ts';
import { someOf } from './metric-order.ts';
import type { RunData } from './run-data.ts';
import type { ConfigDiff, MetricDiff } from './diff-records.ts';

/** Whether figures of two runs mean the same. */
export type Comparability = {
  readonly isComparable: boolean;
  /** Why they cannot be compared, in sentences. Empty where they can. */
  readonly reasons: readonly string[];
  /** What to keep in mind, in sentences. */
  readonly notes: readonly string[];
};

/** Settings that say what was learned: with others, the same loss means something else. */
const TASK =
  /(?:^|[._-])(?:data_?sets?(?:_name)?|train_data|task|loss(?:_fn|_function|_type)?|criterion|objective|num_classes|vocab_size|tokenizer)$/iu;
/** Factor between lengths of runs from which on it is worth a word. */
const LENGTH_RATIO = 2;

/** Judges two runs by what they have in common. */
export function comparabilityOf(
  primary: RunData,
  reference: RunData,
  metricDiffs: readonly MetricDiff[],
  configDiffs: readonly ConfigDiff[],
): Comparability {
  const reasons: string[] = [];
  const notes: string[] = [];
  const shared = metricDiffs.filter(
    ({ presence, primaryCount }) => presence === 'both' && primaryCount > 0,
  );
  for (const [name, { columns }] of [
    ['primary', primary],
    ['reference', reference],
  ] as const)
    if (columns.metrics.size === 0) reasons.push(`The ${name} run has no metrics.`);
  if (reasons.length === 0 && shared.length === 0)
    reasons.push('No metric has a finite value in both runs.');
  else if (shared.length > 0 && shared.every(({ axis }) => axis === null))
    reasons.push('The runs have no step and no epoch in common: none of their metrics overlap.');
  for (const { path, presence, primaryValue, referenceValue } of configDiffs) {
    if (presence !== 'both' || !TASK.test(path)) continue;
    reasons.push(
      `${path} is ${JSON.stringify(primaryValue)} in one and ${JSON.stringify(referenceValue)} in the other: their losses do not mean the same.`,
    );
  }
  const lengths = [primary, reference].map(({ metadata }) => metadata.stepEnd ?? 0);
  const [short = 0, long = 0] = lengths.toSorted((a, b) => a - b);
  if (short > 0 && long / short >= LENGTH_RATIO)
    notes.push(
      `One run is ${Number((long / short).toPrecision(2))} times as long as the other: compare at the same step.`,
    );
  for (const [name, { columns }] of [
    ['primary', primary],
    ['reference', reference],
  ] as const) {
    const { isLive, status } = columns.run;
    if (isLive) notes.push(`The ${name} run goes on.`);
    else if (status !== 'completed') notes.push(`The ${name} run ended as "${status}".`);
    const broken = brokenKeys(columns);
    if (broken.length > 0)
      notes.push(
        `In the ${name} run ${someOf(broken)} ended in NaN or infinity: the last finite values are compared.`,
      );
    if (columns.damagedSegments > 0) notes.push(`Parts of the ${name} run could not be read.`);
  }
  if (shared.some(({ axis }) => axis === 'epoch'))
    notes.push('Metrics whose steps differ were compared by epoch.');
  const [one, two] = [primary, reference].map(({ judgedWith }) => sayJudgedWith(judgedWith));
  if (one !== two)
    notes.push(
      `Alerts were found with different settings. First run: ${one || 'the defaults'}. Second run: ${two || 'the defaults'}.`,
    );
  return { isComparable: reasons.length === 0, reasons, notes };
}
