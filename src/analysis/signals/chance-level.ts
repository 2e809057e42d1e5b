/** What a loss is for a model that has learned nothing: the level of chance. */
import type { RunColumns } from '../columns/run-columns.ts';
import { classTotals } from './class-totals.ts';
import { field } from './model/fields.ts';
import { modelOutline, type ModelOutline } from './model/model-outline.ts';

const CLASS_LOSS = /^(?:(?:sparse)?categoricalcrossentropy|(?:softmax)?crossentropy)$/;
const BINARY_LOSS = /^(?:binary(?:crossentropy)?|sigmoidcrossentropy)$/;
/** Labels from which their shares are known. */
const MIN_LABELS = 500;

/**
 * Cross-entropy of a model that says the same of every sample, in nats: the entropy of the classes it was shown, or where their counts are
 * not known the logarithm of their number, which is the most it can be. NaN where the model, or its loss, is not known or another one.
 */
export function chanceLoss(columns: RunColumns, model: unknown): number {
  const { config } = columns.run;
  const { count, isCrossEntropy } = classesOf(modelOutline(columns, model), field(config, 'loss'));
  if (!isCrossEntropy) return Number.NaN;
  const { counts, total } = classTotals(columns.batches);
  if (total < MIN_LABELS) return Math.log(count);
  const entropy = counts.reduce(
    (sum, n) => (n > 0 ? sum - (n / total) * Math.log(n / total) : sum),
    0,
  );
  return Math.min(entropy, Math.log(count));
}

function classesOf(
  outline: ModelOutline | undefined,
  named: unknown,
): { readonly count: number; readonly isCrossEntropy: boolean } {
  const output = outline?.layers.at(-1);
  const units = output?.units ?? Number.NaN;
  const loss =
    outline?.loss ??
    (typeof named === 'string' ? named.toLowerCase().replace(/[^a-z0-9]/g, '') : '');
  if (CLASS_LOSS.test(loss)) return { count: units, isCrossEntropy: units >= 2 };
  return { count: 2, isCrossEntropy: BINARY_LOSS.test(loss) && units === 1 };
}
