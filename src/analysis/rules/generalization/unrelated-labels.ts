import { observe, ofMetric } from '../../signals/observe.ts';
import { defineRule } from '../../signals/rule.ts';
import { unrelatedLabels } from './labels-at-chance.ts';
import { say } from '../../text/sentences.ts';

export const unrelatedLabelsRule = defineRule({
  id: 'unrelated_labels',
  category: 'generalization',
  needs: { anyOf: ['loss_pair'] },
  detects:
    'A validation that never got better than chance while training went far below it: labels do not belong to their samples.',
  source:
    'Zhang et al. (2017), who train on labels drawn at random; chance by the entropy of the classes, or the variance of the targets',
  cause: 'labels and samples were put into different orders, or joined by the wrong key',
  advice:
    'check some training samples with their labels, and whether both are shuffled in the same way',
  live: 'trend',
  thresholds: {},
  measure: ({ columns, isAbsolute, model, signals }) => {
    const found = isAbsolute ? undefined : unrelatedLabels(columns, model, signals);
    return found === undefined ? [] : [found];
  },
  finding: {
    levels: 'error',
    title: 'What is learned holds for no other sample',
    fact: ({ chance, lastTrain, lowest, train, validation }) =>
      `${validation.key} never got below ${say(lowest)}, and chance is ${say(chance)}, while ${train.key} fell to ${say(lastTrain)}.`,
    confidence: 0.8,
    evidence: ({ chance, lowest, validation }) => [
      observe(ofMetric(validation), [], `At best ${say(lowest)}.`, {
        observed: lowest,
        threshold: chance,
      }),
    ],
  },
});
