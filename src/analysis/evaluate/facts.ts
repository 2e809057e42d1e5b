/**
 * The facts of a run, which its phases, its alerts and its health are all told from. Rules and phases judge the same curves
 * in different ways; here they are compared once, so that none of the three says what another denies.
 */
import { jsSeriesKernel, type SeriesKernel } from '../../kernel/series/series-kernel.ts';
import type { AlertCategory } from '../../records/literals.ts';
import type { RunColumns } from '../columns/run-columns.ts';
import type { RuleProblem } from '../own/own-rules.ts';
import type { FoundPhase } from '../phases/describe.ts';
import { findPhasesWith } from '../phases/find-phases.ts';
import { checkPhaseThresholds, type PhaseSettings } from '../phases/thresholds.ts';
import { lossDivergence } from '../rules/optimization/loss-divergence.ts';
import { lossNotDecreasing } from '../rules/optimization/loss-not-decreasing.ts';
import { rewardDecline } from '../rules/optimization/reward-decline.ts';
import { nonFinite } from '../rules/optimization/non-finite.ts';
import { plateau } from '../rules/optimization/plateau.ts';
import { overfittingOnset } from '../rules/generalization/overfitting-onset.ts';
import { runEnd } from '../rules/runtime/run-end.ts';
import type { RunPosition } from '../signals/positions.ts';
import type { Finding, Rule } from '../signals/rule-types.ts';
import { seriesOfRoles } from '../signals/roles/loss-roles.ts';
import type { Roles } from '../signals/roles/role-types.ts';
import { Signals } from '../signals/signals.ts';
import type { AnalyzerSettings } from './analyzer-config.ts';
import { coverageOf, coverageOfFound, type Coverage } from './coverage.ts';
import { findStepwise, inRuleOrder, lastOf, type Found } from './find-all.ts';
import { deniesLearning, learningOf, learningRemark } from './learning.ts';
import { settled, withFinding } from './phases-of-findings.ts';

/** What is said of a run. */
export type JudgedFacts = {
  /** Causes before consequences, remarks last. */
  readonly found: readonly Found[];
  /** In order, without gap or overlap. */
  readonly phases: readonly FoundPhase[];
  readonly coverage: Coverage;
  /** Which metric plays which role. */
  readonly roles: Roles;
  /** Rules of one's own that could not be judged. */
  readonly problems: readonly RuleProblem[];
  /** Categories that nobody may call healthy, as the run ended in a phase, or in a way, that is not. */
  readonly unhealthy: ReadonlySet<AlertCategory>;
};

/** What facts are found with. */
export type JudgeFactsOptions = {
  /** The instant of the analysis, in UTC epoch milliseconds. */
  readonly nowMs: number;
  /** Default: the defaults of the phase analyzer. */
  readonly phases?: PhaseSettings;
  /** Default: plain JavaScript; the results are the same. */
  readonly kernel?: SeriesKernel;
};

/** Finds what there is to say of a run. Pure: the same columns give the same facts. */
export function judgeFacts(
  columns: RunColumns,
  settings: AnalyzerSettings,
  options: JudgeFactsOptions,
): JudgedFacts {
  return lastOf(judgeInSteps(columns, settings, options));
}

