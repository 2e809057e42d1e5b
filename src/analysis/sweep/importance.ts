/** Which settings a metric depends on, over many runs. */
import { checkCount, checkOptionNames } from '../../base/assert.ts';
import { Breather } from '../../base/breather.ts';
import { invalidInput } from '../../base/errors.ts';
import type { JsonObject } from '../../base/json.ts';

import { holm, studentQuantile } from '../signals/student-t.ts';
import { Forest, shuffle } from './forest.ts';
import { correlation, ranksOf, shareBetween } from './ranks.ts';
import { randomFrom } from './random.ts';
import { settingColumns, type SettingColumn } from './settings-table.ts';

/**
 * How importance was measured. `forest`: permutation importance in a random forest. `ranks`: the share of the variance of ranks that goes with
 * one setting alone. `none`: not at all.
 */
export const IMPORTANCE_METHODS = ['forest', 'ranks', 'none'] as const;

/** One of {@link IMPORTANCE_METHODS}. */
export type ImportanceMethod = (typeof IMPORTANCE_METHODS)[number];

/** A setting and how far a metric depends on it. */
export type SettingImportance = {
  readonly path: string;
  /** Settings that change exactly as this one does, and cannot be told from it. */
  readonly sameAs: readonly string[];
  readonly kind: 'number' | 'category';
  /** How many different values there are. */
  readonly levelCount: number;
  /** The share of the variance of the ranks of the metric that the setting accounts for: 0 for none; 1 and above for all of it. */
  readonly importance: number;
  /** Ends of its 95 % interval. */
  readonly low: number;
  readonly high: number;
  /** Spearman's rank correlation with the metric; null for categories. */
  readonly rankCorrelation: number | null;
  /** How often chance does as well, corrected for the number of settings (Holm 1979); null for the forest. */
  readonly adjustedPValue: number | null;
};

/** Which settings a metric depends on. */
export type ConfigImportance = {
  readonly method: ImportanceMethod;
  /** Why nothing was measured, in a sentence; null where it was. */
  readonly reason: string | null;
  /** How many runs were measured, and how many were left out because they have no finite value. */
  readonly runCount: number;
  readonly leftOutCount: number;
  /** The share of the variance of ranks that the forest predicts for runs it has not seen; null for other methods. */
  readonly explained: number | null;
  /** The most important setting first. */
  readonly settings: readonly SettingImportance[];
  /** What to keep in mind, in sentences. */
  readonly notes: readonly string[];
};

/** A run and where it arrived. */
export type MeasuredRun = {
  readonly config: JsonObject;
  /** The value of the metric; null for none. */
  readonly value: number | null;
};

/** Options of {@link configImportance}. */
export type ConfigImportanceOptions = {
  /** What random numbers follow from: the same seed gives the same result. Default 1. */
  readonly seed?: number;
};

/** Below this number of runs nothing is said. */
export const MIN_IMPORTANCE_RUNS: number = 8;
/** From this number of runs on a forest has enough to learn from. */
const FOREST_RUNS = 24;
/** Settings that are measured; of more, those with the fewest values. */
const MAX_SETTINGS = 64;
const TREES = 200;
const HALVES = 40;
const TREES_OF_HALF = 25;
const SHUFFLES = 2000;
const CONFIDENCE = 0.95;

/**
 * Measures which settings a metric depends on. The metric counts by its rank among the runs: a run that diverged is the worst one, however
 * far. Seeds are left out. With 24 runs and more it is the permutation importance in a random forest (Breiman 2001), measured by the runs
 * that a tree has not seen, with an interval from random halves of the runs (Politis and Romano 1994); it sees settings that matter only
 * together. With 8 to 23 runs it is the adjusted share of the variance of ranks that goes with each setting alone (of Kruskal and Wallis for
 * categories and settings with few values, of Spearman for others), with a jackknife interval and a test by shuffling. Below 8 nothing is said.
 *
 * @throws {QuarkError} `invalid_input` naming the option
 * @example
 * ```js
 * import { configImportance } from 'quark-sdk/analysis';
 *
 * const runs = Array.from({ length: 30 }, (_, i) => {
 *   const config = { lr: 0.01 * (1 + (i % 6)), batchSize: [16, 32, 64][i % 3], seed: i };
 *   return { config, value: config.lr + 0.0001 * i };
 * });
 * const { method, settings } = await configImportance(runs);
 * console.log(method, settings.map(({ path, importance }) => `${path} ${importance.toFixed(1)}`));
 * ```
 */
