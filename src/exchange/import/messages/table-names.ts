/** What the columns of tables that were made for people are called. */
import { numberFromText } from '../../../codecs/number-text.ts';
import type { LogRow } from './log-patterns.ts';

const COUNTERS: Readonly<Record<string, 'step' | 'epoch'>> = {
  step: 'step',
  steps: 'step',
  iter: 'step',
  iteration: 'step',
  epoch: 'epoch',
  epochs: 'epoch',
};
const TRAIN_LOSS = /^(?:train|training|trn)[_ ]loss$/i;
const HELD_OUT_LOSS = /^(?:valid|validation|val|eval)[_ ]loss$/i;
/** What is measured of a model, as opposed to times, rates and sizes. */
const MEASURE =
  /acc|error|f1|f_1|fbeta|precision|recall|auc|dice|iou|jaccard|r2|rmse|mae|mse|perplexity|bleu|rouge|kappa|matthews|mcc|pearson|spearman|wer|cer/i;
const HAS_SIDE = /^(?:train|training|trn|valid|validation|val|eval|test)[_ /]/i;

/** Whether a column counts steps or epochs, by its name. */
export function isCounterName(name: string): 'step' | 'epoch' | undefined {
  return COUNTERS[name.trim().toLowerCase()];
}

/**
 * The names of metrics under a header; undefined for the counter in front. Where a table has the losses of training and of validation, what
 * else is measured is of the validation: so do fastai and the Trainer of Hugging Face.
 */
export function columnNames(header: readonly string[]): readonly (string | undefined)[] {
  const isOfBoth =
    header.some((name) => TRAIN_LOSS.test(name)) && header.some((name) => HELD_OUT_LOSS.test(name));
  return header.map((name, i) => {
    if (i === 0 || isCounterName(name) !== undefined) return undefined;
    const isMeasure = isOfBoth && MEASURE.test(name) && !HAS_SIDE.test(name);
    return isMeasure ? `valid_${name.trim().toLowerCase().replace(/ /g, '_')}` : name.trim();
  });
}

/** A row of cells; undefined when it is none: it has other cells than the header, no counter, or no number beside it. */
export function tableRow(
  cells: readonly string[],
  names: readonly (string | undefined)[],
  counter: 'step' | 'epoch',
): LogRow | undefined {
  const position = numberFromText(cells[0] ?? '');
  if (cells.length !== names.length || typeof position !== 'number') return undefined;
  const values = names.flatMap((name, i) => {
    const value = numberFromText(cells[i] ?? '');
    return name === undefined || typeof value !== 'number' ? [] : [[name, value] as const];
  });
  if (values.length === 0) return undefined;
  const none = Number.NaN;
  return {
    pattern: 'table',
    step: counter === 'step' ? position : none,
    epoch: counter === 'epoch' ? position : none,
    epochSteps: none,
    timeMs: none,
    values,
  };
}
