/** Curves of trainings, the same each time: what the logs of the collection print. */
import { noiseFrom } from '../support/loss-curves.ts';

/** What a curve looks like. */
export type CurveShape = {
  readonly from: number;
  readonly to: number;
  /** Standard deviation of the noise, as a share of the value; default 0.01. */
  readonly noise?: number;
  readonly seed?: number;
  /** Decimals that the program prints; default 4. */
  readonly digits?: number;
};

/** A curve that falls or rises towards `to`, fast first. */
export function curve(count: number, shape: CurveShape): number[] {
  const { digits = 4, from, noise = 0.01, seed = 7, to } = shape;
  const normal = noiseFrom(seed);
  return Array.from({ length: count }, (_, i) => {
    const share = Math.exp((-4 * i) / Math.max(1, count - 1));
    const value = to + (from - to) * share;
    return Number((value * (1 + noise * normal())).toFixed(digits));
  });
}

/** The validation loss of a training that overfits: it falls with the training up to a third, and rises from there on. */
export function overfitted(count: number, shape: CurveShape): number[] {
  const { digits = 4, from, to } = shape;
  const turn = Math.floor(count / 3);
  return curve(count, shape).map((value, i) => {
    const rise = i <= turn ? 0 : ((from - to) * 0.8 * (i - turn)) / (count - turn);
    return Number((value + rise).toFixed(digits));
  });
}

/** A table of text: each line from its position. */
export function lines(count: number, line: (index: number) => string): string {
  return `${Array.from({ length: count }, (_, i) => line(i)).join('\n')}\n`;
}
