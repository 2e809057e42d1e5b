// Faults that several tutorial programs have in common: what changes in the options of a program, which rules may speak of it
// (`accepted`) and which of them name the fault itself (`causes`). `harm`: see harm.mjs; 'declared' for faults that
// make figures look better than they are.
import { BAD_START, NOT_LEARNING, TOO_FAST, TOO_SLOW } from '../consequences.mjs';

const TABLE = {
  'rate-high': {
    o: { rateFactor: 100 },
    // The lint says that the learning rate of Adam is 1.
    causes: [
      'static_model_lint',
      'update_ratio_high',
      'loss_divergence',
      'non_finite',
      'oscillating_loss',
    ],
    accepted: ['static_model_lint', ...TOO_FAST],
  },
  'rate-low': {
    o: { rateFactor: 0.003 },
    causes: ['update_ratio_low', 'unchanged_parameters'],
    accepted: TOO_SLOW,
  },
  ascent: {
    o: { ascent: true },
    causes: ['loss_divergence', 'loss_not_decreasing', 'non_finite', 'reward_decline'],
    accepted: [...TOO_FAST, 'reward_decline'],
  },
  unnormalised: {
    o: { inputScale: 150, inputShift: 1.2 },
    causes: ['input_not_normalised'],
    accepted: ['input_not_normalised', ...TOO_FAST],
  },
  'classes-sorted': {
    o: { sorted: true, shuffle: false },
    causes: ['sorted_samples'],
    accepted: ['sorted_samples', 'suspicious_validation', 'oscillating_loss'],
  },
  'labels-shuffled': {
    o: { shuffledLabels: true },
    causes: ['unrelated_labels', 'loss_not_decreasing', 'plateau'],
    accepted: ['unrelated_labels', 'overfitting_onset', 'suspicious_validation', ...NOT_LEARNING],
  },
  'target-among-features': {
    o: { targetLeak: true },
    causes: ['data_leakage'],
    accepted: ['data_leakage'],
  },
  'validation-in-training': {
    o: { validationLeak: true },
    causes: ['data_leakage'],
    accepted: ['data_leakage'],
    harm: 'declared',
  },
  'few-samples': {
    o: { fewSamples: 14, epochFactor: 12 },
    causes: ['overfitting_onset'],
    accepted: ['overfitting_onset', 'suspicious_validation'],
  },
  'nan-rows': {
    o: { nanRows: true },
    causes: ['non_finite'],
    accepted: ['non_finite', 'input_not_normalised'],
  },
  'weights-large': {
    o: { initScale: 12 },
    causes: ['poor_initialization'],
    accepted: [...BAD_START, ...TOO_FAST],
  },
  'weights-constant': {
    o: { initConstant: 0.1 },
    causes: ['poor_initialization', 'static_model_lint'],
    accepted: [...BAD_START, 'static_model_lint'],
  },
  'recurrent-large': {
    o: { recurrentScale: 8 },
    causes: ['poor_initialization', 'exploding_gradients'],
    accepted: ['poor_initialization', 'exploding_gradients', 'activation_collapse'],
  },
  'output-saturated': {
    o: { outputScale: 120 },
    causes: ['poor_initialization', 'activation_collapse'],
    accepted: ['poor_initialization', 'activation_collapse', ...TOO_FAST],
  },
  'units-dead': {
    o: { hiddenBias: -12 },
    causes: ['dying_relu', 'activation_collapse'],
    accepted: [...BAD_START, 'unchanged_parameters'],
  },
  'hidden-linear': {
    o: { hiddenActivation: 'linear' },
    causes: ['static_model_lint'],
    accepted: ['static_model_lint', 'plateau', 'loss_not_decreasing'],
  },
  'softmax-missing': {
    o: { outputActivation: 'linear' },
    causes: ['static_model_lint'],
    accepted: ['static_model_lint', ...TOO_FAST, ...NOT_LEARNING],
  },
  'output-squashed': {
    o: { outputActivation: 'sigmoid' },
    causes: ['static_model_lint', 'activation_collapse'],
    accepted: ['static_model_lint', ...NOT_LEARNING],
  },
  'layers-frozen': {
    o: { frozen: true },
    causes: ['unchanged_parameters'],
    accepted: ['unchanged_parameters', 'static_model_lint'],
  },
  'base-untrained': {
    o: { baseUntrained: true },
    causes: ['unchanged_parameters'],
    accepted: ['unchanged_parameters', ...NOT_LEARNING],
  },
  'loss-is-mean-squared': {
    o: { loss: 'meanSquaredError' },
    causes: ['static_model_lint'],
    accepted: ['static_model_lint', ...NOT_LEARNING],
  },
};

/** The faults of the table by their names. */
export const faults = (...ids) =>
  ids.map((id) => {
    const fault = TABLE[id];
    if (fault === undefined) throw new Error(`no fault is called ${id}`);
    return { id, harm: 'metric', layer: null, ...fault };
  });
