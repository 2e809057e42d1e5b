/** Whether the output of a model can reach what it is meant to. */
import type { BatchColumns } from '../columns/run-columns.ts';
import { activationOf, type Lint } from './lint.ts';
import { numberOf } from './metadata-number.ts';
import type { ModelOutline } from './model-layers.ts';
import { say } from './rule.ts';

/** Values that activations can give. */
const RANGES = new Map([
  ['sigmoid', [0, 1]],
  ['hardsigmoid', [0, 1]],
  ['softmax', [0, 1]],
  ['tanh', [-1, 1]],
  ['softsign', [-1, 1]],
  ['relu', [0, Number.POSITIVE_INFINITY]],
  ['relu6', [0, 6]],
  ['softplus', [0, Number.POSITIVE_INFINITY]],
] as const);

/** Share of the range of the targets that may lie beyond what the output can give: for noise around a limit. */
const BEYOND = 0.05;

/** Outputs that cannot reach the targets, where batches tell what those are. */
export function rangeLints(
  { layers }: ModelOutline,
  targets: { readonly min: number; readonly max: number } | undefined,
): Lint[] {
  const used = new Set(layers.flatMap(({ inputs }) => inputs));
  const [output, another] = layers.filter((_, i) => !used.has(i));
  const activation = output === undefined ? '' : activationOf(output);
  const range = [...RANGES].find(([name]) => name === activation)?.[1];
  if (output === undefined || another !== undefined || range === undefined || targets === undefined)
    return [];
  const beyond = Math.max(range[0] - targets.min, targets.max - range[1]);
  const share = beyond / (targets.max - targets.min);
  if (!(share > BEYOND)) return [];
  return [
    {
      severity: 'error',
      where: output.name,
      fact: `${output.name} has a ${activation}, which cannot reach targets from ${say(targets.min)} to ${say(targets.max)}`,
      cause: 'the activation of a classifier, or of hidden layers, is used for the output',
      advice: 'give the last layer no activation, or scale the targets to what it can give',
      observed: share,
      threshold: BEYOND,
    },
  ];
}

/** Batches that the range of the targets is taken from, at most. */
const TARGET_BATCHES = 200;

/** The range of the targets, from `target_min` and `target_max` (or `targetMin`, `targetMax`) in the metadata of batches. */
export function targetRange({
  metadata,
  rowCount,
}: BatchColumns): { readonly min: number; readonly max: number } | undefined {
  let min = Number.POSITIVE_INFINITY;
  let max = Number.NEGATIVE_INFINITY;
  for (let row = 0; row < Math.min(rowCount, TARGET_BATCHES); row++) {
    const text = metadata[row];
    if (text === null || text === undefined || !text.includes('target')) continue;
    const value: unknown = JSON.parse(text);
    min = Math.min(min, numberOf(value, 'target_min', 'targetMin') ?? min);
    max = Math.max(max, numberOf(value, 'target_max', 'targetMax') ?? max);
  }
  return min < max && max - min < Number.POSITIVE_INFINITY ? { min, max } : undefined;
}
