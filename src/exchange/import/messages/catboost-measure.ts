/** Whether the values that CatBoost prints, which it does not name, can be a loss. */
import { NUMBER } from '../text/pattern-parts.ts';

const LINE = new RegExp(
  String.raw`^\d{1,15}:\s{1,4}learn: (${NUMBER})(?:\s{1,4}test: (${NUMBER})\s{1,4}best: (${NUMBER}))?`,
  'gm',
);
/** Losses by the names that CatBoost has for them. */
const LOSS =
  /\b(?:log_?loss|cross_?entropy|rmse|mae|mape|multi_?class|quantile|poisson|huber|focal)\b/i;
const FEWEST = 3;

/**
 * `objective` for values that may be a loss, and `score` for those that are better when higher. That is so where the best value of the
 * test set is above one that came with it, and where the text has no such line and names no loss, but rises between 0 and 1 as an accuracy does.
 * @param text lines of a log; of a long one its head and its end are enough
 */
export function catBoostMeasure(text: string): 'objective' | 'score' {
  const values: number[] = [];
  for (const [, learn, test, best] of text.matchAll(LINE)) {
    if (best !== undefined && Number(best) !== Number(test))
      return Number(best) > Number(test) ? 'score' : 'objective';
    values.push(Number(learn));
  }
  return !LOSS.test(text) && risesAsShare(values) ? 'score' : 'objective';
}

function risesAsShare(values: readonly number[]): boolean {
  const [first = Number.NaN] = values;
  if (values.length < FEWEST || !((values.at(-1) ?? Number.NaN) > first)) return false;
  let rises = 0;
  let falls = 0;
  for (const [i, value] of values.entries()) {
    if (!(value >= 0 && value <= 1)) return false;
    const before = values[i - 1] ?? value;
    if (value > before) rises++;
    else if (value < before) falls++;
  }
  return rises > falls;
}
