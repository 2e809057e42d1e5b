/** What a metric measures, by the words of its name. */

/**
 * `loss`: called so. `error`: smaller is better, by another name. `accuracy`: the share of right answers. `quality`: better when higher, and no
 * share of right answers. `reward`: what an agent is given. `none`: machine, settings, norms: nothing that a training is judged by.
 */
export type Measure = 'loss' | 'error' | 'accuracy' | 'quality' | 'reward' | 'none';

/** Errors, the likeliest to be what is trained first. */
const ERRORS: readonly string[] =
  'nll crossentropy xent bce ce mse rmse mae huber logcosh rmsle mape smape cost objective error merror err wer cer bpd bpb bpc perplexity ppl'.split(
    ' ',
  );
const ERROR_WORDS: ReadonlySet<string> = new Set(ERRORS);
const LOSS = /loss(?:es)?\d*$/u;
const ACCURACY = /^(?:[a-z]*acc(?:uracy|uracies|u|s)?|acc1|top1|prec1)$/u;
/** Accuracies of the first guess, whatever they are called; of the first five is another measure. */
const ACCURACY_PLAIN: ReadonlySet<string> = new Set(
  'acc accs accuracy accu acc1 top1 top prec prec1 1 categorical sparse binary token multiclass overall classification cls'.split(
    ' ',
  ),
);
const QUALITY =
  /^(?:f1|f\dscore|fscore|fbeta|precision|recall|[a-z]*auc|auroc|auprc|aucpr|m?ap\d*|mar\d*|ndcg|mrr|m?iou|dice|jaccard|bleu\d*|rouge\w*|meteor|cider|r2|psnr|ssim|score|scores|mcc|kappa|hits?|em|spearman|pearson|top\d|acc[2-9]|prec[2-9]|throughput|mfu|loglikelihood|elbo|fitness)$/u;
const REWARD = /^(?:ep(?:isode|isodic)?)?(?:rew(?:ard)?s?|returns?)(?:mean|avg)?$/u;
/** Words beside which a loss, an accuracy or a reward is none: a factor of it, its spread, its best so far. */
const BLOCKERS: ReadonlySet<string> = new Set(
  'scale scaler scaling weight weights coef coeff coefficient lambda lr rate norm gnorm grad gradient gradients time seconds ms count num var variance std stddev min max median best clip clipped ratio improvement patience threshold explained diff delta gap change length len lens size memory traineval evalmode lower upper ci wps ups'.split(
    ' ',
  ),
);
/** Numbers of the optimizer and the machine. */
const NONE =
  /^(?:lr\d*|rate|epochs?|steps?|time|timestamp|seconds?|runtime|samples|tokens|tflops|flops|flos|norm|gnorm|memory|mem|gpu|cpu|ram|fps|eta|count|size|momentum|beta\d*|decay|wall|duration|throughput|kl|entropy)$/u;
/** Rewards of parts of a comparison, where one is to fall. */
const NO_REWARD: ReadonlySet<string> = new Set(
  'chosen rejected margin margins accuracy accuracies model shaping intrinsic discounted discount normalized advantage baseline target'.split(
    ' ',
  ),
);

/** What a metric of these words measures; undefined where they do not say. */
export function measureOf(words: readonly string[]): Measure | undefined {
  const has = (test: (word: string) => boolean): boolean => words.some(test);
  const isBlocked = has((word) => BLOCKERS.has(word));
  if (has((word) => LOSS.test(word))) return isBlocked ? 'none' : 'loss';
  if (has((word) => REWARD.test(word)) || saysReturn(words))
    return isBlocked || has((word) => NO_REWARD.has(word)) ? 'none' : 'reward';
  if (isAccuracy(words)) return isBlocked ? 'none' : 'accuracy';
  if (has((word) => QUALITY.test(word))) return 'quality';
  if (has((word) => ERROR_WORDS.has(word))) return isBlocked ? 'none' : 'error';
  return isBlocked || has((word) => NONE.test(word)) ? 'none' : undefined;
}

/** `AverageEpRet`: a return, where an episode stands before it. */
function saysReturn(words: readonly string[]): boolean {
  return words.some(
    (word, i) => /^rets?$/u.test(word) && /^ep(?:isode)?$/u.test(words[i - 1] ?? ''),
  );
}

function isAccuracy(words: readonly string[]): boolean {
  const isTop = words.some((word, i) => /^(?:top|prec)$/u.test(word) && words[i + 1] === '1');
  const isFive = words.some((word) => word === '5');
  return (isTop || words.some((word) => ACCURACY.test(word))) && !isFive;
}

/** Whether these words, sides and neutral ones left out, are those of the accuracy of all answers, and not of a class or a part. */
export function isPlainAccuracy(words: readonly string[]): boolean {
  return words.every((word) => ACCURACY_PLAIN.has(word) || ACCURACY.test(word));
}

/** How likely an error is to be what is trained: 0 the likeliest. */
export function rankOfError(words: readonly string[]): number {
  const ranks = words.map((word) => ERRORS.indexOf(word)).filter((rank) => rank >= 0);
  return ranks.length === 0 ? ERRORS.length : Math.min(...ranks);
}
