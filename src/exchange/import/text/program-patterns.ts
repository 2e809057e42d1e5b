/** Lines of programs that train vision models, language models and segmentation networks, as their sources print them. */
import { COUNT, NUMBER, pairs, pattern, PREFIX, type ProgramPattern } from './pattern-parts.ts';

/** `loss: 0.5 (0.6)` or `Loss 0.5 (0.6)`: the mean in brackets, which the last batch leaves. */
const MEANS = pairs`(?<![\w@])(?!(?:[Tt]ime|[Dd]ata|[Mm]em)\b)(?<key>[A-Za-z][\w@]{0,40}):?\s{1,8}${NUMBER}\s{0,4}\(\s{0,4}(?<value>${NUMBER})\)`;
const BATCHES = String.raw`\[\s{0,10}${COUNT}/\s{0,10}${COUNT}\]`;

const VISION: readonly ProgramPattern[] = [
  {
    name: 'timm',
    pattern: pattern`${PREFIX}Train: (?<epoch>${COUNT}) \[\s{0,10}(?<step>${COUNT})/(?<epoch_steps>${COUNT}) [^\]]{0,20}\]`,
    pairs: pairs`(?<!\w)(?<key>[A-Z][A-Za-z]{0,20}):\s{1,8}(?<value>${NUMBER})s?(?=[\s,(]|$)`,
    namespace: 'train',
  },
  {
    name: 'swin',
    pattern: pattern`${PREFIX}Train: \[(?<epoch>${COUNT})/${COUNT}\]\[(?<step>${COUNT})/(?<epoch_steps>${COUNT})\]`,
    pairs: pairs`(?<![\w:.])(?!eta\b)(?<key>[a-z]\w{0,30}) (?<value>${NUMBER})(?=(?:MB)?(?:\s|$))`,
    namespace: 'train',
  },
  {
    // The MetricLogger of torchvision's references, which DeiT, DETR, DINO and MAE use.
    name: 'metric_logger',
    pattern: pattern`${PREFIX}Epoch: \[(?<epoch>${COUNT})\]\s{1,8}\[\s{0,10}(?<step>${COUNT})/(?<epoch_steps>${COUNT})\]\s{1,8}(?=eta: )`,
    pairs: pairs`(?<![\w.])(?<key>[A-Za-z][\w@/]{0,60}): (?<value>${NUMBER})(?=\s|$)`,
  },
  {
    name: 'evaluation_of_average',
    pattern: pattern`${PREFIX}Test \(EMA\):\s{1,8}${BATCHES}`,
    pairs: MEANS,
    namespace: 'val/ema',
    bar: 'ema',
  },
  {
    // Means on their way through the validation data: those of the last batch are the result.
    name: 'evaluation',
    pattern: pattern`${PREFIX}Test:?\s{1,8}${BATCHES}`,
    pairs: MEANS,
    namespace: 'val',
    bar: 'evaluation',
  },
  {
    name: 'evaluation_result',
    pattern: pattern`${PREFIX}(?:\*|Test:)\s{1,8}(?=(?:Acc|Prec)@1\b)`,
    pairs: pairs`(?<![\w@])(?<key>[A-Za-z][\w@]{0,20})[ :]{1,3}(?<value>${NUMBER})(?=\s|$)`,
    namespace: 'val',
    bar: 'evaluation',
  },
];

