import { positionsOn } from '../../columns/align-axis.ts';
import { type LayerSeries, type MetricSeries, type RunColumns } from '../../columns/run-columns.ts';
import { outlineOf } from '../../signals/model/model-outline.ts';
import { strayAverages, type MovingAverages } from '../../signals/moving-averages.ts';
import { observe, ofLayer, ofMetric } from '../../signals/observe.ts';
import { rowBefore, saySpan, spanOfRows } from '../../signals/positions.ts';
import { levelSize } from '../../signals/profile.ts';
import { defineRuleOfKinds } from '../../signals/rule.ts';
import type { Signals } from '../../signals/signals.ts';
import { median } from '../../signals/statistics.ts';
import { say, sayShare } from '../../text/sentences.ts';

export const trainEvalMismatch = defineRuleOfKinds({
  id: 'train_eval_mismatch',
  category: 'generalization',
  needs: {
    anyOf: ['train_eval_loss', 'activations', 'loss_pair'],
    points: 'trainEvalMismatchPoints',
  },
  detects:
    'A model that computes something else in evaluation than in training: batch normalisation or dropout in the wrong mode.',
  source:
    'TheDeepChecker (loss of the same batch in both modes differs by more than 0.5); the comparison of layers, dropout that drops nothing and moving averages beside batches are ours',
  cause:
    'moving averages of batch normalisation do not fit the data, or a layer runs in the wrong mode',
  advice:
    'evaluate one training batch in both modes, and check the momentum of batch normalisation and the training flag',
  live: 'trend',
  thresholds: {
    trainEvalMismatchLoss: {
      value: 0.5,
      doc: 'Difference of the losses of the same batches in both modes, as a share of the training loss.',
    },
    trainEvalMismatchScale: {
      value: 3,
      doc: "Factor between the sizes of a layer's outputs in training and in evaluation.",
    },
    trainEvalMismatchAverages: {
      value: 4,
      doc: 'Factor between the variance that batch normalisation keeps and that of the batches: outputs of half or twice the size.',
    },
    trainEvalMismatchPoints: { value: 3, doc: 'Fewest points or probes of each mode.' },
  },
  measure({ columns, model, signals, thresholds: t }): readonly Mismatch[] {
    const points = t.trainEvalMismatchPoints;
    const found =
      ofLosses(signals, t.trainEvalMismatchLoss, points) ??
      idleDropout(columns, signals, model, points) ??
      ofLayers(columns, signals, t.trainEvalMismatchScale, points) ??
      ofAverages(columns, signals, t.trainEvalMismatchAverages, points);
    return found === undefined ? [] : [found];
  },
  findings: {
    losses: {
      levels: 'error',
      title: 'Training and evaluation disagree',
      fact: ({ difference, evaluated }) =>
        `On the same batches the loss in evaluation differs by ${sayShare(difference)} from that in training ${saySpan(spanOfRows(evaluated))}.`,
      confidence: 0.9,
      evidence: ({ difference, evaluated }, t) => [
        observe(ofMetric(evaluated), [], `Typical difference ${sayShare(difference)}.`, {
          observed: difference,
          threshold: t.trainEvalMismatchLoss,
        }),
      ],
    },
    dropout: {
      levels: 'error',
      title: 'Dropout is off in training',
      fact: ({ first: { layer, rate } }) =>
        `${layer.moduleName}, which should drop ${sayShare(rate)} of the values, gave exactly what it got in all ${layer.steps.length} probes of training ${saySpan(spanOfRows(layer))}.`,
      confidence: 0.95,
      cause:
        'the model is run in evaluation mode while it is trained, and perhaps the other way round',
      advice: 'check the training flag of both passes',
      evidence: ({ all, first }) =>
        all.slice(0, 5).map(({ layer, rate }) => ({
          ...observe(ofLayer(first.layer), [], `Drops nothing, at a rate of ${say(rate)}.`),
          source: layer.moduleName,
          observed: 0,
          threshold: rate,
        })),
    },
    layers: {
      levels: 'warning',
      title: 'Training and evaluation disagree',
      fact: ({ first: { factor, layer } }) =>
        `The outputs of ${layer.moduleName} are ${say(factor)} times as large in evaluation as in training ${saySpan(spanOfRows(layer))}, and validation is far worse than training.`,
      confidence: 0.8,
      evidence: ({ all, first }, t) =>
        all.slice(0, 5).map(({ factor, layer }) => ({
          ...observe(ofLayer(first.layer), [], `${say(factor)} times as large in evaluation.`),
          source: layer.moduleName,
          observed: factor,
          threshold: t.trainEvalMismatchScale,
        })),
    },
    averages: {
      levels: 'error',
      title: 'Moving averages do not fit the data',
      fact: ({ first: { batchVariance, layer, variance } }) =>
        `${layer.moduleName} evaluates with a variance of ${say(variance)}, while that of its values in training is ${say(batchVariance)} ${saySpan(spanOfRows(layer))}, and validation is far worse than training.`,
      confidence: 0.85,
      cause:
        'the moving averages have not caught up with the data: the momentum is too close to 1 for so few steps, or they are not updated',
      advice: 'lower the momentum of batch normalisation (0.9), or train for more steps',
      evidence: ({ all, first }, t) =>
        all.slice(0, 5).map(({ batchVariance, factor, layer, variance }) => {
          const summary = `Variance of ${say(variance)} in evaluation, of ${say(batchVariance)} in training.`;
          return {
            ...observe(ofLayer(first.layer), [], summary),
            source: layer.moduleName,
            observed: factor,
            threshold: t.trainEvalMismatchAverages,
          };
        }),
    },
  },
});

