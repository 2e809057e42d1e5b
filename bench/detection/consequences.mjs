// What a fault may lead to: rules that may speak where training is too fast, too slow, stuck or badly begun.
export const TOO_FAST = [
  'update_ratio_high',
  'loss_divergence',
  'non_finite',
  'exploding_gradients',
  'grad_spike',
  'loss_spike',
  'oscillating_loss',
  'loss_not_decreasing',
  'plateau',
  'dying_relu',
  'activation_collapse',
  'stagnant_layers',
  'vanishing_gradients',
];
export const TOO_SLOW = [
  'update_ratio_low',
  'unchanged_parameters',
  'loss_not_decreasing',
  'plateau',
];
export const NOT_LEARNING = [
  'loss_not_decreasing',
  'plateau',
  'vanishing_gradients',
  'stagnant_layers',
  'gradient_depth_ratio',
  'activation_collapse',
];
export const BAD_START = [
  'poor_initialization',
  'gradient_depth_ratio',
  'dying_relu',
  ...NOT_LEARNING,
];
