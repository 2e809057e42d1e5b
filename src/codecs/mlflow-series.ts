/** The tags by which an export to MLflow says which of its metrics are of a context, and an import reads it. */

/** Beginning of the names of the tags. */
export const SERIES_TAG = 'quark.series';

/** Keys of series by the names that their metrics have in MLflow. What is no such tag is passed over: tags are anybody's. */
export function seriesOfTags(tags: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const [name, value] of Object.entries(tags)) {
    if (!name.startsWith(`${SERIES_TAG}.`)) continue;
    for (const [metric, key] of entriesOf(value))
      if (typeof key === 'string') found.set(metric, key);
  }
  return found;
}

function entriesOf(value: string): readonly [string, unknown][] {
  try {
    const parsed: unknown = JSON.parse(value);
    return typeof parsed === 'object' && parsed !== null ? Object.entries(parsed) : [];
  } catch {
    return [];
  }
}
