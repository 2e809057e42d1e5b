import { saySpan, spanOfRows } from '../../signals/positions.ts';
import { defineRule } from '../../signals/rule.ts';
import {
  blows,
  grownBy,
  observeRatio,
  swept,
  updateRatios,
  type UpdateRatio,
} from '../../signals/update-ratios.ts';
import { say, when } from '../../text/sentences.ts';

export const updateRatioHigh = defineRule({
  id: 'update_ratio_high',
  category: 'optimization',
  needs: { anyOf: ['parameters'], points: 'updateRatioMinProbes' },
  detects:
    'Updates that are large beside the weights they change, or were at first and have carried the weights far off, while the loss suffers.',
  source:
    'TheDeepChecker (log10 of the ratio within -4 and -1; weights that grow by a factor of 2 diverge); that nearly all weights must have gone that way is ours',
  cause: 'the learning rate is too high',
  advice: 'divide the learning rate by 10',
  live: 'trend',
  thresholds: {
    updateRatioHigh: { value: 0.1, doc: 'Typical norm of the update over that of the weights.' },
    updateRatioBlow: {
      value: 1,
      doc: 'Norm of single updates over that of the weights, at any time, that counts as a blow.',
    },
    updateRatioMinBlows: {
      value: 2,
      doc: 'Fewest such updates of one weight, where not all weights got one.',
    },
    updateRatioGrowth: {
      value: 2,
      doc: 'Factor by which weights have grown under updates above `updateRatioHigh`, though later ones are small beside them.',
    },
    updateRatioMinProbes: { value: 3, doc: 'Fewest snapshots after the first tenth.' },
    updateRatioHighLearned: {
      value: 0.5,
      doc: 'Share of its start that the loss must have lost for large updates to count as harmless.',
    },
  },
  measure({ signals, thresholds: t }): readonly LargeUpdates[] {
    // Large updates of small networks often do no harm: the loss must agree.
    const isFine =
      signals.learnedShare >= t.updateRatioHighLearned &&
      signals.learnedSinceFirst >= t.updateRatioHighLearned &&
      !signals.isHarmed;
    if (isFine) return [];
    const ways = [
      {
        kind: 'lasting',
        found: updateRatios(signals, t.updateRatioMinProbes)
          .filter(({ ratio }) => ratio > t.updateRatioHigh)
          .toSorted((a, b) => b.ratio - a.ratio),
      },
      // Weights that were once pushed further than they were large: what follows may look calm.
      { kind: 'blow', found: blows(signals, t.updateRatioBlow, t.updateRatioMinBlows) },
      { kind: 'swept', found: swept(signals, t.updateRatioHigh, t.updateRatioGrowth) },
    ] as const;
    return ways
      .filter(({ found }) => found.length > 0)
      .slice(0, 1)
      .flatMap(({ found, kind }) =>
        found.slice(0, 1).map((worst) => ({ kind, worst, found, isHarmed: signals.isHarmed })),
      );
  },
  finding: {
    levels: { error: ({ isHarmed, worst }) => worst.ratio > 1 || isHarmed, warning: () => true },
    title: 'Updates are too large',
    fact: ({ found: { length }, kind, worst }, t) => {
      const others = when(
        length > 1,
        `, and ${length - 1} other weights ${OTHERS[kind](t.updateRatioHigh)}`,
      );
      return `${FACTS[kind](worst)} ${saySpan(spanOfRows(worst.weight, worst.start))}${others}.`;
    },
    confidence: ({ isHarmed }) => (isHarmed ? 0.92 : 0.8),
    evidence: ({ found, kind }, t) =>
      found.slice(0, 5).map((one) => {
        const limit = kind === 'blow' ? t.updateRatioBlow : t.updateRatioHigh;
        const typical = observeRatio(one, limit);
        const summary = SUMMARIES[kind](one, limit) ?? typical.summary;
        const metadata = kind === 'swept' ? { growth: grownBy(one.weight) } : {};
        return { ...typical, summary, metadata };
      }),
  },
});

/** How updates are large: typical ones; single ones; or early ones that have carried the weights off. */
type Kind = 'lasting' | 'blow' | 'swept';

/** Weights with large updates, the worst first. */
type LargeUpdates = {
  readonly kind: Kind;
  readonly worst: UpdateRatio;
  readonly found: readonly UpdateRatio[];
  readonly isHarmed: boolean;
};

const FACTS: Readonly<Record<Kind, (worst: UpdateRatio) => string>> = {
  lasting: ({ ratio, weight }) =>
    `The typical update of ${weight.parameterName} is ${say(ratio)} of its weights`,
  blow: ({ ratio, weight }) =>
    `The largest of some updates of ${weight.parameterName} is ${say(ratio)} of its weights`,
  swept: ({ ratio, weight }) =>
    `Updates of up to ${say(ratio)} of its weights have carried ${weight.parameterName} to ${say(grownBy(weight))} times its first size`,
};

const OTHERS: Readonly<Record<Kind, (limit: number) => string>> = {
  lasting: (limit) => `are above ${say(limit)}`,
  blow: () => 'got such updates',
  swept: () => 'went the same way',
};

/** What evidence says of one weight; undefined for its typical update. */
const SUMMARIES: Readonly<Record<Kind, (one: UpdateRatio, limit: number) => string | undefined>> = {
  lasting: () => undefined,
  blow: ({ count, ratio }) =>
    `${count === 1 ? 'One update' : `${count} updates`} of the size of the weights, up to ${say(ratio)} of them.`,
  swept: ({ count, weight }, limit) =>
    `${count} updates above ${say(limit)} of the weights, which grew to ${say(grownBy(weight))} times their first size.`,
};
