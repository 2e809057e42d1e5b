/** Three thresholds of one figure: from which value it is a warning, an error, critical. */
import type { AlertSeverity } from '../../records/literals.ts';
import type { Levels } from './rule.ts';
import type { Threshold, ThresholdValues } from './rule-types.ts';

/** Thresholds, and the severities that they make. */
export type Ladder<N extends string> = {
  readonly thresholds: { readonly [K in N]: Threshold };
  /** Levels by the figure of this name in a measurement. */
  readonly levels: <K extends string>(figure: K) => Levels<{ readonly [P in K]: number }, N>;
  /** The severity of a figure; undefined below a warning. */
  readonly severityOf: (value: number, limits: ThresholdValues<N>) => AlertSeverity | undefined;
  /** The threshold for a warning. */
  readonly warningOf: (limits: ThresholdValues<N>) => number;
};

/**
 * A ladder of severities.
 *
 * @param figure what the thresholds are compared with, as documentation names it
 * @param values the thresholds by their names: for a warning, an error, critical; where they fall, less is worse
 */
export function ladder<N extends string>(
  figure: string,
  values: { readonly [K in N]: number },
): Ladder<N> {
  const names = Object.keys(values) as [N, N, N]; // those of the object literal
  const [warning, error, critical] = names;
  const isFalling = values[critical] < values[warning];
  const docs = [
    `${figure}: a warning at or ${isFalling ? 'below' : 'above'} this value.`,
    'The same: an error.',
    'The same: critical.',
  ];
  const thresholds = Object.fromEntries(
    names.map((name, i) => [name, { value: values[name], doc: docs[i] ?? figure }]),
  ) as Record<N, Threshold>; // Object.fromEntries forgets which names it was given
  const severityOf: Ladder<N>['severityOf'] = (value, limits) => {
    const reaches = (name: N): boolean =>
      isFalling ? value <= limits[name] : value >= limits[name];
    if (reaches(critical)) return 'critical';
    if (reaches(error)) return 'error';
    return reaches(warning) ? 'warning' : undefined;
  };
  return {
    thresholds,
    severityOf,
    warningOf: (limits) => limits[warning],
    levels: (name) => ({
      critical: (measured, limits) => severityOf(measured[name], limits) === 'critical',
      error: (measured, limits) => severityOf(measured[name], limits) === 'error',
      warning: (measured, limits) => severityOf(measured[name], limits) === 'warning',
    }),
  };
}
