/** Search of metrics by what somebody typed: words, or a pattern between slashes. */
import { LinearPattern } from '../codecs/pattern/linear-pattern.ts';

/** Longest text of a search. */
const MAX_SEARCH_CHARS = 200;

/**
 * What a search finds. Words are parts of a key, in any order and case; `/pattern/` is a regular expression without lookaround and back
 * references, which takes time linear in the key, whatever it says.
 *
 * @param text what was typed, of which the first 200 characters count; blank finds everything
 * @throws {QuarkError} `invalid_input` where the pattern is none
 * @example
 * ```js
 * import { metricSearch } from 'quark-sdk/workspace';
 *
 * const keys = ['train/loss', 'val/loss', 'lr'];
 * console.log(keys.filter(metricSearch('loss train'))); // [ 'train/loss' ]
 * console.log(keys.filter(metricSearch('/^(train|val)/'))); // [ 'train/loss', 'val/loss' ]
 * ```
 */
export function metricSearch(text: string): (key: string) => boolean {
  const wanted = text.trim();
  if (wanted.length > MAX_SEARCH_CHARS) return metricSearch(wanted.slice(0, MAX_SEARCH_CHARS));
  const pattern = /^\/(.+)\/$/.exec(wanted)?.[1];
  if (pattern !== undefined) {
    const compiled = new LinearPattern(pattern);
    return (key) => compiled.exec(key) !== undefined;
  }
  const words = wanted.toLowerCase().split(/\s+/).filter(Boolean);
  return (key) => {
    const lower = key.toLowerCase();
    return words.every((word) => lower.includes(word));
  };
}