const LANGUAGE: readonly ProgramPattern[] = [
  {
    name: 'word_language_model',
    pattern: pattern`${PREFIX}epoch\s{1,8}(?<epoch>${COUNT}) \|\s{0,12}(?<step>${COUNT})/\s{0,12}(?<epoch_steps>${COUNT}) batches(?=\s)`,
    pairs: pairs`\|\s{0,8}(?<key>[A-Za-z][\w/]{0,40}(?: [A-Za-z][\w/]{0,20})?)\s{1,12}(?<value>${NUMBER})s?(?=\s{0,8}(?:\||$))`,
  },
  {
    name: 'word_language_model_epoch',
    pattern: pattern`${PREFIX}end of epoch\s{1,8}(?<epoch>${COUNT})(?= \|)`,
    pairs: pairs`\|\s{0,8}(?<key>[A-Za-z][\w/]{0,40}(?: [A-Za-z][\w/]{0,20})?):?\s{1,12}(?<value>${NUMBER})s?(?=\s{0,8}(?:\||$))`,
    isEndOfEpoch: true,
  },
  {
    name: 'word_language_model_end',
    pattern: pattern`${PREFIX}End of training(?= \|)`,
    pairs: pairs`\|\s{0,8}(?<key>[A-Za-z][\w/]{0,40}(?: [A-Za-z][\w/]{0,20})?)\s{1,12}(?<value>${NUMBER})(?=\s{0,8}(?:\||$))`,
  },
  {
    name: 'fairseq',
    pattern: pattern`${PREFIX}epoch (?<epoch>${COUNT}):\s{1,10}${COUNT} / ${COUNT} (?=[\w-]{1,60}=)`,
    pairs: pairs`(?<![\w-])(?<key>[A-Za-z][\w-]{0,60})=(?<value>${NUMBER})(?=[,\s]|$)`,
  },
  {
    name: 'fairseq_validation',
    pattern: pattern`${PREFIX}epoch (?<epoch>${COUNT}) \| valid on '(?<phase>[\w.-]{1,60})' subset(?= \|)`,
    pairs: pairs`\| (?<key>[A-Za-z][\w-]{0,60}) (?<value>${NUMBER})(?= \||\s{0,4}$)`,
  },
  {
    // Means of the epoch: another metric than those of the lines within it.
    name: 'fairseq_epoch',
    pattern: pattern`${PREFIX}epoch (?<epoch>${COUNT})(?= \| (?:nll_)?loss )`,
    pairs: pairs`\| (?<key>[A-Za-z][\w-]{0,60}) (?<value>${NUMBER})(?= \||\s{0,4}$)`,
    prefix: 'train_',
  },
  {
    name: 'json_of_epoch',
    pattern: pattern`${PREFIX}\{(?="epoch": ?\d)`,
    pairs: pairs`"(?<key>[^"]{1,80})": ?"?(?<value>${NUMBER})"?(?=[,}])`,
  },
];

/** nnU-Net writes the time in front of every line. */
const TIMED = String.raw`^(?:\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,9})?:\s{1,4})`;
const CLASSES = pairs`(?:np\.float\d\d\()?(?<value>${NUMBER})\)?(?=\s{0,4}[,\]])`;

const SEGMENTATION: readonly ProgramPattern[] = [
  {
    name: 'nnunet_v2',
    pattern: pattern`${TIMED}?(?:train_loss (?<train_loss>${NUMBER})|val_loss (?<val_loss>${NUMBER}))\s{0,4}$`,
  },
  {
    name: 'nnunet_v1',
    pattern: pattern`${TIMED}(?:train loss : (?<train_loss>${NUMBER})|(?:validation loss|val loss \(train=False\)): (?<val_loss>${NUMBER})|val loss \(train=True\): (?<val_loss_in_training_mode>${NUMBER}))\s{0,4}$`,
  },
  {
    name: 'nnunet_dice',
    pattern: pattern`${TIMED}?(?:Pseudo dice|Average global foreground Dice:)\s{1,4}(?=\[)`,
    pairs: CLASSES,
    items: 'val/dice',
  },
  {
    name: 'nnunet_best',
    pattern: pattern`${TIMED}?(?:Yayy! )?New best EMA pseudo Dice: (?:np\.float\d\d\()?(?<best_dice>${NUMBER})\)?\s{0,4}$`,
    namespace: 'val',
  },
  {
    name: 'nnunet_facts',
    pattern: pattern`${TIMED}?(?:Current learning rate: (?<lr>${NUMBER})|Epoch time: (?<epoch_time>${NUMBER}) s)\s{0,4}$`,
    isCommon: true,
  },
  {
    name: 'nnunet_v1_facts',
    pattern: pattern`${TIMED}(?:(?:lr:|lr is now \(scheduler\)) (?<lr>${NUMBER})|This epoch took (?<epoch_time>${NUMBER}) s)\s{0,4}$`,
    isCommon: true,
  },
];

/** The programs, in the order in which they are tried. */
export const PROGRAM_PATTERNS: readonly ProgramPattern[] = Object.freeze([
  ...VISION,
  ...LANGUAGE,
  ...SEGMENTATION,
]);
