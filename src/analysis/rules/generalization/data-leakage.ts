import type { MetricSeries } from '../../columns/run-columns.ts';
import { samplesOfEpoch } from '../../signals/class-totals.ts';
import { observe, ofMetric } from '../../signals/observe.ts';
import { defineRuleOfKinds } from '../../signals/rule.ts';
import { say, sayShare } from '../../text/sentences.ts';

export const dataLeakage = defineRuleOfKinds({
  id: 'data_leakage',
  category: 'generalization',
  needs: { anyOf: ['batches'] },
  detects:
    'An input that is the target itself, and samples of the validation that the model is trained on.',
  source:
    'Kaufman, Rosset and Perlich (2012); the share of samples that come again by themselves is ours',
  cause: 'a column that is only known with the answer is among the features',
  advice: 'leave that column out of the features',
  live: 'trend',
  thresholds: {
    dataLeakageCorrelation: {
      value: 0.98,
      doc: 'Size of the correlation of a single input with the target (`data/input_target_correlation`), from.',
    },
    dataLeakageMinSamples: {
      value: 50,
      doc: 'Fewest samples of an epoch: with fewer, one of many inputs follows the target by chance.',
    },
    dataLeakageOverlap: {
      value: 0.1,
      doc: 'Share of the samples of the validation that were trained on (`data/validation_overlap`), from.',
    },
    dataLeakageRepeats: {
      value: 2.5,
      doc: 'Times the share of samples that come again within an epoch by themselves (`data/repeated_samples`), which is added to the limit.',
    },
  },
  measure({ columns: { batches, metrics }, thresholds: t }): readonly (Target | Overlap)[] {
    const hasMany = samplesOfEpoch(batches) >= t.dataLeakageMinSamples;
    const close = metrics.get('data/input_target_correlation');
    const correlation = close?.values.at(-1) ?? Number.NaN;
    const overlap = metrics.get('data/validation_overlap');
    const share = overlap?.values.at(-1) ?? Number.NaN;
    const repeated = metrics.get('data/repeated_samples')?.values.at(-1) ?? Number.NaN;
    const limit = t.dataLeakageOverlap + t.dataLeakageRepeats * repeated;
    return [
      ...(close !== undefined && hasMany && correlation >= t.dataLeakageCorrelation
        ? [
            {
              kind: 'target' as const,
              series: close,
              correlation,
              input: metrics.get('data/most_correlated_input')?.values.at(-1) ?? Number.NaN,
            },
          ]
        : []),
      ...(overlap !== undefined && share >= limit
        ? [{ kind: 'overlap' as const, series: overlap, limit, repeated, share }]
        : []),
    ];
  },
  findings: {
    target: {
      levels: 'warning',
      title: 'The target is among the features',
      fact: ({ correlation, input }) =>
        `Input ${say(input)} (counted from 0) follows the target with a correlation of ${say(correlation)}: it gives the answer away.`,
      confidence: 0.85,
      evidence: ({ correlation, input, series }, t) => [
        observe(ofMetric(series), [], `Correlation ${say(correlation)}.`, {
          observed: correlation,
          threshold: t.dataLeakageCorrelation,
          metadata: Number.isFinite(input) ? { input } : {},
        }),
      ],
    },
    overlap: {
      levels: 'warning',
      title: 'Samples of the validation are trained on',
      fact: ({ repeated, share }) =>
        `${sayShare(share)} of the validation samples are among the training samples, though only ${sayShare(repeated)} of the samples of an epoch come more than once.`,
      confidence: 0.9,
      cause: 'the samples were split after they had been repeated, or the parts overlap',
      advice: 'remove duplicates, and split the samples before anything else is done with them',
      evidence: ({ limit, series, share }) => [
        observe(ofMetric(series), [], `${sayShare(share)} of the samples.`, {
          observed: share,
          threshold: limit,
        }),
      ],
    },
  },
});

type Target = {
  readonly kind: 'target';
  readonly series: MetricSeries;
  readonly correlation: number;
  /** Position of the input among the numbers of a sample; NaN where it is not known. */
  readonly input: number;
};

type Overlap = {
  readonly kind: 'overlap';
  readonly series: MetricSeries;
  readonly share: number;
  readonly repeated: number;
  readonly limit: number;
};
