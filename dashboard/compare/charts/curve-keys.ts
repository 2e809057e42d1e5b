/** Keys of the curves of a comparison: whose each is, a run or a group, and of which metric or formula. Pure. */

/** Between the parts of a key: no metric, run or group has it in its name. */
const BETWEEN = '\u001F';

/** What a curve is. */
export type ComparedCurve = {
  /** The run or the group. */
  readonly owner: string;
  /** The metric, or a formula with its mark. */
  readonly metric: string;
  /** The position among the metrics of its chart; undefined where it is the only one. */
  readonly at: number | undefined;
};

/** The keys of the curves of a chart: of each metric those of all owners. */
export function curveKeys(
  metrics: readonly string[],
  owners: readonly string[],
): readonly string[] {
  return metrics.flatMap((metric, at) =>
    owners.map((owner) => [owner, metrics.length === 1 ? '' : at, metric].join(BETWEEN)),
  );
}

/** What the curve of a key is; a metric alone has no owner. */
export function comparedCurve(key: string): ComparedCurve {
  const [owner = '', at = '', ...metric] = key.split(BETWEEN);
  if (metric.length === 0) return { owner: '', metric: key, at: undefined };
  return { owner, metric: metric.join(BETWEEN), at: at === '' ? undefined : Number(at) };
}
