import { axisOf, type LayerSeries } from '../../columns/run-columns.ts';
import { placeAt, rowBefore, sayRange } from '../../signals/positions.ts';
import { outlineOf } from '../../signals/model-layers.ts';
import { defineRule, say, sayShare, type Finding } from '../../signals/rule.ts';
import type { Signals } from '../../signals/signals.ts';
import { median } from '../../signals/statistics.ts';
import type { RunColumns } from '../../columns/run-columns.ts';
import { strayAverages } from '../../signals/moving-averages.ts';

export const trainEvalMismatch = defineRule({
  id: 'train_eval_mismatch',
  category: 'generalization',
  detects:
    'A model that computes something else in evaluation than in training: batch normalisation or dropout in the wrong mode.',
  source:
    'TheDeepChecker (loss of the same batch in both modes differs by more than 0.5); the comparison of layers, dropout that drops nothing and moving averages beside batches are ours',
  cause:
    'moving averages of batch normalisation do not fit the data, or a layer runs in the wrong mode',
  advice:
    'evaluate one training batch in both modes, and check the momentum of batch normalisation and the training flag',
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
  evaluate({ columns, model, signals, thresholds: t }) {
    const found =
      ofLosses(signals, t.trainEvalMismatchLoss, t.trainEvalMismatchPoints) ??
      idleDropout(columns, signals, model, t.trainEvalMismatchPoints) ??
      ofLayers(columns, signals, t.trainEvalMismatchScale, t.trainEvalMismatchPoints) ??
      ofAverages(columns, signals, t.trainEvalMismatchAverages, t.trainEvalMismatchPoints);
    return found === undefined ? [] : [found];
  },
});

/** The same batches in both modes, where somebody recorded that. */
function ofLosses(signals: Signals, limit: number, points: number): Finding | undefined {
  const evaluated = signals.trainEvalLoss;
  const [train] = signals.trainLosses;
  if (evaluated === undefined || train === undefined || evaluated.x !== train.x) return undefined;
  const differences = evaluated.values.map((value, row) => {
    const at = rowBefore(train, axisOf(evaluated)[row] ?? 0);
    const own = train.values[at] ?? Number.NaN;
    return Math.abs(value - own) / Math.abs(own);
  });
  const typical = median(differences);
  if (differences.length < points || !(typical > limit)) return undefined;
  const from = placeAt(evaluated, 0);
  const to = placeAt(evaluated, differences.length - 1);
  return {
    severity: 'error',
    title: 'Training and evaluation disagree',
    fact: `On the same batches the loss in evaluation differs by ${sayShare(typical)} from that in training ${sayRange(from, to)}.`,
    confidence: 0.9,
    from,
    to,
    observations: [
      {
        kind: 'metric',
        source: evaluated.key,
        summary: `Typical difference ${sayShare(typical)}.`,
        observed: typical,
        threshold: limit,
        from,
        to,
      },
    ],
  };
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
): Finding | undefined {
  const { config } = columns.run;
  const rates = new Map(
    outlineOf(model ?? config['model'] ?? config, config)?.layers.map(({ name, rate }) => [
      name,
      rate,
    ]),
  );
  const layers = signals.layers('activation');
  const dropping = layers.flatMap((layer, at) => {
    const rate = rates.get(layer.moduleName.split('/').at(-1) ?? '');
    const before = layers[at - 1];
    // Without its rate nothing is known: one of 0 drops nothing, and is no fault.
    if (!/^(?:spatial|gaussian|alpha)?dropout/i.test(layer.moduleType) || !(Number(rate) > 0))
      return [];
    return [{ layer, rate: Number(rate), isIdle: before !== undefined && isSame(layer, before) }];
  });
  const [first] = dropping;
  if (first === undefined || !dropping.every(({ isIdle }) => isIdle)) return undefined;
  const { layer, rate } = first;
  if (layer.steps.length < points) return undefined;
  const from = placeAt(layer, 0);
  const to = placeAt(layer, layer.steps.length - 1);
  return {
    severity: 'error',
    title: 'Dropout is off in training',
    fact: `${layer.moduleName}, which should drop ${sayShare(rate)} of the values, gave exactly what it got in all ${layer.steps.length} probes of training ${sayRange(from, to)}.`,
    confidence: 0.95,
    cause:
      'the model is run in evaluation mode while it is trained, and perhaps the other way round',
    advice: 'check the training flag of both passes',
    from,
    to,
    observations: dropping.slice(0, 5).map((one) => ({
      kind: 'layer_summary',
      source: one.layer.moduleName,
      summary: `Drops nothing, at a rate of ${say(one.rate)}.`,
      observed: 0,
      threshold: one.rate,
      from,
      to,
    })),
  };
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
): Finding | undefined {
  if (!isWorse(signals)) return undefined;
  const sizeOf = (layer: LayerSeries): number =>
    median(layer.norm.map((norm, row) => norm / Math.sqrt(layer.elementCount[row] ?? Number.NaN)));
  const found = signals.layers('activation').flatMap((layer) => {
    const evaluated = columns.layers.find(
      (other) =>
        other.isEvaluation &&
        other.moduleName === layer.moduleName &&
        other.summaryType === 'activation' &&
        other.callIndex === layer.callIndex,
    );
    if (evaluated === undefined || evaluated.norm.length < points || layer.norm.length < points)
      return [];
    const factor = sizeOf(evaluated) / sizeOf(layer);
    return factor > limit || factor < 1 / limit ? [{ layer, factor }] : [];
  });
  const [first] = found;
  if (first === undefined) return undefined;
  const { factor, layer } = first;
  const from = placeAt(layer, 0);
  const to = placeAt(layer, layer.steps.length - 1);
  return {
    severity: 'warning',
    title: 'Training and evaluation disagree',
    fact: `The outputs of ${layer.moduleName} are ${say(factor)} times as large in evaluation as in training ${sayRange(from, to)}, and validation is far worse than training.`,
    confidence: 0.8,
    from,
    to,
    observations: found.slice(0, 5).map((one) => ({
      kind: 'layer_summary',
      source: one.layer.moduleName,
      summary: `${say(one.factor)} times as large in evaluation.`,
      observed: one.factor,
      threshold: limit,
      from,
      to,
    })),
  };
}

