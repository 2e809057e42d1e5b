/** Lines of programs that boost trees: XGBoost, LightGBM, CatBoost. A round is a step. */
import { numberFromText } from '../../../codecs/number-text.ts';
import type { LogRow } from './log-patterns.ts';
import { catBoostMeasure } from './catboost-measure.ts';
import { NUMBER } from '../text/pattern-parts.ts';

const MAX_LINE_CHARS = 20_000;
/** `[10]` before a tab or blanks, behind the time of day where the program was called from a shell. */
const ROUND = /^\s{0,8}(?:\[\d\d:\d\d:\d\d\]\s{0,4})?\[(\d{1,15})\]:?\s{1,10}(?=\S)/;
/** XGBoost: `train-rmse:0.48`, in cross-validation `train-rmse:0.48+0.01`. A metric may end in "-": `ndcg@5-`. */
const XGBOOST = new RegExp(
  String.raw`(?<![^\s,])([^\s:,]{1,100})-([^\s:,-]{1,100}-?):(${NUMBER})(?:\+(${NUMBER}))?(?![^\s,])`,
  'g',
);
/** LightGBM: `valid_0's l2: 0.24`, in cross-validation `cv_agg's l2: 0.24 + 0.01`. */
const LIGHTGBM = new RegExp(
  String.raw`(?<![^\s,])([^\s:,']{1,100})'s ([^\t:']{1,100}): {0,4}(${NUMBER})(?: ?\+ ?(${NUMBER}))?(?![^\s,])`,
  'g',
);
/** LightGBM from a shell has a line for each metric. */
const LIGHTGBM_SHELL = new RegExp(
  String.raw`^\[LightGBM\] \[Info\] Iteration: ?(\d{1,15}), ([^\s:]{1,100}) ([^:]{1,100}?) ?: (${NUMBER})\s*$`,
);
const CATBOOST = /^(\d{1,15}):\s{1,4}(?=(?:learn|test\d{0,3}): )/;
/** What is `best` so far, and the times, follow from the rest. */
const CATBOOST_VALUE = new RegExp(
  String.raw`(?<![^\s])(learn|test\d{0,3}): (${NUMBER})(?![^\s])`,
  'g',
);
/** The next line repeats a round that was printed before. */
const BEST = /best iteration/i;

type Values = [name: string, value: number][];

/** Reads the lines of one text after another. */
export class BoostingLines {
  #first = Number.NaN;
  #last = Number.NaN;
  #isRepeated = false;
  /** What values of CatBoost are called that it takes of the training. */
  #measure: string = 'objective';

  /** Looks at text of the log before its lines are read: values of CatBoost that rise are no loss. */
  lookAhead(text: string): void {
    this.#measure = catBoostMeasure(text);
  }

  read(text: string): LogRow | undefined {
    if (text.length > MAX_LINE_CHARS) return undefined;
    if (BEST.test(text) && !ROUND.test(text)) {
      this.#isRepeated = true;
      return undefined;
    }
    const shell = LIGHTGBM_SHELL.exec(text);
    if (shell !== null) {
      const [, round = '', set = '', metric = '', value = ''] = shell;
      const values: Values = [];
      add(values, `${set}/${metric}`, value);
      return rowOf('lightgbm', Number(round), values);
    }
    const row = roundIn(text) ?? catBoostIn(text, this.#measure);
    return row === undefined || this.#isSeen(row.step) ? undefined : row;
  }

  /** Rounds only count on, but for those that are printed again at the end, and for another run, which begins where the first began. */
  #isSeen(step: number): boolean {
    const isRepeated = this.#isRepeated && step <= this.#last;
    this.#isRepeated = false;
    if (isRepeated || (step <= this.#last && step > this.#first)) return true;
    if (!(step > this.#last)) this.#first = step;
    this.#last = step;
    return false;
  }
}

function roundIn(text: string): LogRow | undefined {
  const head = ROUND.exec(text);
  if (head === null) return undefined;
  const rest = text.slice(head[0].length);
  const values: Values = [];
  for (const [, set = '', metric = '', value = '', deviation] of rest.matchAll(XGBOOST))
    add(values, `${set}/${metric}`, value, deviation);
  if (values.length > 0) return rowOf('xgboost', Number(head[1]), values);
  for (const [, set = '', metric = '', value = '', deviation] of rest.matchAll(LIGHTGBM))
    add(values, nameOf(set, metric), value, deviation);
  return values.length === 0 ? undefined : rowOf('lightgbm', Number(head[1]), values);
}

function catBoostIn(text: string, trained: string): LogRow | undefined {
  const head = CATBOOST.exec(text);
  if (head === null) return undefined;
  const values: Values = [];
  // The lines do not say which measure it is. One that is not taken of the training is no loss: AUC is such a one.
  const found = [...text.slice(head[0].length).matchAll(CATBOOST_VALUE)];
  const measure = found.some(([, set]) => set === 'learn') ? trained : 'eval_metric';
  for (const [, set = '', value = ''] of found) add(values, `${set}/${measure}`, value);
  return values.length === 0 ? undefined : rowOf('catboost', Number(head[1]), values);
}

/** Cross-validation of LightGBM has the set in the name of the metric, or means the folds that are not trained with. */
function nameOf(set: string, metric: string): string {
  const name = metric.trim();
  if (set !== 'cv_agg') return `${set}/${name}`;
  const [, side = 'valid', rest = name] = /^(train|valid) (.+)$/.exec(name) ?? [];
  return `${side}/${rest}`;
}

function add(values: Values, name: string, text: string, deviation?: string): void {
  const value = numberFromText(text);
  if (typeof value === 'number') values.push([name, value]);
  const spread = deviation === undefined ? undefined : numberFromText(deviation);
  if (typeof spread === 'number') values.push([`${name}_std`, spread]);
}

function rowOf(pattern: string, step: number, values: Values): LogRow {
  const none = Number.NaN;
  return { pattern, step, epoch: none, epochSteps: none, timeMs: none, values };
}
