import { blockEnd, blockStart } from './profile.ts';
import { sayRange } from './places.ts';
import { defineRule, say, sayShare, type Finding } from './rule.ts';
import { quantileOf } from './selection.ts';

export const oscillatingLoss = defineRule({
  id: 'oscillating_loss',
  category: 'optimization',
  detects: 'A training loss that swings back and forth by a large part of what the run gains.',
  source:
    'AUTOTRAINER (oscillating loss: swings in a fifth of the epochs), TheDeepChecker (sign changes); that noise does not alternate is ours',
  cause: 'updates overshoot: the learning rate is too high, or the momentum',
  advice: 'divide the learning rate by 3 and see whether the swings shrink',
  thresholds: {
    oscillatingLossMinShare: {
      value: 0.2,
      doc: 'Least size of the typical swing, as a share of what the run gained.',
    },
    oscillatingLossMaxCorrelation: {
      value: -0.4,
      doc: 'Largest correlation of neighbours, trend removed: noise has 0, what alternates -1.',
    },
    oscillatingLossMinPoints: { value: 20, doc: 'Fewest points in the second half of the run.' },
  },
  evaluate({ signals, thresholds: t }) {
    return signals.trainLosses.flatMap((series): Finding[] => {
      const course = signals.course(series);
      if (course === undefined) return [];
      const { improvement, profile } = course;
      const half = Math.floor(profile.values.length / 2);
      const tail = profile.values.subarray(half, half + 20_000);
      if (tail.length < t.oscillatingLossMinPoints) return [];
      const swing = typicalSwing(tail);
      // Nothing gained: then the size of the loss is what swings are compared with.
      const gain = improvement > 0 ? improvement : Math.abs(course.start);
      const share = swing / (gain || 1);
      const correlation = neighbourCorrelation(tail);
      const isAlternating =
        correlation <=
        Math.min(
          t.oscillatingLossMaxCorrelation,
          (-3 * CORRELATION_ERROR) / Math.sqrt(tail.length),
        );
      if (!(share >= t.oscillatingLossMinShare) || !isAlternating || isShrinking(tail)) return [];
      const from = blockStart(profile, Math.floor(half / profile.blockSize));
      const to = blockEnd(profile, profile.levels.length - 1);
      return [
        {
          severity: share >= 1 ? 'error' : 'warning',
          title: `${series.key} swings`,
          fact: `${series.key} went up and down by ${say(swing)}, ${sayShare(share)} of what the run gained, ${sayRange(from, to)}.`,
          confidence: correlation < -0.7 ? 0.9 : 0.75,
          from,
          to,
          observations: [
            {
              kind: 'metric',
              source: series.key,
              summary: `Typical swing of ${say(swing)}; neighbours correlate by ${say(correlation)}.`,
              observed: share,
              threshold: t.oscillatingLossMinShare,
              from,
              to,
              metadata: { neighbour_correlation: correlation },
            },
          ],
        },
      ];
    });
  },
});

/** Standard error of {@link neighbourCorrelation} for independent normal values, times the root of their number (simulated). */
const CORRELATION_ERROR = 1.44;

/** The median size of the step from one value to the next. */
function typicalSwing(values: Float64Array): number {
  const sizes = new Float64Array(Math.max(0, values.length - 1));
  for (let i = 0; i < sizes.length; i++)
    sizes[i] = Math.abs((values[i + 1] ?? 0) - (values[i] ?? 0));
  return quantileOf(sizes, 0.5);
}

/**
 * The correlation of each value with the next around the course of the series, robust in that differences beyond three
 * times the typical size are cut: from the correlation r of neighbouring differences, 1 + 2 r, which is 0 for independent
 * values whatever the trend, and -1 for what alternates.
 */
export function neighbourCorrelation(values: Float64Array): number {
  const limit = 3 * typicalSwing(values);
  if (!(limit > 0)) return 0;
  let product = 0;
  let square = 0;
  let before = Number.NaN;
  for (let i = 1; i < values.length; i++) {
    const difference =
      Math.max(-limit, Math.min(limit, (values[i] ?? 0) - (values[i - 1] ?? 0))) / limit;
    if (!Number.isNaN(before)) product += before * difference;
    square += difference * difference;
    before = difference;
  }
  return square > 0 ? 1 + (2 * product) / square : 0;
}

/** Whether swings of the last third are clearly smaller than those of the first: then the run settles by itself. */
function isShrinking(values: Float64Array): boolean {
  const third = Math.floor(values.length / 3);
  return typicalSwing(values.subarray(-third)) < 0.5 * typicalSwing(values.subarray(0, third));
}
