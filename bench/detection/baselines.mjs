// What others' published rules say of the same traces. Each is written anew from the tables of thresholds its authors give, over
// the columns that Quark records; where a quantity is not recorded, the nearest one stands in for it, as said beside it. A baseline
// gives `{ ruleId, step, layer }` under the id that Quark has for the same finding, in the order in which it would report.
//
// Sources: the rule reference of Amazon SageMaker Debugger; AUTOTRAINER (Zhang et al. 2021); DeepDiagnosis (Wardat et al. 2022);
// UMLAUT (Schoop et al. 2021); TheDeepChecker (Ben Braiek and Khomh 2023).

const rms = (norm, count) => norm / Math.sqrt(count);
const firstIndex = (list, isOne) => {
  for (let i = 0; i < list.length; i += 1) if (isOne(list[i], i)) return i;
  return -1;
};

function signals({ metrics, layers, parameters, run }) {
  const series = (key) => metrics.get(key) ?? { steps: [], values: [] };
  return {
    config: run.config,
    loss: series('train/loss'),
    valLoss: series('val/loss'),
    accuracy: series('train/accuracy'),
    valAccuracy: series('val/accuracy'),
    kernels: parameters.filter(({ parameterRole }) => parameterRole === 'weight'),
    activations: layers.filter(
      ({ moduleType, summaryType, isEvaluation }) =>
        summaryType === 'activation' && !isEvaluation && moduleType !== 'InputLayer',
    ),
  };
}

/** Says `ruleId` for the first row of each series for which `isOne` holds, the earliest first. */
function sayFirst(ruleId, list, isOne) {
  return list
    .map((series) => ({ series, row: firstIndex(series.steps, (_, i) => isOne(series, i)) }))
    .filter(({ row }) => row >= 0)
    .map(({ series, row }) => ({ ruleId, step: series.steps[row], layer: series.moduleName }))
    .toSorted((a, b) => a.step - b.step)
    .slice(0, 1);
}

const nonFinite = ({ loss, kernels }) =>
  [
    ...sayFirst('non_finite', [loss], ({ values }, i) => !Number.isFinite(values[i])),
    ...sayFirst(
      'non_finite',
      kernels,
      (p, i) => p.valueNonFiniteCount[i] > 0 || p.gradientNonFiniteCount[i] > 0,
    ),
  ].slice(0, 1);

/** SageMaker Debugger. Mean absolute values are not recorded: that of a normal distribution of the same second moment. */
function sageMaker(columns) {
  const seen = signals(columns);
  const { kernels, activations, loss, valLoss } = seen;
  const meanAbs = (p, i) => 0.798 * rms(p.gradientNorm[i], p.elementCount[i]);
  return [
    ...nonFinite(seen),
    ...sayFirst('vanishing_gradients', kernels, (p, i) => meanAbs(p, i) < 1e-7),
    ...sayFirst(
      'dying_relu',
      activations,
      (l, i) => l.deadUnitRatio[i] > 0.5 && l.deadUnitCount[i] > 0,
    ),
    ...sayFirst('poor_initialization', [kernels[0]].filter(Boolean), (_, i) => {
      const variances = kernels.map((p) => p.valueStd[i] ** 2).filter((v) => v > 0);
      return i < 10 && Math.max(...variances) / Math.min(...variances) > 10;
    }),
    ...sayFirst('update_ratio_high', kernels, (p, i) => p.updateRatio[i] > 10),
    ...sayFirst('update_ratio_low', kernels, (p, i) => p.updateRatio[i] < 1e-8),
    ...sayFirst(
      'unchanged_parameters',
      kernels,
      (p, i) => i >= 3 && [0, 1, 2].every((k) => p.updateRatio[i - k] < 1e-5),
    ),
    ...sayFirst(
      'loss_not_decreasing',
      [loss],
      ({ values }, i) => i >= 10 && i % 10 === 0 && values[i] > values[i - 10] * 0.999,
    ),
    ...sayFirst('overfitting_onset', [valLoss], ({ values, steps }, i) => {
      const before = lastBefore(loss, steps[i]);
      return (values[i] - before) / before > 0.1;
    }),
    ...sayFirst(
      'plateau',
      [valLoss],
      ({ values }, i) => i >= 10 && best(values, i) >= best(values, i - 10) * 0.99,
    ),
  ];
}