export async function configImportance(
  runs: readonly MeasuredRun[],
  options: ConfigImportanceOptions = {},
): Promise<ConfigImportance> {
  checkOptionNames('options', options, ['seed']);
  const seed = checkCount('seed', options.seed ?? 1);
  for (const [i, { value }] of runs.entries())
    if (value !== null && typeof value !== 'number')
      throw invalidInput(`runs[${i}].value`, value, 'a number or null');
  const known = runs.flatMap(({ config, value }) =>
    value !== null && Number.isFinite(value) ? [{ config, value }] : [],
  );
  const counts = { runCount: known.length, leftOutCount: runs.length - known.length };
  const { columns: all, nameLike } = settingColumns(known.map(({ config }) => config));
  const columns = all.toSorted((a, b) => a.levelCount - b.levelCount).slice(0, MAX_SETTINGS);
  const ranks = ranksOf(known.map(({ value }) => value));
  const reason = silenceReason(known.length, columns.length, ranks);
  if (reason !== null)
    return { method: 'none', reason, ...counts, explained: null, settings: [], notes: [] };
  const random = randomFrom(seed);
  const isForest = known.length >= FOREST_RUNS;
  const measured = isForest
    ? await byForest(columns, ranks, random)
    : await byRanks(columns, ranks, random);
  return {
    method: isForest ? 'forest' : 'ranks',
    reason: null,
    ...counts,
    explained: measured.explained,
    settings: measured.settings.toSorted((a, b) => b.importance - a.importance),
    notes: notesOn(measured, nameLike, all.length - columns.length),
  };
}

function silenceReason(count: number, columnCount: number, ranks: Float64Array): string | null {
  if (count < MIN_IMPORTANCE_RUNS)
    return `${count} ${count === 1 ? 'run has' : 'runs have'} this metric; below ${MIN_IMPORTANCE_RUNS} nothing can be told from chance.`;
  if (columnCount === 0) return 'No setting but seeds differs between the runs.';
  if (ranks.every((rank) => rank === ranks[0])) return 'All runs have the same value.';
  return null;
}

type Measured = {
  readonly explained: number | null;
  readonly settings: readonly SettingImportance[];
};

async function byForest(
  columns: readonly SettingColumn[],
  ranks: Float64Array,
  random: () => number,
): Promise<Measured> {
  const rows = [...ranks.keys()];
  const breather = new Breather();
  const grown = async (own: readonly number[], treeCount: number): Promise<Forest> => {
    const forest = new Forest(columns, ranks, own, random);
    for (let i = 0; i < treeCount; i += 1) {
      forest.grow();
      await breather.breathe();
    }
    return forest;
  };
  const { explained, importances } = await grown(rows, TREES);
  const halves: (readonly number[])[] = [];
  for (let i = 0; i < HALVES; i += 1) {
    const half = shuffle(rows, random).slice(0, Math.ceil(rows.length / 2));
    halves.push((await grown(half, TREES_OF_HALF)).importances);
  }
  const settings = columns.map((column, at) => {
    const importance = importances[at] ?? 0;
    // Halves drawn without replacement vary about their mean as all runs do about what holds for any runs.
    const own = halves.map((half) => half[at] ?? 0).toSorted((a, b) => a - b);
    const mean = own.reduce((sum, value) => sum + value / own.length, 0);
    const end = (share: number): number =>
      importance + (own[Math.round(share * (own.length - 1))] ?? mean) - mean;
    return settingOf(column, ranks, {
      importance,
      low: Math.min(importance, end((1 - CONFIDENCE) / 2)),
      high: Math.max(importance, end((1 + CONFIDENCE) / 2)),
      adjustedPValue: null,
    });
  });
  return { explained, settings };
}

