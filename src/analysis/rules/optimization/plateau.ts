import { observe, ofMetric } from '../../signals/observe.ts';
import { positionAt, sayPosition } from '../../signals/positions.ts';
import { blockRows, type Profile } from '../../signals/profile.ts';
import { medianInPlace } from '../../signals/quickselect.ts';
import { defineRule } from '../../signals/rule.ts';
import { rangeWithin, sayRange, sayShare } from '../../text/sentences.ts';

export const plateau = defineRule({
  id: 'plateau',
  category: 'optimization',
  needs: { anyOf: ['train_loss', 'val_loss', 'accuracy'], points: 'plateauMinPoints' },
  detects:
    'A run whose losses have not improved for a large part of it, away from the floor of the task.',
  source: 'SageMaker Debugger (Overtraining: delta 0.01); what counts as a floor is ours',
  cause: 'the run has learned what it can with these settings',
  advice: 'stop here, or lower the learning rate once to see whether there is more to gain',
  live: 'whole_run',
  thresholds: {
    plateauMinShare: { value: 0.4, doc: 'Share of the run at its end without improvement.' },
    plateauMaxChange: {
      value: 0.01,
      doc: 'Largest improvement over that part, as a share of all that the run gained.',
    },
    plateauMinPoints: { value: 20, doc: 'Fewest finite values of the loss.' },
    plateauSolvedAccuracy: { value: 0.97, doc: 'Accuracy from which flat means solved.' },
    plateauSolvedShare: {
      value: 0.95,
      doc: 'Share of its start that a loss must have lost for flat to mean solved.',
    },
  },
  measure({ signals, thresholds: t }) {
    if (signals.finalAccuracy >= t.plateauSolvedAccuracy) return [];
    const validation = signals.lossPairs.map((pair) => pair.validation);
    const all = [...signals.judgedLosses, ...validation].map((series) => ({
      series,
      course: signals.course(series),
    }));
    const [first] = signals.reward === undefined ? all : [];
    if (first?.course === undefined) return [];
    const { course, series } = first;
    const { end, improvement, profile, start } = course;
    // Every loss must be flat, and something must have been learned before.
    const flats = all.map(({ course: own }) =>
      own === undefined || own.profile.values.length < t.plateauMinPoints
        ? undefined
        : flatSince(own.profile, t.plateauMaxChange * own.improvement),
    );
    const since = Math.max(...flats.map((share) => share ?? 1));
    const isSolved = !profile.isSigned && end <= (1 - t.plateauSolvedShare) * start;
    const hasLearned = improvement > 10 * profile.levelNoise && signals.learnedShare > 0.02;
    if (1 - since < t.plateauMinShare || isSolved || !hasLearned || signals.isHarmed) return [];
    const { length } = profile.levels;
    const rows = blockRows(profile, Math.min(length - 1, Math.ceil(since * length)), length - 1);
    return [{ series, rows, range: rangeWithin(series.values, rows), share: 1 - since }];
  },
  finding: {
    levels: 'info',
    title: 'No more improvement',
    fact: ({ range, rows, series, share }) =>
      `${series.key} has been ${sayRange(range)} since ${sayPosition(positionAt(series, rows[0]))}, the last ${sayShare(share)} of the run.`,
    confidence: 0.75,
    evidence: ({ rows, series, share }, t) => [
      observe(ofMetric(series), rows, `Flat for ${sayShare(share)} of the run.`, {
        observed: share,
        threshold: t.plateauMinShare,
      }),
    ],
  },
});

/** Between the lowest and the highest of some twenty medians lie about four of their deviations, each 1.25 that of a mean. */
const RANGE = 5;

/**
 * The share of the run after which no level, taken over a twentieth of it, lies lower by more than `change` than the one
 * before; the noise of levels is let through. Undefined for a course that goes on falling.
 */
function flatSince(profile: Profile, change: number): number | undefined {
  const { levelNoise, levels } = profile;
  const width = Math.max(1, Math.round(levels.length / 20));
  const parts: number[] = [];
  for (let end = levels.length; end - width >= 0; end -= width)
    parts.unshift(medianInPlace(levels.slice(end - width, end)));
  const last = parts.at(-1);
  if (last === undefined) return undefined;
  const tolerance = Math.max(change, (RANGE * levelNoise) / Math.sqrt(width));
  let count = 0;
  let lowest = Number.POSITIVE_INFINITY;
  while (count < parts.length) {
    const part = parts[parts.length - 1 - count] ?? Number.NaN;
    lowest = Math.min(lowest, part);
    if (part - lowest > tolerance) break;
    count++;
  }
  return 1 - (count * width) / levels.length;
}
