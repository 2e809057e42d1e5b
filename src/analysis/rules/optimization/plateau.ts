import { blockEnd, blockStart, levelOf, type Profile } from '../../signals/profile.ts';
import { sayPlace } from '../../signals/positions.ts';
import { defineRule, say, sayShare, type Finding } from '../../signals/rule.ts';
import { medianInPlace } from '../../signals/quickselect.ts';

export const plateau = defineRule({
  id: 'plateau',
  category: 'optimization',
  detects:
    'A run whose losses have not improved for a large part of it, away from the floor of the task.',
  source: 'SageMaker Debugger (Overtraining: delta 0.01); what counts as a floor is ours',
  cause: 'the run has learned what it can with these settings',
  advice: 'stop here, or lower the learning rate once to see whether there is more to gain',
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
  evaluate({ signals, thresholds: t }) {
    if (signals.finalAccuracy >= t.plateauSolvedAccuracy) return [];
    const validation = signals.lossPairs.map((pair) => pair.validation);
    const all = [...signals.trainLosses, ...validation].map((series) => ({
      series,
      course: signals.course(series),
    }));
    const [first] = all;
    // Everything that is watched must stand still, and something must have been learned before.
    if (first?.course === undefined) return [];
    const flats = all.map(({ course }) =>
      course === undefined || course.profile.values.length < t.plateauMinPoints
        ? undefined
        : flatSince(course.profile, t.plateauMaxChange * course.improvement),
    );
    const since = Math.max(...flats.map((share) => share ?? 1));
    const { course, series } = first;
    const isSolved =
      course.start > 0 &&
      course.end >= 0 &&
      course.end <= (1 - t.plateauSolvedShare) * course.start;
    const hasLearned =
      course.improvement > 10 * course.profile.levelNoise && signals.learnedShare > 0.02;
    if (1 - since < t.plateauMinShare || isSolved || !hasLearned || signals.isHarmed) return [];
    const { profile } = course;
    const block = Math.min(profile.levels.length - 1, Math.ceil(since * profile.levels.length));
    const from = blockStart(profile, block);
    const to = blockEnd(profile, profile.levels.length - 1);
    const level = levelOf(profile, since, 1);
    const finding: Finding = {
      severity: 'info',
      title: 'No more improvement',
      fact: `${series.key} has stayed at about ${say(level)} since ${sayPlace(from)}, the last ${sayShare(1 - since)} of the run.`,
      confidence: 0.75,
      from,
      to,
      observations: [
        {
          kind: 'metric',
          source: series.key,
          summary: `Flat for ${sayShare(1 - since)} of the run.`,
          observed: 1 - since,
          threshold: t.plateauMinShare,
          from,
          to,
        },
      ],
    };
    return [finding];
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