/** AUTOTRAINER: looks every third epoch, at first and last kernel gradients, zero gradients, accuracy swings. */
function autoTrainer(columns) {
  const seen = signals(columns);
  const { kernels, activations } = seen;
  const accuracy = seen.valAccuracy;
  const [first, last] = [kernels[0], kernels.at(-1)];
  const isUnfinished = accuracy.values.length > 0 && Math.max(...accuracy.values) < 0.6;
  const said = [
    ...nonFinite(seen),
    ...sayFirst(
      'exploding_gradients',
      [first].filter(Boolean),
      (p, i) => p.gradientNorm[i] / last.gradientNorm[i] > 70,
    ),
  ];
  if (!isUnfinished && accuracy.values.length > 0) return said;
  const swings = accuracy.values.filter(
    (value, i) => i > 0 && value < accuracy.values[i - 1] - 0.03,
  ).length;
  return [
    ...said,
    ...sayFirst(
      'vanishing_gradients',
      [first].filter(Boolean),
      (p, i) => p.gradientNorm[i] / last.gradientNorm[i] < 1e-3 && p.gradientNorm[i] < 1e-4,
    ),
    ...sayFirst('dying_relu', activations, (l, i) => l.deadUnitRatio[i] >= 0.7),
    ...(swings / Math.max(1, accuracy.values.length) >= 0.2
      ? [{ ruleId: 'oscillating_loss', step: accuracy.steps.at(-1), layer: null }]
      : []),
    ...(isUnfinished
      ? [{ ruleId: 'loss_not_decreasing', step: accuracy.steps.at(-1), layer: null }]
      : []),
  ];
}

/** DeepDiagnosis. Weight variance, dead nodes and the learning-rate check (update over value) as published. */
function deepDiagnosis(columns) {
  const seen = signals(columns);
  const { kernels, activations, loss } = seen;
  return [
    ...nonFinite(seen),
    ...sayFirst('dying_relu', activations, (l, i) => l.deadUnitRatio[i] >= 0.7),
    ...sayFirst('activation_collapse', activations, (l, i) => l.saturationRatio[i] > 0.5),
    ...sayFirst(
      'vanishing_gradients',
      kernels,
      (p, i) => 0.798 * rms(p.gradientNorm[i], p.elementCount[i]) < 1e-7,
    ),
    ...sayFirst(
      'poor_initialization',
      kernels,
      (p, i) => p.valueStd[i] ** 2 < 1e-5 || p.valueStd[i] ** 2 > 10,
    ),
    ...sayFirst('update_ratio_high', kernels, (p, i) => p.updateRatio[i] > 1e-1),
    ...sayFirst('update_ratio_low', kernels, (p, i) => p.updateRatio[i] < 1e-5),
    ...sayFirst(
      'loss_not_decreasing',
      [loss],
      ({ values }, i) => i >= 5 && [1, 2, 3, 4].every((k) => values[i] === values[i - k]),
    ),
  ];
}

/** UMLAUT: checks of the configuration first, then once an epoch. The range of the input (-1 to 1) is left out: inputs of unit
 * variance, which all programs here have, always break it. */
