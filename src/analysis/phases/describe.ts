/** What is said of a phase: its evidence, how sure it is, and a sentence. */
import type { EvidenceRecord } from '../../records/evidence.ts';
import { evidenceRecord } from '../../records/evidence.ts';
import type { PhaseName } from '../../records/literals.ts';
import type { SeriesAxis } from '../columns/run-columns.ts';
import { firstAt, indexAtOrBefore } from '../columns/sorted-search.ts';
import { sayPositions } from '../signals/positions.ts';
import { riseOf, type Episode } from './divergence.ts';
import type { PhaseView } from './find-phases.ts';
import type { Segment } from './segments.ts';
import { relativeTo, type Track } from './track.ts';

/** A phase of a run, before it is stored. */
export type FoundPhase = {
  readonly phaseName: PhaseName;
  readonly displayName: string;
  /** What `start` and `end` count. */
  readonly axis: SeriesAxis;
  readonly start: number;
  /** Inclusive; one before the start of the next phase. */
  readonly end: number;
  /**
   * How sure it is, 0 to 1: support times margin. Support is 1 - 2^(-k/2) for k points of the curve in the phase. Margin is o / (o + t)
   * where the observed value o has to be at least the threshold t, t / (o + t) where it has to be at most t, and 1 where nothing is
   * compared: a half means at the threshold.
   */
  readonly confidence: number;
  /** Why the span has this name, in a sentence. */
  readonly summary: string;
  readonly evidence: readonly EvidenceRecord[];
};

/** Names for people. */
export const PHASE_DISPLAY_NAMES: Readonly<Record<PhaseName, string>> = Object.freeze({
  initialization_adaptation: 'Initialization and adaptation',
  rapid_learning: 'Rapid learning',
  stabilization: 'Stabilization',
  stagnation: 'Stagnation',
  overfitting_onset: 'Onset of overfitting',
  divergence: 'Divergence',
});

type Observation = {
  readonly source: string;
  readonly text: string;
  readonly observed: number;
  readonly threshold: number | null;
  /** Whether the observed value has to be at least the threshold, or at most. */
  readonly isLeast: boolean;
};

/** A span as a phase; `view` is null where no value is finite. */
export function describePhase(
  view: PhaseView | null,
  segment: Segment,
  end: number,
  axis: SeriesAxis,
  key: string,
): FoundPhase {
  const observations = view === null ? [neverFinite(key)] : observe(view, segment, end);
  const points = view === null ? 2 : pointsIn(view, segment.start, end);
  const support = 1 - 2 ** (-Math.max(1, points) / 2);
  const margin = Math.min(1, ...observations.map(marginOf));
  const [main] = observations;
  return {
    phaseName: segment.name,
    displayName: PHASE_DISPLAY_NAMES[segment.name],
    axis,
    start: segment.start,
    end,
    confidence: support * margin,
    summary: `${main?.text ?? ''} (${sayPositions(axis, segment.start, end)}).`,
    evidence: observations.map(({ observed, source, text, threshold }) =>
      evidenceRecord.wrap({
        kind: 'metric',
        source,
        summary: `${text}.`,
        observedValue: Number.isFinite(observed) ? observed : null,
        thresholdValue: threshold,
        stepStart: Math.floor(segment.start),
        stepEnd: Math.floor(end),
        metadata: { confidence: support * margin, axis },
      }),
    ),
  };
}

function observe(view: PhaseView, { name, start }: Segment, end: number): readonly Observation[] {
  switch (name) {
    case 'divergence':
      return [divergence(view, start)];
    case 'overfitting_onset':
      return overfitting(view, start);
    case 'initialization_adaptation':
    case 'rapid_learning':
    case 'stabilization':
    case 'stagnation':
      return [progress(view, name, start, end)];
  }
}

function progress(
  view: PhaseView,
  name: 'initialization_adaptation' | 'rapid_learning' | 'stabilization' | 'stagnation',
  start: number,
  end: number,
): Observation {
  const { plateaus, primary, thresholds } = view;
  // What has not begun to fall and what does not fall any more may be seen in different series.
  const [seen] =
    name === 'stagnation'
      ? [primary, plateaus.track]
          .map((track) => ({ track, ...moveOf(view, track, name, start, end) }))
          .toSorted((a, b) => Math.abs(a.fall) - Math.abs(b.fall))
      : [];
  const { track, before, after, fall } = seen ?? {
    track: primary,
    ...moveOf(view, primary, name, start, end),
  };
  const source = track.part.key;
  const moved = `${track.isRate ? 'The error rate of ' : ''}${source} ${moveText(before * track.sign, after * track.sign, fall, track.isRate)}`;
  const rapid = thresholds.rapidLearningMinRelativeChange;
  switch (name) {
    case 'initialization_adaptation':
      return {
        source,
        text: `Training begins: ${moved}`,
        observed: fall,
        threshold: null,
        isLeast: true,
      };
    case 'rapid_learning':
      return {
        source,
        text: `Fast progress: ${moved}`,
        observed: fall,
        threshold: rapid,
        isLeast: true,
      };
    case 'stabilization': {
      const share = primary.span > 0 ? Math.max(0.05, (end - start) / primary.span) : 1;
      const rate = (Math.abs(fall) * 0.05) / share;
      const pace = fall < 0 ? 'No more progress' : 'Slower progress, or none left to make';
      const text = `${pace}: ${moved}`;
      return { source, text, observed: rate, threshold: rapid, isLeast: false };
    }
    case 'stagnation': {
      const threshold = thresholds.stagnationMaxRelativeChange;
      const observed = Math.abs(fall);
      return { source, text: `No progress: ${moved}`, observed, threshold, isLeast: false };
    }
  }
}

