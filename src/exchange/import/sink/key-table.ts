/** Metric names of other tools, and the conventional keys that stand for them. */
import { toKey } from '../../../base/names.ts';

/** A rule of the table: a name, or a pattern whose groups may be used in the key as `$1`. */
export type KeyRule = {
  /** Matched against the whole name, without regard to case. */
  readonly name: string | RegExp;
  /** The conventional key: `train/loss`. */
  readonly key: string;
  /** Formats the rule is for; default all. */
  readonly formats?: readonly string[] | undefined;
};

/**
 * The known names. The first rule that matches counts; rules of the user come before these. Names that no rule knows are kept, as far
 * as keys allow.
 */
export const CONVENTIONAL_KEYS: readonly KeyRule[] = Object.freeze([
  // Keras in TensorBoard; what lies in a folder of held-out data comes with the name of the folder in front.
  {
    name: /^(?:val|valid|validation|dev|eval|evaluation)\/(?:epoch|evaluation)_(.+?)(?:_vs_iterations)?$/,
    key: 'val/$1',
    formats: ['tensorboard'],
  },
  { name: /^evaluation\/(.+)$/, key: 'val/$1', formats: ['tensorboard'] },
  { name: /^epoch_(?:lr|learning_rate)$/, key: 'optimizer/lr', formats: ['tensorboard'] },
  { name: /^epoch_(.+)$/, key: 'train/$1', formats: ['tensorboard'] },
  {
    name: /^(?:train[/_. -]?|training[/_. -]?|tr[_-]?)?loss(?:[/_. -]train(?:ing)?)?$/,
    key: 'train/loss',
  },
  { name: /^(?:val|valid|validation|dev)[/_. -]?loss$/, key: 'val/loss' },
  { name: /^eval[/_. -]loss$/, key: 'val/loss' },
  // As the side of training: `Loss/train` beside `Loss/val`.
  { name: /^loss[/_. -](?:val|valid|validation|dev|eval)$/, key: 'val/loss' },
  { name: /^loss[/_. -]test$/, key: 'test/loss' },
  // Lightning logs a metric twice: of the step, and the mean of the epoch, which is what compares with validation.
  { name: /^(?:train[/_. -]?|training[/_. -]?)?loss_epoch$/, key: 'train/loss' },
  { name: /^(?:train[/_. -]?|training[/_. -]?)?loss_step$/, key: 'train/loss_step' },
  { name: /^(?:val|valid|validation|dev)[/_. -]?loss_epoch$/, key: 'val/loss' },
  { name: /^(?:train[/_. -]?)?acc(?:uracy)?_epoch$/, key: 'train/accuracy' },
  { name: /^(?:train[/_. -]?)?acc(?:uracy)?_step$/, key: 'train/accuracy_step' },
  { name: /^(?:val|valid|validation|dev)[/_. -]acc(?:uracy)?_epoch$/, key: 'val/accuracy' },
  { name: 'total_loss', key: 'train/loss' },
  { name: /^test[/_. -]loss$/, key: 'test/loss' },
  // LightGBM counts its validation sets, the training set among them; XGBoost counts all of its evaluation sets, and the first may be that of the training.
  { name: /^valid_[01]\/(.+)$/, key: 'val/$1' },
  { name: /^validation_(\d+)\/(.+)$/, key: 'validation_$1/$2' },
  // Megatron-LM, llm.c
  { name: 'lm loss', key: 'train/loss' },
  { name: /^val\/lm loss(?: value)?$/, key: 'val/loss' },
  { name: /^val\/lm loss PPL$/, key: 'val/perplexity' },
  { name: /^test\/lm loss(?: value)?$/, key: 'test/loss' },
  // timm, Swin, DeiT, the PyTorch examples
  {
    name: /^(?:train[/_. -])?(?:acc|prec|top)[@-]?1$/,
    key: 'train/accuracy',
    formats: ['text_log', 'json_lines', 'csv'],
  },
  {
    name: /^(?:val|valid|eval)[/_. -](?:acc|prec|top)[@-]?1$/,
    key: 'val/accuracy',
    formats: ['text_log', 'json_lines', 'csv'],
  },
  {
    name: /^test[/_. -](?:acc|prec|top)[@-]?1$/,
    key: 'test/accuracy',
    formats: ['text_log', 'json_lines', 'csv'],
  },
  // nnU-Net's logger
  { name: 'train_losses', key: 'train/loss', formats: ['json'] },
  { name: 'val_losses', key: 'val/loss', formats: ['json'] },
  { name: 'lrs', key: 'optimizer/lr', formats: ['json'] },
  { name: 'trl', key: 'train/loss', formats: ['text_log'] },
  { name: 'tel', key: 'val/loss', formats: ['text_log'] },
  { name: 'norm', key: 'train/grad_norm', formats: ['text_log'] },
  { name: 'eval', key: 'val/eval', formats: ['text_log'] },
  { name: /^(?:lr|learning[_ -]?rate)$/, key: 'optimizer/lr' },
  { name: /^(?:train|optimizer|optim)[/_. -](?:lr|learning[_ -]?rate)$/, key: 'optimizer/lr' },
  { name: /^lr[/_-](?:pg)?(\d+)$/, key: 'optimizer/lr_$1' },
  { name: /^lr-(.+)$/, key: 'optimizer/lr/$1' },
  {
    name: /^(?:grad(?:ient)?[_ -]?norm|train[/_. -]grad(?:ient)?[_ -]?norm)$/,
    key: 'train/grad_norm',
  },
  { name: /^(?:train[/_. -]?|training[/_. -]?)?acc(?:uracy)?$/, key: 'train/accuracy' },
  { name: /^(?:val|valid|validation|dev|eval)[/_. -]acc(?:uracy)?$/, key: 'val/accuracy' },
  { name: /^test[/_. -]acc(?:uracy)?$/, key: 'test/accuracy' },
  { name: /^(?:val|valid|validation|dev|eval)[/_.](.+)$/, key: 'val/$1' },
  { name: /^(?:train|training)[/_.](.+)$/, key: 'train/$1' },
  { name: /^(?:val|valid|validation|dev|eval) (.+)$/, key: 'val/$1', formats: ['text_log'] },
  { name: /^test (.+)$/, key: 'test/$1', formats: ['text_log'] },
]);

/** The key that stands for a name, or undefined when the name leaves nothing to make one of. */
export function conventionalKey(
  name: string,
  format: string,
  rules: readonly KeyRule[] = CONVENTIONAL_KEYS,
): string | undefined {
  const trimmed = name.trim();
  for (const rule of rules) {
    if (rule.formats !== undefined && !rule.formats.includes(format)) continue;
    if (typeof rule.name === 'string') {
      if (rule.name.toLowerCase() === trimmed.toLowerCase()) return toKey(rule.key);
      continue;
    }
    const match = patternOf(rule.name).exec(trimmed);
    if (match !== null && match[0].length === trimmed.length)
      return toKey(rule.key.replace(/\$(\d)/g, (_, group: string) => match[Number(group)] ?? ''));
  }
  return toKey(trimmed);
}

/** The same pattern without regard to case, and without the state that a global one keeps. */
function patternOf(pattern: RegExp): RegExp {
  let known = PATTERNS.get(pattern);
  if (known === undefined) PATTERNS.set(pattern, (known = new RegExp(pattern.source, 'iu')));
  return known;
}

const PATTERNS = new WeakMap<RegExp, RegExp>();