/** Whether validation ends far above training. */
function isWorse(signals: Signals): boolean {
  return signals.lossPairs.some(({ train, validation }) => {
    const own = signals.course(train);
    const held = signals.course(validation);
    return own !== undefined && held !== undefined && own.end > 0 && held.end > 1.5 * own.end;
  });
}

/** Accuracy of validation behind that of training up to which nothing has suffered. */
const CLOSE = 0.05;

/** Whether validation answers as well as training does, whatever the losses: early averages make answers less sure before they make them wrong. */
function isAsAccurate({ trainAccuracy, valAccuracy }: Signals): boolean {
  const own = median(trainAccuracy?.values.subarray(-20) ?? new Float64Array(0));
  const held = median(valAccuracy?.values.subarray(-3) ?? new Float64Array(0));
  return held >= own - CLOSE;
}

/** Moving averages, with which a normalisation evaluates, beside the batches with which it trains. Validation must be bad as well. */
function ofAverages(
  columns: RunColumns,
  signals: Signals,
  limit: number,
  points: number,
): Finding | undefined {
  if (!isWorse(signals) || isAsAccurate(signals)) return undefined;
  const found = strayAverages(columns, signals, limit, points).toSorted(
    (a, b) => Math.abs(Math.log(b.factor)) - Math.abs(Math.log(a.factor)),
  );
  const [worst] = found;
  if (worst === undefined) return undefined;
  const { kept, layer, seen } = worst;
  const from = placeAt(layer, 0);
  const to = placeAt(layer, layer.steps.length - 1);
  return {
    severity: 'error',
    title: 'Moving averages do not fit the data',
    fact: `${layer.moduleName} evaluates with a variance of ${say(kept)}, while that of its values in training is ${say(seen)} ${sayRange(from, to)}, and validation is far worse than training.`,
    confidence: 0.85,
    cause:
      'the moving averages have not caught up with the data: the momentum is too close to 1 for so few steps, or they are not updated',
    advice: 'lower the momentum of batch normalisation (0.9), or train for more steps',
    from,
    to,
    observations: found.slice(0, 5).map((one) => ({
      kind: 'layer_summary',
      source: one.layer.moduleName,
      summary: `Variance of ${say(one.kept)} in evaluation, of ${say(one.seen)} in training.`,
      observed: one.factor,
      threshold: limit,
      from,
      to,
    })),
  };
}
