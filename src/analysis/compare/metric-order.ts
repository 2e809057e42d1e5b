/** In which order people want to see metrics: what is judged first, the machine last. */
import { directionOf } from '../signals/roles/direction.ts';

const HELD_OUT = /^(?:val|valid|validation|eval|evaluation|dev|test)[/_.]/iu;
const LOSS = /(?:^|[/_.-])[a-z]*loss(?:_?\d+)?$/iu;
const RATE = /(?:^|[/_.])(?:lr|learning_?rate)(?:[-_/.][a-z0-9_.]+)?$/iu;
const MACHINE = /^(?:system|perf)[/_.]/iu;
/** Sums over an epoch of what is recorded batch by batch stand behind it. */
const OF_EPOCH = /(?:^|[/_.])epoch_/iu;

/**
 * Metric keys in order of interest: losses of training, losses of validation, accuracies and what else is better when higher, other metrics,
 * learning rates, times, what the machine did; each of these in alphabetical order, values of epochs behind those of steps.
 */
export function inOrderOfInterest(keys: Iterable<string>): readonly string[] {
  return [...keys]
    .map((key) => ({ key, rank: rankOf(key) }))
    .toSorted((a, b) => a.rank - b.rank || compareText(a.key, b.key))
    .map(({ key }) => key);
}

/** The first of so many metric keys, for a sentence: `train/loss, val/loss, val/accuracy and 3 more`. */
export function someOf(keys: Iterable<string>): string {
  const ordered = inOrderOfInterest(new Set(keys));
  const shown = ordered.slice(0, 3).join(', ');
  return ordered.length <= 3 ? shown : `${shown} and ${ordered.length - 3} more`;
}

function rankOf(key: string): number {
  if (MACHINE.test(key)) return /^perf/iu.test(key) ? 10 : 12;
  if (RATE.test(key)) return 8;
  const epoch = OF_EPOCH.test(key) ? 1 : 0;
  if (LOSS.test(key)) return (HELD_OUT.test(key) ? 2 : 0) + epoch;
  return (directionOf(key) === 'higher' ? 4 : 6) + epoch;
}

/** By code points: the same everywhere, whatever the language. */
function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