/** A layer that drops nothing, and the rate at which it should. */
type IdleDropout = { readonly layer: LayerSeries; readonly rate: number };

/** A layer, and how many times as large its outputs are in evaluation as in training. */
type ScaledLayer = { readonly layer: LayerSeries; readonly factor: number };

/** What was found of one kind, and the first or worst of it. */
type FoundOf<K extends string, E> = {
  readonly kind: K;
  readonly first: E;
  readonly all: readonly E[];
};

/** How training and evaluation differ: losses of the same batches, dropout, outputs of layers, moving averages. */
type Mismatch =
  | { readonly kind: 'losses'; readonly evaluated: MetricSeries; readonly difference: number }
  | FoundOf<'dropout', IdleDropout>
  | FoundOf<'layers', ScaledLayer>
  | FoundOf<'averages', MovingAverages>;

/** The same batches in both modes, where somebody recorded that. */
function ofLosses(signals: Signals, limit: number, points: number): Mismatch | undefined {
  const evaluated = signals.trainEvalLoss;
  const [train] = signals.trainLosses;
  const beside = evaluated && train && positionsOn(evaluated, train);
  if (evaluated === undefined || train === undefined || beside === undefined) return undefined;
  const profile = signals.profile(train);
  const differences = evaluated.values.map((value, row) => {
    const at = rowBefore(train, beside[row] ?? 0);
    const own = train.values[at] ?? Number.NaN;
    return Math.abs(value - own) / levelSize(profile, own);
  });
  const difference = median(differences);
  return differences.length >= points && difference > limit
    ? { kind: 'losses', evaluated, difference }
    : undefined;
}

/**
 * Dropout that gives what it gets in every pass that trains: the model is trained as it should be evaluated. All dropout of the
 * model must be idle: a part that was trained before is often used as in evaluation, and has dropout in front of it that works.
 */
