/** What a metric measures, by its name. */

const LOSS =
  /(?:^|[^a-z])(?:[a-z]*loss(?:es)?|r?mse|mae|nll|bce|(?:m|multi_?)?log_?loss|m?logloss|cross_?entropy|perplexity|ppl|elbo)(?:[^a-z]|$)/iu;
const ACCURACY =
  /(?:^|[^a-z])(?:[a-z]*acc(?:uracy)?|top_?[15]|f1|m?iou|m?ap|auc|auroc|dice)(?:[^a-z]|$)/iu;
const REWARD = /(?:^|[^a-z])(?:rewards?|returns?|ep_?rew(?:_mean)?|score)(?:[^a-z]|$)/iu;

/** What a metric measures; undefined where its name is none of a loss, an accuracy or a reward. */
export function measureOf(key: string): 'loss' | 'accuracy' | 'reward' | undefined {
  if (REWARD.test(key) && !LOSS.test(key)) return 'reward';
  if (ACCURACY.test(key) && !LOSS.test(key)) return 'accuracy';
  return LOSS.test(key) ? 'loss' : undefined;
}
