// Faults of the data, the training loop and the machine; see faults.mjs.
import { TOO_FAST, TOO_SLOW, NOT_LEARNING, BAD_START } from './consequences.mjs';
import {
  firstTrained,
  isClassification,
  mostlyFirstClass,
  samples,
  scaledInput,
} from './edits.mjs';
import { normal, uniform } from './random.mjs';

export const LOOP_FAULTS = [
  // Data.
  {
    id: 'unnormalised',
    group: 'data',
    change: (program) => ({ ...program, prepare: scaledInput(120, 1.2) }),
    causes: ['input_not_normalised'],
    accepted: ['input_not_normalised', 'poor_initialization', ...TOO_FAST],
  },
  {
    id: 'normalised-twice',
    group: 'data',
    change: (program) => ({ ...program, prepare: scaledInput(1 / 255) }),
    causes: ['input_not_normalised', 'vanishing_gradients', 'activation_collapse'],
    accepted: ['input_not_normalised', 'poor_initialization', ...TOO_SLOW, ...NOT_LEARNING],
  },
  {
    id: 'shuffled-labels',
    group: 'data',
    change: (program) => ({
      ...program,
      prepare: (data, seed) => {
        const random = uniform(seed + 5);
        const { y } = data.train;
        for (let i = y.length - 1; i > 0; i -= 1) {
          const j = Math.floor(random() * (i + 1));
          [y[i], y[j]] = [y[j], y[i]];
        }
      },
    }),
    causes: ['loss_not_decreasing', 'plateau', 'overfitting_onset', 'unrelated_labels'],
    accepted: ['overfitting_onset', 'suspicious_validation', 'unrelated_labels', ...NOT_LEARNING],
  },
  {
    id: 'imbalance-1-50',
    group: 'data',
    appliesTo: isClassification,
    change: (program) => ({
      ...program,
      // Batches of which one in fifty samples is of a class other than the first.
      prepare: mostlyFirstClass(['train'], 0.02),
    }),
    causes: ['class_imbalance'],
    accepted: [
      'class_imbalance',
      'overfitting_onset',
      'suspicious_validation',
      'train_eval_mismatch',
    ],
  },
  {
    id: 'nan-rows',
    group: 'data',
    change: (program) => ({
      ...program,
      prepare: samples(['train'], ({ x, random }) => {
        if (random() < 0.02) x[0] = NaN;
      }),
    }),
    causes: ['non_finite'],
    accepted: ['non_finite', 'loss_divergence', 'input_not_normalised'],
  },
  {
    id: 'constant-input',
    group: 'data',
    change: (program) => ({
      ...program,
      prepare: samples(['train', 'val'], ({ x }) => {
        x.fill(0.7);
      }),
    }),
    causes: ['input_not_normalised', 'loss_not_decreasing', 'plateau'],
    accepted: ['input_not_normalised', 'class_imbalance', ...NOT_LEARNING],
  },
  {
    id: 'few-samples',
    group: 'data',
    change: (program) => ({
      ...program,
      prepare: (data) => {
        data.train.count = 12;
      },
    }),
    causes: ['overfitting_onset'],
    accepted: ['overfitting_onset', 'suspicious_validation'],
  },
  {
    id: 'destroyed-by-augmentation',
    group: 'data',
    change: (program) => ({
      ...program,
      prepare: (data, seed) => {
        const gauss = normal(uniform(seed + 9));
        samples(['train'], ({ x }) => {
          for (let i = 0; i < x.length; i += 1) x[i] = 0.1 * x[i] + 2 * gauss();
        })(data, seed);
      },
    }),
    causes: ['loss_not_decreasing', 'plateau', 'suspicious_validation', 'train_eval_mismatch'],
    accepted: [
      'suspicious_validation',
      'train_eval_mismatch',
      'overfitting_onset',
      ...NOT_LEARNING,
    ],
  },
  // Training loop.
  {
    id: 'frozen-layers',
    group: 'loop',
    layer: firstTrained,
    change: (program) => ({
      ...program,
      initial: (variable) =>
        variable.isKernel && !variable.name.startsWith('output/') ? variable.scale(0.1) : undefined,
      trains: (name) => name.startsWith('output/'),
    }),
    causes: ['unchanged_parameters', 'poor_initialization'],
    accepted: ['unchanged_parameters', 'update_ratio_low', ...BAD_START],
  },
  {
    id: 'forgotten-output',
    group: 'loop',
    layer: () => 'output',
    change: (program) => ({ ...program, trains: (name) => !name.startsWith('output/') }),
    causes: ['unchanged_parameters'],
    accepted: ['unchanged_parameters', 'update_ratio_low', ...NOT_LEARNING],
  },
  {
    id: 'evaluated-in-training-mode',
    group: 'loop',
    change: (program) => ({
      ...program,
      layers: program.layers.flatMap((layer, i, layers) =>
        i === layers.length - 2
          ? [layer, { kind: 'dropout', name: 'dropout', rate: 0.6 }]
          : [layer],
      ),
      evaluationMode: true,
      trainingMode: false,
    }),
    causes: ['train_eval_mismatch'],
    accepted: ['train_eval_mismatch', 'overfitting_onset'],
  },
  {
    id: 'stuck-iterator',
    group: 'loop',
    change: (program) => ({ ...program, stuckBatch: true }),
    causes: ['overfitting_onset'],
    accepted: ['overfitting_onset', 'class_imbalance', 'suspicious_validation'],
  },
  {
    id: 'poisoned-batch',
    group: 'loop',
    from: 0.6,
    change: (program) => ({
      ...program,
      corrupt: (step, steps, x) => {
        if (step !== Math.floor(0.6 * steps)) return;
        for (let i = 0; i < x.length; i += 1) x[i] *= -300;
      },
    }),
    causes: ['loss_spike', 'grad_spike', 'input_not_normalised'],
    accepted: ['input_not_normalised', ...TOO_FAST],
  },
  // Runtime.
  {
    id: 'slow-loader',
    group: 'runtime',
    harm: 'time',
    change: (program) => ({ ...program, loadMs: () => 12 }),
    causes: ['data_loading_bottleneck', 'runtime_bottleneck_risk'],
    accepted: ['data_loading_bottleneck', 'runtime_bottleneck_risk'],
  },
  {
    id: 'jitter',
    group: 'runtime',
    harm: 'time',
    change: (program) => ({ ...program, blockMs: (step) => (step % 20 === 19 ? 60 : 0) }),
    causes: ['step_time_outlier', 'runtime_bottleneck_risk'],
    accepted: ['step_time_outlier', 'runtime_bottleneck_risk'],
  },
  {
    id: 'tensor-leak',
    group: 'runtime',
    harm: 'memory',
    change: (program) => ({ ...program, leakedTensors: 3 }),
    causes: ['memory_growth'],
    accepted: ['memory_growth'],
  },
];
