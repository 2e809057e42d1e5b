/** What the values of a metric are: shares, percent, or a loss with or without a zero. */
import type { RoleUnit } from './roles.ts';

/** A share above 1 by more than this is none. */
const ROUNDING = 1e-6;

/** The unit of a metric, from all its finite values. */
export function unitOf(values: Float64Array, kind: 'loss' | 'accuracy' | 'reward'): RoleUnit {
  let least = Infinity;
  let most = -Infinity;
  for (const value of values) {
    if (value - value !== 0) continue;
    if (value < least) least = value;
    if (value > most) most = value;
  }
  if (kind === 'accuracy') return most > 1 + ROUNDING ? 'percent' : 'ratio';
  return kind === 'reward' || least < 0 ? 'signed' : 'nonnegative';
}
