import type { Lint } from '../../signals/model/lint.ts';
import { depthLints, frozenLints, layerLints } from '../../signals/model/layer-lints.ts';
import { modelOutline, type ModelOutline } from '../../signals/model/model-outline.ts';
import { outputLints, rangeLints } from '../../signals/model/output-lints.ts';
import { defineRule, mostSevereFirst } from '../../signals/rule.ts';
import { say, when } from '../../text/sentences.ts';

const ADAPTIVE = /^(?:adam|adamax|nadam|rmsprop|adamw)(?:optimizer)?$/;

export const staticModelLint = defineRule({
  id: 'static_model_lint',
  category: 'optimization',
  needs: { anyOf: ['model'] },
  detects:
    'Faults of the model that its configuration shows before training: outputs that do not fit the loss, missing activations, weights that begin alike.',
  source: 'NeuraLint (2021), UMLAUT (2021), TheDeepChecker',
  cause: 'a layer or the loss is not what it was meant to be',
  advice: 'correct the layer that is named',
  live: 'at_once',
  thresholds: {
    staticModelMaxDropout: { value: 0.5, doc: 'Largest share of units that dropout may drop.' },
    staticModelMaxAdaptiveRate: { value: 0.05, doc: 'Largest learning rate of Adam and its like.' },
    staticModelMaxSquashed: {
      value: 4,
      doc: 'Hidden layers with sigmoid or tanh in a row without normalisation.',
    },
  },
  measure({ columns, model, thresholds: t }) {
    const outline = modelOutline(columns, model);
    if (outline === undefined) return [];
    const lints = mostSevereFirst([
      ...outputLints(outline),
      ...rangeLints(outline, columns.batches),
      ...layerLints(outline, t.staticModelMaxDropout),
      // Where parameters were recorded, they say whether what is frozen was trained before: that is for another rule.
      ...(columns.parameters.length > 0 ? [] : frozenLints(outline)),
      ...depthLints(outline, t.staticModelMaxSquashed),
      ...rateLints(outline, t.staticModelMaxAdaptiveRate),
    ]);
    const names = new Set(outline.layers.map(({ name }) => name));
    return lints.slice(0, 1).map((worst) => ({ worst, lints, names }));
  },
  finding: {
    levels: {
      error: ({ worst }) => worst.severity === 'error',
      warning: ({ worst }) => worst.severity === 'warning',
      info: () => true,
    },
    title: ({ worst }) => `The model has a fault in ${worst.where}`,
    fact: ({ lints: { length }, worst }) =>
      `${worst.fact}${when(length > 1, `; ${length - 1} more remarks are in the evidence`)}.`,
    confidence: ({ worst }) => CONFIDENCES[worst.severity],
    cause: ({ worst }) => worst.cause,
    advice: ({ worst }) => worst.advice,
    evidence: ({ lints, names }) =>
      lints.map(({ advice, fact, observed, severity, threshold, where }) => ({
        kind: 'configuration',
        source: where,
        summary: `${fact}: ${advice}.`,
        observed,
        threshold,
        metadata: { severity, ...(names.has(where) ? { module_name: where } : {}) },
      })),
  },
});

const CONFIDENCES = { critical: 0.95, error: 0.95, warning: 0.8, info: 0.7 } as const;

function rateLints({ learningRate, optimizer }: ModelOutline, max: number): readonly Lint[] {
  if (learningRate === undefined || optimizer === undefined) return [];
  if (!ADAPTIVE.test(optimizer) || learningRate <= max) return [];
  return [
    {
      severity: 'warning',
      where: 'the optimizer',
      fact: `The learning rate of ${optimizer} is ${say(learningRate)}`,
      cause: 'optimizers of this kind change every weight by about the learning rate in each step',
      advice: 'begin with 0.001',
      observed: learningRate,
      threshold: max,
    },
  ];
}