async function byRanks(
  columns: readonly SettingColumn[],
  ranks: Float64Array,
  random: () => number,
): Promise<Measured> {
  const breather = new Breather();
  const found = [];
  for (const column of columns) {
    const share = associationOf(column, ranks.length);
    const importance = share(column.values, ranks);
    let asGood = 0;
    for (let i = 0; i < SHUFFLES; i += 1) {
      const shuffled = Float64Array.from(shuffle([...ranks], random));
      if (share(column.values, shuffled) >= importance - 1e-12) asGood += 1;
    }
    // The order that was found is one of those that chance could have made (Phipson and Smyth 2010).
    const pValue = (asGood + 1) / (SHUFFLES + 1);
    found.push({ column, importance, pValue, half: jackknifeHalf(column, ranks) });
    await breather.breathe();
  }
  const adjusted = holm(found.map(({ pValue }) => pValue));
  const settings = found.map(({ column, half, importance }, at) =>
    settingOf(column, ranks, {
      importance,
      low: Math.max(0, importance - half),
      high: Math.min(1, importance + half),
      adjustedPValue: adjusted[at] ?? 1,
    }),
  );
  return { explained: null, settings };
}

type Share = (values: ArrayLike<number>, ranks: ArrayLike<number>) => number;

/** The share of the variance of ranks that goes with a setting, less what chance would give (Ezekiel 1930); 0 at least. */
function associationOf({ kind, levelCount }: SettingColumn, count: number): Share {
  const isRepeated = kind === 'category' || levelCount <= count / 3;
  const freedom = isRepeated ? levelCount - 1 : 1;
  return (values, ranks) => {
    const share = isRepeated
      ? shareBetween(values, ranks)
      : correlation(ranksOf(Array.from(values)), ranks) ** 2;
    const rest = ranks.length - freedom - 1;
    return rest <= 0 ? 0 : Math.max(0, 1 - ((1 - share) * (ranks.length - 1)) / rest);
  };
}

/** Half of the 95 % interval by leaving out one run at a time (Tukey 1958). */
function jackknifeHalf(column: SettingColumn, ranks: Float64Array): number {
  const count = ranks.length;
  const share = associationOf(column, count);
  const without = Array.from(ranks.keys(), (left) => {
    const others = [...ranks.keys()].filter((row) => row !== left);
    return share(
      others.map((row) => column.values[row] ?? 0),
      ranksOf(others.map((row) => ranks[row] ?? 0)),
    );
  });
  const mean = without.reduce((sum, value) => sum + value / count, 0);
  const square = without.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return studentQuantile(CONFIDENCE, count - 1) * Math.sqrt(((count - 1) / count) * square);
}

function settingOf(
  { kind, levelCount, paths: [path, ...sameAs], values }: SettingColumn,
  ranks: Float64Array,
  measured: Pick<SettingImportance, 'importance' | 'low' | 'high' | 'adjustedPValue'>,
): SettingImportance {
  const rankCorrelation =
    kind === 'number' ? correlation(ranksOf(Array.from(values)), ranks) : null;
  return { path, sameAs, kind, levelCount, ...measured, rankCorrelation };
}

/** A forest that explains less than this has learned next to nothing. */
const WEAK = 0.1;

function notesOn(
  { explained, settings }: Measured,
  nameLike: readonly string[],
  cutCount: number,
): readonly string[] {
  const notes: string[] = [];
  if (explained !== null && explained < WEAK)
    notes.push(
      'The settings hardly predict the metric: importances of such a forest say little, whatever their order.',
    );
  for (const { path, sameAs } of settings)
    if (sameAs.length > 0)
      notes.push(
        `${path} and ${sameAs.join(', ')} change together: which of them matters cannot be told.`,
      );
  if (nameLike.length > 0)
    notes.push(
      `Left out, as nearly every run has another value: ${nameLike.slice(0, 5).join(', ')}${nameLike.length > 5 ? ` and ${nameLike.length - 5} more` : ''}.`,
    );
  if (cutCount > 0)
    notes.push(
      `Only the ${MAX_SETTINGS} settings with the fewest values were measured; ${cutCount} were not.`,
    );
  return notes;
}
