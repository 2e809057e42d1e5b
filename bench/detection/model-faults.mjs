// Faults of the optimiser, the initial values, the architecture and the loss; see faults.mjs.
import { TOO_FAST, TOO_SLOW, NOT_LEARNING, BAD_START } from './consequences.mjs';
import {
  editLayers,
  firstTrained,
  firstWithRelu,
  hasClasses,
  hasRelu,
  isClassification,
  isDense,
  isHidden,
  lastLayer,
  rated,
  scaledInput,
} from './edits.mjs';

export const MODEL_FAULTS = [
  // Optimiser.
  {
    id: 'rate-100-times',
    group: 'optimiser',
    change: (program) => rated(program, 100),
    causes: ['update_ratio_high', 'loss_divergence', 'non_finite', 'oscillating_loss'],
    accepted: TOO_FAST,
  },
  {
    id: 'rate-hundredth',
    group: 'optimiser',
    change: (program) => rated(program, 0.01),
    causes: ['update_ratio_low', 'unchanged_parameters'],
    accepted: TOO_SLOW,
  },
  {
    id: 'ascent',
    group: 'optimiser',
    change: (program) => ({ ...program, gradientSign: -1 }),
    causes: ['loss_divergence', 'loss_not_decreasing', 'non_finite'],
    accepted: TOO_FAST,
  },
  {
    id: 'adam-epsilon-1',
    group: 'optimiser',
    appliesTo: ({ optimizer }) => optimizer.kind === 'adam',
    change: (program) => ({ ...program, optimizer: { ...program.optimizer, epsilon: 10 } }),
    causes: ['update_ratio_low', 'unchanged_parameters'],
    accepted: TOO_SLOW,
  },
  {
    id: 'wrong-optimiser',
    group: 'optimiser',
    change: (program) => ({ ...program, optimizer: { kind: 'adadelta', rate: 0.001 } }),
    causes: ['update_ratio_low', 'unchanged_parameters'],
    accepted: TOO_SLOW,
  },
  {
    id: 'momentum-0.999',
    group: 'optimiser',
    change: (program) => ({
      ...program,
      optimizer: { kind: 'momentum', rate: 0.1, momentum: 0.999 },
    }),
    causes: ['update_ratio_high', 'loss_divergence', 'oscillating_loss', 'non_finite'],
    accepted: TOO_FAST,
  },
  {
    id: 'rate-jump',
    group: 'optimiser',
    from: 0.6,
    change: (program) => ({
      ...program,
      rateAt: (step, steps) => (step >= 0.6 * steps ? 100 : 1),
    }),
    causes: ['update_ratio_high', 'loss_divergence', 'loss_spike', 'grad_spike', 'non_finite'],
    accepted: TOO_FAST,
  },
  // Initial values.
  {
    id: 'constant-weights',
    group: 'initialisation',
    layer: firstTrained,
    change: (program) => ({
      ...program,
      initial: (variable) => (variable.isKernel ? variable.fill(0.1) : undefined),
    }),
    causes: ['poor_initialization'],
    accepted: BAD_START,
  },
  {
    id: 'zero-weights',
    group: 'initialisation',
    layer: firstTrained,
    change: (program) => ({
      ...program,
      initial: (variable) => (variable.isKernel ? variable.fill(0) : undefined),
    }),
    causes: ['poor_initialization'],
    accepted: [...BAD_START, 'unchanged_parameters', 'update_ratio_low'],
  },
  {
    id: 'weights-10-times',
    group: 'initialisation',
    change: (program) => ({
      ...program,
      initial: (variable) => (variable.isKernel ? variable.scale(10) : undefined),
    }),
    causes: ['poor_initialization', 'exploding_gradients'],
    accepted: [...BAD_START, ...TOO_FAST, 'update_ratio_low'],
  },
  {
    id: 'weights-hundredth',
    group: 'initialisation',
    change: (program) => ({
      ...program,
      initial: (variable) => (variable.isKernel ? variable.scale(0.01) : undefined),
    }),
    causes: ['poor_initialization', 'vanishing_gradients', 'gradient_depth_ratio'],
    accepted: [...BAD_START, 'update_ratio_high'],
  },
  {
    id: 'dead-relu',
    group: 'initialisation',
    appliesTo: hasRelu,
    layer: firstWithRelu,
    change: (program) => {
      const dead = firstWithRelu(program);
      return {
        ...program,
        initial: (variable) =>
          !variable.isKernel && variable.name.startsWith(`${dead}/`)
            ? variable.fill(-8)
            : undefined,
      };
    },
    causes: ['dying_relu', 'activation_collapse'],
    accepted: [...BAD_START, 'unchanged_parameters'],
  },
  // Architecture.
  {
    id: 'deep-sigmoid',
    group: 'architecture',
    appliesTo: isDense,
    change: (program) => ({
      ...program,
      layers: program.layers.flatMap((layer, i, layers) =>
        isHidden(layer, i, layers)
          ? [0, 1, 2, 3].map((copy) => ({
              ...layer,
              name: `${layer.name}_${copy}`,
              activation: 'sigmoid',
            }))
          : [layer],
      ),
    }),
    causes: ['vanishing_gradients', 'gradient_depth_ratio', 'static_model_lint'],
    accepted: [...NOT_LEARNING, 'static_model_lint', 'poor_initialization', 'stagnant_layers'],
  },
  {
    id: 'linear-hidden',
    group: 'architecture',
    change: (program) =>
      editLayers(program, (layer, i, layers) =>
        isHidden(layer, i, layers) ? { ...layer, activation: 'linear' } : layer,
      ),
    causes: ['static_model_lint'],
    accepted: ['static_model_lint', 'plateau', 'loss_not_decreasing'],
  },
  {
    id: 'softmax-inside',
    group: 'architecture',
    layer: ({ layers }) => layers.at(-2).name,
    change: (program) =>
      editLayers(program, (layer, i, layers) =>
        i === layers.length - 2 && layer.kind === 'dense'
          ? { ...layer, activation: 'softmax' }
          : layer,
      ),
    causes: ['static_model_lint'],
    accepted: ['static_model_lint', ...NOT_LEARNING],
  },
  {
    id: 'softmax-on-one-unit',
    group: 'architecture',
    appliesTo: ({ loss }) => loss === 'binary',
    layer: () => 'output',
    change: (program) => lastLayer(program, { activation: 'softmax' }),
    causes: ['static_model_lint'],
    accepted: ['static_model_lint', 'unchanged_parameters', 'update_ratio_low', ...NOT_LEARNING],
  },
  {
    id: 'output-cannot-reach',
    group: 'architecture',
    appliesTo: ({ loss }) => loss === 'mse',
    layer: () => 'output',
    change: (program) => lastLayer(program, { activation: 'sigmoid' }),
    causes: ['static_model_lint', 'activation_collapse'],
    accepted: ['static_model_lint', ...NOT_LEARNING],
  },
  {
    id: 'relu-output',
    group: 'architecture',
    appliesTo: ({ loss }) => loss !== 'mse',
    layer: () => 'output',
    change: (program) => lastLayer(program, { activation: 'relu' }),
    causes: ['static_model_lint', 'dying_relu'],
    accepted: ['static_model_lint', 'dying_relu', ...TOO_FAST, ...NOT_LEARNING],
  },
  // Loss.
  {
    id: 'no-softmax',
    group: 'loss',
    appliesTo: isClassification,
    layer: () => 'output',
    change: (program) => lastLayer(program, { activation: 'linear' }),
    causes: ['static_model_lint'],
    accepted: ['static_model_lint', ...TOO_FAST, ...NOT_LEARNING],
  },
  {
    id: 'softmax-twice',
    group: 'loss',
    appliesTo: hasClasses,
    layer: () => ['output', 'softmax'],
    change: (program) => ({
      ...program,
      layers: [...program.layers, { kind: 'softmax', name: 'softmax' }],
    }),
    causes: ['static_model_lint'],
    accepted: ['static_model_lint', ...NOT_LEARNING],
  },
  {
    id: 'mse-for-classes',
    group: 'loss',
    appliesTo: hasClasses,
    change: (program) => ({ ...program, loss: 'mse', targets: 'classes' }),
    causes: ['static_model_lint'],
    accepted: ['static_model_lint', ...NOT_LEARNING],
  },
  {
    id: 'sum-for-mean',
    group: 'loss',
    appliesTo: ({ optimizer }) => optimizer.kind !== 'adam',
    change: (program) => ({ ...program, lossFactor: 64 }),
    causes: ['update_ratio_high', 'exploding_gradients', 'loss_divergence', 'non_finite'],
    accepted: TOO_FAST,
  },
  {
    id: 'broadcast',
    group: 'loss',
    appliesTo: ({ loss }) => loss === 'mse',
    change: (program) => ({ ...program, loss: 'mse-broadcast' }),
    causes: ['loss_not_decreasing', 'plateau'],
    accepted: NOT_LEARNING,
  },
  {
    id: 'log-of-zero',
    group: 'loss',
    appliesTo: isClassification,
    change: (program) => ({
      ...rated(program, 5),
      loss: program.loss === 'binary' ? 'binary-naive' : 'crossentropy-naive',
      prepare: scaledInput(12),
    }),
    causes: ['non_finite', 'input_not_normalised'],
    accepted: ['input_not_normalised', ...TOO_FAST],
  },
  {
    id: 'over-regularised',
    group: 'loss',
    change: (program) => ({ ...program, l2: 0.3 }),
    causes: [
      'regularisation_overwhelms',
      'loss_not_decreasing',
      'plateau',
      'vanishing_gradients',
      'activation_collapse',
    ],
    accepted: [...NOT_LEARNING, 'regularisation_overwhelms', 'dying_relu', 'update_ratio_high'],
  },
];
