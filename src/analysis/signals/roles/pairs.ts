/** Which validation series is compared with which of training. */
import type { MetricSeries } from '../../columns/run-columns.ts';
import { hasFinite } from './losses.ts';
import type { MetricName } from './names.ts';
import type { SeriesPair } from './role-types.ts';

/** What pairs are made of. */
export type PairSource = {
  readonly metrics: ReadonlyMap<string, MetricSeries>;
  readonly names: ReadonlyMap<string, MetricName>;
  /** The training losses. */
  readonly parts: readonly MetricSeries[];
  /** Keys of the validation loss: the choice. */
  readonly valKeys: readonly string[];
};

/**
 * Each validation loss with the training loss of the same name, or with the only training loss. Names that are no losses by name
 * (`train/box_om`) are paired where both fall from first to last. The validation that was chosen goes first.
 */
export function pairsOf({ metrics, names, parts, valKeys }: PairSource): readonly SeriesPair[] {
  const [only, ...others] = parts;
  const isOnly = only !== undefined && others.length === 0;
  const hasVal = [...names.values()].some(({ side }) => side === 'val');
  const chosen = new Set(valKeys);
  const heldOut = [...names.values()].filter(
    ({ key, side }) => chosen.has(key) || side === 'val' || (!hasVal && side === 'test'),
  );
  const first = heldOut.toSorted((a, b) => Number(chosen.has(b.key)) - Number(chosen.has(a.key)));
  return first.flatMap((name): readonly SeriesPair[] => {
    const validation = metrics.get(name.key);
    if (validation === undefined) return [];
    if (isOnly && chosen.has(name.key)) return [{ train: only, validation }];
    const train = partnerOf(name, names, metrics);
    const isLoss = name.measure === 'loss';
    const isJudged = isLoss || chosen.has(name.key);
    if (train !== undefined && (isJudged || bothFall(name, train, validation)))
      return [{ train, validation }];
    return isLoss && isOnly && name.side === 'val' && !name.isStep
      ? [{ train: only, validation }]
      : [];
  });
}

/** The training series of the same name: with a word for training, or else with none for a side. */
function partnerOf(
  name: MetricName,
  names: ReadonlyMap<string, MetricName>,
  metrics: ReadonlyMap<string, MetricSeries>,
): MetricSeries | undefined {
  const same = [...names.values()].filter(
    ({ key, side, stem }) =>
      key !== name.key && stem === name.stem && (side === 'train' || side === undefined),
  );
  const partner = same.find(({ side }) => side === 'train') ?? same[0];
  return partner === undefined ? undefined : metrics.get(partner.key);
}

function bothFall(name: MetricName, train: MetricSeries, validation: MetricSeries): boolean {
  const isFit = name.measure === 'error' || name.measure === undefined;
  return isFit && [train, validation].every((series) => hasFinite(series) && falls(series));
}

function falls({ values }: MetricSeries): boolean {
  const first = values.find((value) => Number.isFinite(value));
  const last = values.findLast((value) => Number.isFinite(value));
  return first !== undefined && last !== undefined && last < first;
}