function umlaut(columns) {
  const seen = signals(columns);
  const { config, valLoss, valAccuracy, accuracy, loss } = seen;
  const layers = config.model?.config?.layers ?? [];
  const activationOf = (layer) => layer?.config?.activation ?? 'linear';
  const hidden = layers.slice(0, -1).filter(({ class_name: name }) => /Dense|Conv/.test(name));
  const lint = (layer) => ({
    ruleId: 'static_model_lint',
    step: 0,
    layer: layer?.config?.name ?? null,
  });
  return [
    ...(config.loss === 'crossentropy' && activationOf(layers.at(-1)) !== 'softmax'
      ? [lint(layers.at(-1))]
      : []),
    ...hidden
      .filter((layer) => activationOf(layer) === 'linear')
      .slice(0, 1)
      .map(lint),
    ...layers
      .filter((layer) => layer.config?.rate > 0.5)
      .slice(0, 1)
      .map(lint),
    ...(config.optimizer?.rate > 0.01
      ? [{ ruleId: 'update_ratio_high', step: 0, layer: null }]
      : []),
    ...(config.optimizer?.rate < 1e-7
      ? [{ ruleId: 'update_ratio_low', step: 0, layer: null }]
      : []),
    ...nonFinite(seen),
    ...sayFirst(
      'overfitting_onset',
      [valLoss],
      ({ values, steps }, i) =>
        i > 0 &&
        values[i] > values[i - 1] &&
        lastBefore(loss, steps[i]) < lastBefore(loss, steps[i - 1]),
    ),
    ...sayFirst(
      'suspicious_validation',
      [valAccuracy],
      ({ values, steps }, i) =>
        (i >= 3 && values[i] > 0.95) || values[i] > lastBefore(accuracy, steps[i]) + 0.05,
    ),
  ];
}

/** TheDeepChecker, the checks while training. A check every ten steps. */
function deepChecker(columns) {
  const seen = signals(columns);
  const { kernels, activations, loss } = seen;
  const every = (i) => i >= 10 && i % 10 === 0;
  return [
    ...nonFinite(seen),
    ...sayFirst(
      'dying_relu',
      activations,
      (l, i) => every(i) && l.deadUnitRatio[i] > 0.5 && l.deadUnitCount[i] > 0,
    ),
    ...sayFirst(
      'activation_collapse',
      activations,
      (l, i) => every(i) && (l.saturationRatio[i] > 0.5 || l.std[i] < 0.5 || l.std[i] > 2),
    ),
    ...sayFirst(
      'vanishing_gradients',
      kernels,
      (p, i) => every(i) && 0.798 * rms(p.gradientNorm[i], p.elementCount[i]) < 1e-6,
    ),
    ...sayFirst(
      'exploding_gradients',
      kernels,
      (p, i) => every(i) && 0.798 * rms(p.gradientNorm[i], p.elementCount[i]) > 1e6,
    ),
    ...sayFirst('update_ratio_high', kernels, (p, i) => every(i) && p.updateRatio[i] > 1e-1),
    ...sayFirst('update_ratio_low', kernels, (p, i) => every(i) && p.updateRatio[i] < 1e-4),
    ...sayFirst(
      'loss_not_decreasing',
      [loss],
      ({ values }, i) => every(i) && values[i] > 0.95 * values[i - 10],
    ),
    ...sayFirst(
      'loss_divergence',
      [loss],
      ({ values }, i) => every(i) && values[i] >= 2 * best(values, i),
    ),
  ];
}

/** The least one can do: a loss that is no number, or that ends no lower than 5 % below where it began. */
function nanOrNoProgress(columns) {
  const { loss } = signals(columns);
  const bad = firstIndex(loss.values, (value) => !Number.isFinite(value));
  if (bad >= 0) return [{ ruleId: 'non_finite', step: loss.steps[bad], layer: null }];
  const tenth = Math.max(1, Math.floor(loss.values.length / 10));
  const mean = (values) => values.reduce((a, b) => a + b, 0) / values.length;
  const isStuck = mean(loss.values.slice(-tenth)) > 0.95 * mean(loss.values.slice(0, tenth));
  return isStuck ? [{ ruleId: 'loss_not_decreasing', step: loss.steps.at(-1), layer: null }] : [];
}

function lastBefore({ steps, values }, step) {
  let found = NaN;
  for (let i = 0; i < steps.length && steps[i] <= step; i += 1) found = values[i];
  return found;
}

function best(values, until) {
  let least = Infinity;
  for (let i = 0; i <= until; i += 1) if (values[i] < least) least = values[i];
  return least;
}

export const BASELINES = {
  'SageMaker Debugger': sageMaker,
  AUTOTRAINER: autoTrainer,
  DeepDiagnosis: deepDiagnosis,
  UMLAUT: umlaut,
  TheDeepChecker: deepChecker,
  'NaN or no progress': nanOrNoProgress,
};
