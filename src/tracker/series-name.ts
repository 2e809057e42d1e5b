/** The key of a series for providers that know no contexts: `loss {stage=train}`, names in the order of their UTF-16 code units. */
import type { TrackerContext } from './tracker.ts';

const BARE = /^[A-Za-z_][A-Za-z0-9._-]*$/;

/** The name of a series with its context. */
export function seriesName(name: string, context: TrackerContext): string {
  const entries = Object.entries(context).sort(([a], [b]) => (a < b ? -1 : 1));
  if (entries.length === 0) return name;
  const texts = entries.map(
    ([key, value]) => `${key}=${BARE.test(value) ? value : JSON.stringify(value)}`,
  );
  return `${name} {${texts.join(', ')}}`;
}
