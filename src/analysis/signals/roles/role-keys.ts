/** The keys that roles are looked for under first. */

/** Keys to find, in order of preference. */
export type RoleKeys = {
  readonly trainLoss: readonly string[];
  readonly valLoss: readonly string[];
  readonly trainAccuracy: readonly string[];
  readonly valAccuracy: readonly string[];
};

/** The conventional keys: the defaults of the phase analyzer. */
export const CONVENTIONAL_ROLE_KEYS: RoleKeys = Object.freeze({
  trainLoss: Object.freeze(['train/loss', 'training/loss']),
  valLoss: Object.freeze(['val/loss', 'validation/loss']),
  trainAccuracy: Object.freeze(['train/accuracy', 'training/accuracy', 'train/acc']),
  valAccuracy: Object.freeze(['val/accuracy', 'validation/accuracy', 'val/acc']),
});
