/**
 * Which way a metric is better, by its name: the few patterns that every page that records can carry. Analyses know more names
 * (`analysis/signals/roles/direction.ts`).
 */
import { withoutContext } from '../base/names.ts';

const LOWER =
  /(?:^|[/_.-])(?:[a-z]*loss(?:_?\d+)?|error|err|perplexity|ppl|mae|mse|rmse|cer|wer|fid|nll|bpb|time(?!\/|_elapsed)|latency|[a-z]*time_ms)(?:$|[/_.-])/iu;
const HIGHER =
  /(?:^|[/_.-])(?:acc(?:uracy)?|f1|f_1|precision|recall|m?ap(?:50|75|\d+-\d+)?|auc|auroc|bleu|rouge\w*|score|iou|dice|r2|reward|return|throughput|samples_per_second|top\d?)(?:$|[/_.-])/iu;

/** Which way a metric is better, by its name; null where it does not say. */
export function betterWhen(key: string): 'higher' | 'lower' | null {
  const metric = withoutContext(key);
  if (HIGHER.test(metric)) return 'higher';
  return LOWER.test(metric) ? 'lower' : null;
}
