/** The logs that `fit` passes to its callbacks, under the names they are recorded with. */

/** What fit reports: numbers, or scalar tensors when every callback of the list is a `tf.Callback`. */
export type TfjsLogs = { readonly [name: string]: number | { data(): Promise<ArrayLike<number>> } };

/** Entries of the logs that are no metrics. */
const NOT_METRICS: ReadonlySet<string> = new Set(['batch', 'size']);

/** Names of metrics by those of the logs: there are a few of them, asked for in every step. */
const names = new Map<string, string>();
const MAX_NAMES = 1000;

/** The same as {@link readLogs} where the logs are numbers, as `fit` gives them to plain objects; undefined where they are tensors. */
export function readNumbers(logs: TfjsLogs): readonly (readonly [string, number])[] | undefined {
  const values: [string, number][] = [];
  for (const name of Object.keys(logs)) {
    if (NOT_METRICS.has(name)) continue;
    const value = logs[name];
    if (typeof value !== 'number') return undefined;
    values.push([metricName(name), value]);
  }
  return values;
}

/** The metrics of the logs with the names they are recorded under. */
export async function readLogs(logs: TfjsLogs): Promise<readonly (readonly [string, number])[]> {
  const values: [string, number][] = [];
  for (const [name, value] of Object.entries(logs)) {
    if (NOT_METRICS.has(name)) continue;
    const number = typeof value === 'number' ? value : (await value.data())[0];
    if (number !== undefined) values.push([metricName(name), number]);
  }
  return values;
}

/** `acc` is what fit calls accuracy; what a key may not hold becomes "_". */
function metricName(name: string): string {
  const known = names.get(name);
  if (known !== undefined) return known;
  if (names.size >= MAX_NAMES) names.clear();
  const plain = name.replace(/(^|_)acc$/, '$1accuracy').replace(/[^A-Za-z0-9._-]/g, '_');
  const key = /^[A-Za-z0-9]/.test(plain) ? plain : `m${plain}`;
  names.set(name, key);
  return key;
}

/** The learning rate of an optimizer that has one. */
export function learningRate(optimizer: unknown): number | undefined {
  if (typeof optimizer !== 'object' || optimizer === null || !('learningRate' in optimizer))
    return undefined;
  return typeof optimizer.learningRate === 'number' ? optimizer.learningRate : undefined;
}