/** The same rule by rule, for callers that must not block others. Yields the share of the rules that were asked, 0 to 1. */
export function* judgeInSteps(
  columns: RunColumns,
  settings: AnalyzerSettings,
  { kernel = jsSeriesKernel, nowMs, phases = checkPhaseThresholds() }: JudgeFactsOptions,
): Generator<number, JudgedFacts> {
  const signals = new Signals(columns, settings);
  const { roles } = signals;
  const problems: RuleProblem[] = [];
  const found = yield* findStepwise(columns, settings, nowMs, (one) => problems.push(one), signals);
  const series = seriesOfRoles(signals.roles);
  const hasCourse = signals.reward !== undefined || !signals.isAdversarial;
  // Of networks that are trained against each other no loss has a course that means something.
  const seen = hasCourse ? findPhasesWith(series, phases, kernel) : [];
  const learning = learningOf(columns, signals, settings);
  const coverage = coverageOf(columns, signals, settings, problems, learning);
  // What abiotic-quark says of a run are its rules alone.
  if (settings.compatibility === 'abiotic-quark')
    return { found, phases: seen, coverage, roles, problems, unhealthy: new Set() };
  const isOn = ({ rule }: Found): boolean =>
    SAID_BY_RULE[rule.id]?.every((id) => !settings.disabledRules.has(id)) === true;
  const surely = phasesTold(withoutSolved(seen, columns, signals, settings), found, signals);
  const isUnshown = learning === 'not_shown';
  // Of what was not judged nothing is remarked.
  const isJudged = coverage.headline === null;
  const unlearned = isJudged && isUnshown ? unlearnedOf(surely, found, signals).filter(isOn) : [];
  const told = unlearned.reduce((so, { finding }) => withoutLearning(so, finding), surely);
  const agreed = [...found.filter((one) => isAgreed(one, told)), ...unlearned];
  const remarks = isJudged ? remarksOn(told, agreed, signals).filter(isOn) : [];
  const all = inRuleOrder([...agreed, ...remarks], settings);
  return {
    found: all,
    phases: told,
    coverage: coverageOfFound(coverage, all, !isUnshown && !found.some(deniesLearning)),
    roles,
    problems,
    unhealthy: unhealthyOf(told, agreed),
  };
}

/** The remark that nothing shows any learning, unless the run ends in something worse. */
function unlearnedOf(
  phases: readonly FoundPhase[],
  found: readonly Found[],
  signals: Signals,
): readonly Found[] {
  if (endsIn(phases, 'divergence', 'overfitting_onset')) return [];
  return learningRemark(signals, found);
}

/** A task that is solved, or was learned by the run before, has nothing left to learn: a loss that rests at its end has settled. */
function withoutSolved(
  phases: readonly FoundPhase[],
  { run }: RunColumns,
  { finalAccuracy }: Signals,
  { thresholds }: AnalyzerSettings,
): readonly FoundPhase[] {
  const last = phases.at(-1);
  if (last?.phaseName !== 'stagnation') return phases;
  if (!run.isContinued && !(finalAccuracy >= thresholds.lossNotDecreasingKnownAccuracy))
    return phases;
  return [...phases.slice(0, -1), settled(last)];
}

/** The phases with those that findings are sure of: rules ask for more evidence than phases do. */
function phasesTold(
  seen: readonly FoundPhase[],
  found: readonly Found[],
  { roles }: Signals,
): readonly FoundPhase[] {
  const keys = new Set(
    [roles.trainLoss, roles.valLoss].flatMap((choice) => choice?.series.key ?? []),
  );
  let phases = seen;
  for (const { finding, rule } of found) {
    const source = finding.observations[0]?.source ?? '';
    if (!keys.has(source) || finding.severity === 'info') continue;
    if (rule.id === overfittingOnset.id && !endsIn(phases, 'overfitting_onset', 'divergence'))
      phases = withFinding(phases, 'overfitting_onset', finding);
    if (rule.id === lossDivergence.id && !endsIn(phases, 'divergence'))
      phases = withFinding(phases, 'divergence', finding);
    if (rule.id === lossNotDecreasing.id) phases = withoutLearning(phases, finding);
  }
  return phases;
}

function endsIn(
  phases: readonly FoundPhase[],
  ...names: readonly FoundPhase['phaseName'][]
): boolean {
  const last = phases.at(-1);
  return last !== undefined && names.includes(last.phaseName);
}

/** A loss that does not fall is not learning rapidly anywhere: what looked like it was noise. */
function withoutLearning(phases: readonly FoundPhase[], finding: Finding): readonly FoundPhase[] {
  return phases.reduce<readonly FoundPhase[]>(
    (told, { end, phaseName, start }) =>
      phaseName === 'rapid_learning'
        ? withFinding(told, 'stagnation', finding, { start, end })
        : told,
    phases,
  );
}