/** How a loss moves over a phase: from the last point before it, except in the first. */
function moveOf(
  { primary, values }: PhaseView,
  track: Track,
  name: PhaseName,
  start: number,
  end: number,
): { readonly before: number; readonly after: number; readonly fall: number } {
  const { positions } = track.curve;
  const fitted = track === primary ? values : track.curve.fitted;
  const isWithin = name === 'initialization_adaptation' || name === 'stagnation';
  const from = Math.max(0, firstAt(positions, start) - (isWithin ? 0 : 1));
  const to = Math.max(from, indexAtOrBefore(positions, end));
  const before = fitted[Math.min(from, fitted.length - 1)] ?? 0;
  const after = fitted[to] ?? before;
  return { before, after, fall: relativeTo(track, before - after, before) };
}

function divergence(view: PhaseView, start: number): Observation {
  const { excursions, failedFrom, primary, thresholds } = view;
  const source = primary.part.key;
  const threshold = thresholds.divergenceFromBestRatio;
  const { positions } = primary.curve;
  const episode =
    excursions.find(({ from }) => (positions[from] ?? 0) >= start) ?? excursions.at(-1);
  const isRise = episode !== undefined && (positions[episode.from] ?? 0) === start;
  if (!isRise && !Number.isNaN(failedFrom))
    return {
      source,
      text: `${source} is not finite from ${view.axis} ${failedFrom} on`,
      observed: Number.NaN,
      threshold: null,
      isLeast: true,
    };
  if (episode === undefined) return neverFinite(source);
  const rise = riseOf(primary, episode);
  const text = riseText(primary, episode, rise);
  return { source, text, observed: rise, threshold, isLeast: true };
}

function riseText(
  { isRate, isSigned, part: { key }, sign }: Track,
  { best, peak }: Episode,
  rise: number,
): string {
  const [top, least] = [short(sign * peak), short(sign * best)];
  if (isRate)
    return `The error rate of ${key} rose to ${top}, ${short(rise * 100)} points above its best of ${least}`;
  if (isSigned) return `${key} ${sign < 0 ? 'fell' : 'rose'} to ${top} from its best of ${least}`;
  return `${key} rose to ${top}, ${percent(rise)} above its best of ${least}`;
}

function overfitting(
  { overfitting: found, primary, thresholds, val }: PhaseView,
  start: number,
): readonly Observation[] {
  const one = found.find((each) => each.start >= start) ?? found.at(-1);
  if (one === undefined || val === null) return [];
  const source = val.part.key;
  return [
    {
      source,
      text: `${source} is typically ${val.isSigned ? '' : `${percent(one.regression)} `}above its best of ${short(one.best)} while ${primary.part.key} goes on falling`,
      observed: one.regression,
      threshold: thresholds.overfittingMinValidationRegression,
      isLeast: true,
    },
    {
      source,
      text: one.isParting
        ? `${source} and ${primary.part.key} have parted${val.isSigned ? '' : ` by ${percent(one.gap)} of it`}`
        : `${source} is ${val.isSigned ? '' : `${percent(one.gap)} `}above ${primary.part.key}`,
      observed: one.gap,
      threshold: thresholds.overfittingMinGap,
      isLeast: true,
    },
    {
      source: primary.part.key,
      text: `${primary.part.key} fell${primary.isSigned ? '' : ` by ${percent(one.trainFall)}`} since ${source} was best`,
      observed: one.trainFall,
      threshold: thresholds.overfittingMinTrainRelativeChange,
      isLeast: true,
    },
  ];
}

function neverFinite(source: string): Observation {
  return {
    source,
    text: `No value of ${source} is finite`,
    observed: Number.NaN,
    threshold: null,
    isLeast: true,
  };
}

function marginOf({ isLeast, observed, threshold }: Observation): number {
  if (threshold === null) return 1;
  const size = Math.abs(observed);
  if (size === Infinity) return isLeast ? 1 : 0;
  if (size + threshold === 0) return 0.5;
  return (isLeast ? size : threshold) / (size + threshold);
}

function pointsIn({ failedFrom, primary }: PhaseView, start: number, end: number): number {
  const { positions } = primary.curve;
  const finite = indexAtOrBefore(positions, end) + 1 - firstAt(positions, start);
  return start >= failedFrom ? primary.part.nonFiniteCount : finite;
}

function moveText(before: number, after: number, fall: number, isRate: boolean): string {
  const numbers = `from ${shortBeside(before, after)} to ${shortBeside(after, before)}`;
  if (before === after) return `stayed at ${short(after)}`;
  const verb = after < before ? 'fell' : 'rose';
  if (isRate) return `${verb} by ${short(Math.abs(fall) * 100)} points, ${numbers}`;
  // Where a level is close to zero, the share is one of the run's scale: beside the numbers it would look wrong.
  const isOfBefore =
    Math.abs(Math.abs(fall * before) - Math.abs(before - after)) <= 0.02 * Math.abs(before - after);
  return isOfBefore ? `${verb} by ${percent(Math.abs(fall))}, ${numbers}` : `${verb} ${numbers}`;
}

function percent(share: number): string {
  return `${short(share * 100)} %`;
}

/** A number beside another: with as many digits as it takes to tell them apart, six at most. */
function shortBeside(value: number, other: number): string {
  const isApart = (digits: number): boolean =>
    value.toPrecision(digits) !== other.toPrecision(digits);
  const digits = [3, 4, 5].find(isApart) ?? 6;
  return String(Number(value.toPrecision(digits)));
}

/** Three digits are what a sentence can hold. */
function short(value: number): string {
  return String(Number(value.toPrecision(3)));
}
