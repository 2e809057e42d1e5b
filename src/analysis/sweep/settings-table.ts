/** The settings of many runs as the columns that a model of a metric learns from. */
import type { JsonObject } from '../../base/json.ts';
import { flatSettings, isSeedPath } from '../compare/config-diff.ts';
import { settingQuantity } from './quantity.ts';

/** A setting as numbers. */
export type SettingColumn = {
  /** The setting, and others that change exactly as it does. */
  readonly paths: readonly [string, ...string[]];
  readonly kind: 'number' | 'category';
  /** Numbers as they are, -Infinity where a run has none; of categories the position among their values. */
  readonly values: Float64Array;
  /** How many different values there are. */
  readonly levelCount: number;
};

/** A share of different values from which on the values of a category are names of runs rather than a choice. */
const NAMES_SHARE = 0.5;

/** Columns of the settings that vary, without seeds; those that cannot say anything are listed apart. */
export function settingColumns(configs: readonly JsonObject[]): {
  readonly columns: readonly SettingColumn[];
  readonly nameLike: readonly string[];
} {
  const runs = configs.map((config) => ({ id: '', config, metricSummaries: {} }));
  const paths = [...new Set(configs.flatMap((config) => [...flatSettings(config).keys()]))];
  const byPattern = new Map<string, SettingColumn>();
  const nameLike: string[] = [];
  for (const path of paths.toSorted()) {
    if (isSeedPath(path)) continue;
    const column = columnOf(path, settingQuantity(runs, path).values);
    if (column.levelCount < 2) continue;
    if (column.kind === 'category' && column.levelCount > Math.max(2, NAMES_SHARE * runs.length)) {
      nameLike.push(path);
      continue;
    }
    const pattern = patternOf(column.values);
    const same = byPattern.get(pattern);
    byPattern.set(pattern, same === undefined ? column : { ...same, paths: [...same.paths, path] });
  }
  return { columns: [...byPattern.values()], nameLike };
}

function columnOf(path: string, values: readonly (number | string | null)[]): SettingColumn {
  const isNumber = values.every((value) => value === null || typeof value === 'number');
  const levels = [...new Set(values)];
  const numbers = values.map((value) => {
    if (!isNumber) return levels.indexOf(value);
    return typeof value === 'number' ? value : Number.NEGATIVE_INFINITY;
  });
  return {
    paths: [path],
    kind: isNumber ? 'number' : 'category',
    values: Float64Array.from(numbers),
    levelCount: levels.length,
  };
}

/** The same text for columns that tell the same runs apart. */
function patternOf(values: Float64Array): string {
  const seen = new Map<number, number>();
  return Array.from(values, (value) => {
    const known = seen.get(value) ?? seen.size;
    seen.set(value, known);
    return known;
  }).join();
}
