/** Which metrics are accuracies and rewards, and which might be what they are not taken for. */
import type { MetricSeries } from '../../columns/run-columns.ts';
import { firstOf } from './losses.ts';
import { isPlainAccuracy } from './measures.ts';
import type { MetricName } from './names.ts';
import type { Chosen, RoleCandidate } from './role-types.ts';
import { isNeutral, isStepWord } from './words.ts';

const USUAL = 'it has the usual name';

/** The accuracies of both sides; keys of the settings go first. */
export function chooseAccuracy(
  metrics: ReadonlyMap<string, MetricSeries>,
  names: readonly MetricName[],
  side: 'train' | 'val',
  { isAsked, keys }: { readonly isAsked: boolean; readonly keys: readonly string[] },
): Chosen | null {
  const given = firstOf(metrics, keys);
  if (given !== undefined)
    return isAsked
      ? { keys: [given], how: 'sum', sureness: 'asked', why: 'the settings name it' }
      : { keys: [given], how: 'sum', sureness: 'named', why: USUAL };
  const plain = names.filter(
    ({ measure, words }) =>
      measure === 'accuracy' &&
      isPlainAccuracy(words.filter((word) => !isNeutral(word) && !isStepWord(word))),
  );
  const val = plain.filter((name) => name.side === 'val');
  const own =
    side === 'train'
      ? plain.filter((name) => name.side === 'train' || name.side === undefined)
      : val.length > 0
        ? val
        : plain.filter((name) => name.side === 'test');
  const [best] = own.toSorted(
    (a, b) =>
      Number(a.isStep) - Number(b.isStep) ||
      Number(b.hasPartner) - Number(a.hasPartner) ||
      a.base.length - b.base.length,
  );
  if (best === undefined) return null;
  const sureness = best.hasPartner ? 'paired' : best.side === undefined ? 'inferred' : 'named';
  const why = best.hasPartner
    ? 'its name differs from that of the other side in the word for it only'
    : best.side === undefined
      ? 'it is an accuracy without a word for training or validation'
      : USUAL;
  return { keys: [best.key], how: 'sum', sureness, why };
}

/** The reward: that of training, with the fewest further words, and of these with the most values. */
export function chooseReward(
  metrics: ReadonlyMap<string, MetricSeries>,
  names: readonly MetricName[],
): Chosen | null {
  const rewards = names.filter(({ measure }) => measure === 'reward');
  const size = ({ key }: MetricName): number => metrics.get(key)?.values.length ?? 0;
  const [best] = rewards.toSorted(
    (a, b) =>
      Number(a.side !== undefined && a.side !== 'train') -
        Number(b.side !== undefined && b.side !== 'train') ||
      a.words.length - b.words.length ||
      size(b) - size(a),
  );
  if (best === undefined) return null;
  const why = rewards.length > 1 ? `it is the plainest of ${rewards.length} rewards` : USUAL;
  return { keys: [best.key], how: 'sum', sureness: 'named', why };
}

/** Metrics whose names, or courses, are those of something a run is judged by. */
export function candidatesOf(
  metrics: ReadonlyMap<string, MetricSeries>,
  names: readonly MetricName[],
  taken: ReadonlySet<string>,
): readonly RoleCandidate[] {
  const free = names.filter(({ key }) => !taken.has(key));
  const of = (
    role: RoleCandidate['role'],
    why: string,
    is: (name: MetricName) => boolean,
  ): readonly RoleCandidate[] => free.filter(is).map(({ key }) => ({ key, role, why }));
  return [
    ...of('loss', 'its name is that of a loss', ({ measure }) => measure === 'loss'),
    ...of('loss', 'its name is that of an error', ({ measure }) => measure === 'error'),
    ...of(
      'loss',
      'it falls from first to last',
      ({ key, measure }) => measure === undefined && falls(metrics.get(key)),
    ),
    ...of('accuracy', 'its name is that of an accuracy', ({ measure }) => measure === 'accuracy'),
    ...of(
      'accuracy',
      'its name is that of a measure that is better when higher',
      ({ measure }) => measure === 'quality',
    ),
    ...of('reward', 'its name is that of a reward', ({ measure }) => measure === 'reward'),
  ];
}

/** Values that a fall from first to last says something of. */
const MIN_VALUES = 3;

function falls(series: MetricSeries | undefined): boolean {
  if (series === undefined) return false;
  const { values } = series;
  let first = 0;
  while (first < values.length && !Number.isFinite(values[first])) first++;
  let last = values.length - 1;
  while (last > first && !Number.isFinite(values[last])) last--;
  if (!((values[last] ?? 0) < (values[first] ?? 0))) return false;
  let count = 2;
  for (let i = first + 1; i < last && count < MIN_VALUES; i++)
    if (Number.isFinite(values[i])) count++;
  return count >= MIN_VALUES;
}
