/** What a loss is for a model that has learned nothing: the level of chance. */
import type { BatchColumns, RunColumns } from '../columns/run-columns.ts';
import { field, type ModelOutline } from './model-layers.ts';
import { modelOutline } from './recorded-outline.ts';

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
  const shown = entropyOf(columns.batches);
  return Number.isNaN(shown) ? Math.log(count) : Math.min(shown, Math.log(count));
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

/** Entropy of the shares of the classes; NaN where too few labels are known. */
function entropyOf({ classCounts, classIndex, classNames }: BatchColumns): number {
  const counts = new Float64Array(classNames.length);
  let total = 0;
  classIndex.forEach((at, i) => {
    counts[at] = (counts[at] ?? 0) + (classCounts[i] ?? 0);
    total += classCounts[i] ?? 0;
  });
  if (total < MIN_LABELS) return Number.NaN;
  return counts.reduce((sum, n) => (n > 0 ? sum - (n / total) * Math.log(n / total) : sum), 0);
}