function idleDropout(
  columns: RunColumns,
  signals: Signals,
  model: unknown,
  points: number,
): Mismatch | undefined {
  const { config } = columns.run;
  const outline = outlineOf(model ?? config['model'] ?? config, config);
  const rates = new Map(outline?.layers.map(({ name, rate }) => [name, rate]));
  const layers = signals.layers('activation');
  const all = layers.flatMap((layer, at) => {
    const rate = Number(rates.get(layer.moduleName.split('/').at(-1) ?? ''));
    const before = layers[at - 1];
    // Without its rate nothing is known: one of 0 drops nothing, and is no fault.
    if (!/^(?:spatial|gaussian|alpha)?dropout/i.test(layer.moduleType) || !(rate > 0)) return [];
    return [{ layer, rate, isIdle: before !== undefined && isSame(layer, before) }];
  });
  const [first] = all;
  return first !== undefined &&
    all.every(({ isIdle }) => isIdle) &&
    first.layer.steps.length >= points
    ? { kind: 'dropout', first, all }
    : undefined;
}

/** Whether two layers gave the same values in every probe, as far as their statistics tell, and not only zeros. */
function isSame(layer: LayerSeries, before: LayerSeries): boolean {
  return (
    layer.steps.length > 0 &&
    layer.steps.length === before.steps.length &&
    layer.norm.some((norm) => norm > 0) &&
    (['steps', 'norm', 'mean', 'std', 'elementCount'] as const).every((name) =>
      layer[name].every((value, row) => Object.is(value, before[name][row])),
    )
  );
}

/** Outputs of a layer in passes that train and in passes that evaluate. Validation must be bad as well: data may differ. */
function ofLayers(
  columns: RunColumns,
  signals: Signals,
  limit: number,
  points: number,
): Mismatch | undefined {
  if (!isWorse(signals)) return undefined;
  const outputSize = (layer: LayerSeries): number =>
    median(layer.norm.map((norm, row) => norm / Math.sqrt(layer.elementCount[row] ?? Number.NaN)));
  const all = signals.layers('activation').flatMap((layer) => {
    const evaluated = columns.layers.find(
      (other) =>
        other.isEvaluation &&
        other.moduleName === layer.moduleName &&
        other.summaryType === 'activation' &&
        other.callIndex === layer.callIndex,
    );
    if (evaluated === undefined || evaluated.norm.length < points || layer.norm.length < points)
      return [];
    const factor = outputSize(evaluated) / outputSize(layer);
    return factor > limit || factor < 1 / limit ? [{ layer, factor }] : [];
  });
  const [first] = all;
  return first === undefined ? undefined : { kind: 'layers', first, all };
}

/** Whether validation ends far above training. */
function isWorse(signals: Signals): boolean {
  return signals.lossPairs.some(({ train, validation }) => {
    const own = signals.course(train);
    const other = signals.course(validation);
    if (own === undefined || other === undefined) return false;
    return other.end - own.end > 0.5 * levelSize(own.profile, own.end);
  });
}

/** Accuracy of validation behind that of training up to which nothing has suffered. */
const CLOSE = 0.05;

/** Whether validation answers as well as training does, whatever the losses: early averages make answers less sure before they make them wrong. */
function isAsAccurate({ trainAccuracy, valAccuracy }: Signals): boolean {
  const own = median(trainAccuracy?.values.subarray(-20) ?? new Float64Array(0));
  const validated = median(valAccuracy?.values.subarray(-3) ?? new Float64Array(0));
  return validated >= own - CLOSE;
}

/** Moving averages, with which a normalisation evaluates, beside the batches with which it trains. Validation must be bad as well. */
function ofAverages(
  columns: RunColumns,
  signals: Signals,
  limit: number,
  points: number,
): Mismatch | undefined {
  if (!isWorse(signals) || isAsAccurate(signals)) return undefined;
  const all = strayAverages(columns, signals, limit, points).toSorted(
    (a, b) => Math.abs(Math.log(b.factor)) - Math.abs(Math.log(a.factor)),
  );
  const [first] = all;
  return first === undefined ? undefined : { kind: 'averages', first, all };
}
