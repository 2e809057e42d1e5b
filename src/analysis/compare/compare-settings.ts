/** Configurations, or any other JSON, of many runs side by side: a row for each path. */
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { canonicalText, flatSettings } from './config-diff.ts';

/** One setting of several runs. */
export type SettingRow = {
  /** Names joined by ".". */
  readonly path: string;
  /** In the order of the runs; undefined where a run has no such setting. */
  readonly values: readonly (JsonValue | undefined)[];
  /** Whether not all runs have the same value. */
  readonly isDifferent: boolean;
};

/**
 * The settings of several runs side by side, by path in alphabetical order; undefined where a run has no such setting.
 *
 * @example
 * ```js
 * import { compareSettings } from 'quark-sdk/analysis';
 *
 * const rows = compareSettings([{ optimizer: { lr: 0.1 }, seed: 1 }, { optimizer: { lr: 0.1, decay: 0.9 }, seed: 2 }]);
 * for (const { path, values, isDifferent } of rows) if (isDifferent) console.log(path, values);
 * // optimizer.decay [ undefined, 0.9 ], then seed [ 1, 2 ]
 * ```
 */
export function compareSettings(configs: readonly JsonObject[]): readonly SettingRow[] {
  const flat = configs.map(flatSettings);
  const paths = new Set(flat.flatMap((settings) => [...settings.keys()]));
  return [...paths].toSorted().map((path) => {
    const values = flat.map((settings) => settings.get(path));
    return { path, values, isDifferent: new Set(values.map(canonicalText)).size > 1 };
  });
}