/** Whether the phases agree with a finding: of a loss that learns, or ends in something worse, nobody says that it rests. */
function isAgreed({ finding, rule }: Found, phases: readonly FoundPhase[]): boolean {
  if (rule.id !== plateau.id) return true;
  const [last] = phases.slice(-1);
  if (last === undefined) return true;
  const from = positionOn(last.axis, finding.from);
  const isLearning = phases.some(
    ({ end, phaseName }) => phaseName === 'rapid_learning' && from !== null && end > from,
  );
  return !isLearning && last.phaseName !== 'divergence' && last.phaseName !== 'overfitting_onset';
}

function positionOn(axis: 'step' | 'epoch', position: RunPosition | undefined): number | null {
  return position?.[axis] ?? null;
}

/** Rules that say the same as a phase at the end of a run; any of them is enough. */
const SAID_BY: Readonly<
  Record<'divergence' | 'overfitting_onset' | 'stagnation', readonly string[]>
> = {
  divergence: [lossDivergence.id, rewardDecline.id, nonFinite.id],
  overfitting_onset: [overfittingOnset.id],
  stagnation: [
    plateau.id,
    lossNotDecreasing.id,
    overfittingOnset.id,
    lossDivergence.id,
    rewardDecline.id,
  ],
};

/** The rules that have to be on before a remark is made under the name of one. */
const SAID_BY_RULE: Readonly<Record<string, readonly string[]>> = {
  [lossDivergence.id]: [lossDivergence.id],
  [rewardDecline.id]: [rewardDecline.id],
  [overfittingOnset.id]: [overfittingOnset.id],
  [plateau.id]: [plateau.id, lossNotDecreasing.id],
  [lossNotDecreasing.id]: [lossNotDecreasing.id],
};

/** What the last phase says and no rule does, as a remark. */
function remarksOn(
  phases: readonly FoundPhase[],
  found: readonly Found[],
  { reward }: Signals,
): readonly Found[] {
  const last = phases.at(-1);
  if (last === undefined) return [];
  const isSaid = (ids: readonly string[]): boolean =>
    found.some(({ rule }) => ids.includes(rule.id));
  switch (last.phaseName) {
    case 'divergence':
      return isSaid(SAID_BY.divergence)
        ? []
        : reward === undefined
          ? [remark(lossDivergence, last, 'The run ended above its best')]
          : [remark(rewardDecline, last, 'The run ended below its best')];
    case 'overfitting_onset':
      return isSaid(SAID_BY.overfitting_onset)
        ? []
        : [remark(overfittingOnset, last, 'Validation is past its best')];
    case 'stagnation':
      return isSaid(SAID_BY.stagnation) ? [] : [remark(plateau, last, 'No progress at the end')];
    case 'initialization_adaptation':
    case 'rapid_learning':
    case 'stabilization':
      return [];
  }
}

/** A phase as a finding of the rule that finds the same. */
function remark(rule: Rule, phase: FoundPhase, title: string): Found {
  const { axis, confidence, end, evidence, start, summary } = phase;
  const at = (position: number): RunPosition => ({
    step: axis === 'step' ? Math.floor(position) : null,
    epoch: axis === 'epoch' ? Math.floor(position) : null,
  });
  const span = { from: at(start), to: at(end) };
  return {
    rule,
    finding: {
      severity: 'info',
      title,
      fact: summary,
      confidence,
      ...span,
      observations: evidence.map(({ observedValue, source, summary: text, thresholdValue }) => ({
        kind: 'metric',
        source,
        summary: text,
        observed: observedValue ?? undefined,
        threshold: thresholdValue ?? undefined,
        ...span,
        metadata: { phase: phase.phaseName },
      })),
    },
  };
}

function unhealthyOf(
  phases: readonly FoundPhase[],
  found: readonly Found[],
): ReadonlySet<AlertCategory> {
  const unhealthy = new Set<AlertCategory>();
  const isFlat = found.some(({ rule }) => rule.id === lossNotDecreasing.id);
  if (isFlat || endsIn(phases, 'divergence')) unhealthy.add('optimization');
  if (endsIn(phases, 'overfitting_onset')) unhealthy.add('generalization');
  if (found.some(({ rule }) => rule.id === runEnd.id)) unhealthy.add('runtime');
  return unhealthy;
}
