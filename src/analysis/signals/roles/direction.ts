/** Which way a metric is better, by the words of its name: the words that roles are found by. */
import { measureOf } from './measures.ts';
import { readNames } from './names.ts';
import { sideOf, wordsOf } from './words.ts';

/** Which way a metric is better. */
export type Direction = 'lower' | 'higher';

/** Words for the extreme of a metric, which is better the same way. */
const EXTREMES: ReadonlySet<string> = new Set(['best', 'min', 'max', 'median']);
/** Better when lower, and nothing that a training is judged by. */
const DISTANCES: ReadonlySet<string> = new Set(['fid', 'kid', 'lpips', 'latency']);
/** Times, but no section of that name (`time/fps` of Stable-Baselines) and no time that only goes on. */
const TIME = /(?:^|[/_.-])(?:time(?!\/|_elapsed)|[a-z]*time_ms)(?:$|[/_.-])/iu;
/**
 * Losses of agents and of networks that are trained against each other say how the training goes on, and are not better when lower; nor is an entropy,
 * unless it is a cross-entropy.
 */
const NEITHER =
  /(?:^|[/_.-])(?:(?<!cross[/_. -]?)entropy|policy|actor|critic|pg|surrogate|kl|d|g|gen|dis|disc|generator|discriminator)(?:$|[/_.-])/iu;
/** Amounts of work in a time. */
const RATE = /(?:^|[/_.-])(?:throughput|[a-z]+_per_sec(?:ond)?)(?:$|[/_.-])/iu;

/** Which way a metric is better, by its name; null where it does not say. */
export function directionOf(key: string): Direction | null {
  if (RATE.test(key)) return 'higher';
  const words = wordsOf(key);
  const read = readNames([key]).get(key)?.measure;
  const measure = words.some((word) => EXTREMES.has(word))
    ? measureOf(words.filter((word) => !EXTREMES.has(word) && sideOf(word) === undefined))
    : read;
  switch (measure) {
    case 'loss':
    case 'error':
      return NEITHER.test(key) ? null : 'lower';
    case 'accuracy':
    case 'quality':
    case 'reward':
      return 'higher';
    case 'none':
    case undefined:
      if (NEITHER.test(key)) return null;
      return TIME.test(key) || words.some((word) => DISTANCES.has(word)) ? 'lower' : null;
  }
}
