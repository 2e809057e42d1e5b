/**
 * What people have: logs and files as programs write them, made here, with what must arrive of them. `test/unit/import/collection.test.ts`
 * imports each and analyses what came of it.
 */
import type { Files } from '../support/mutations.ts';

/** One log, or several files that belong together. */
export type CollectionEntry = {
  /** Unique, for people: `xgboost: train with two evaluation sets, early stopping`. */
  readonly name: string;
  /** The importer that has to claim it. */
  readonly format: string;
  make(): Files | Promise<Files>;
  /** Runs that it becomes; default 1. */
  readonly runs?: number;
  /** Metrics with at least one value, over all runs. */
  readonly series: number;
  /** Metric samples, over all runs. */
  readonly values: number;
  /** The last value of metrics of the last run, by key. */
  readonly last?: Readonly<Record<string, number>>;
  /** The step of the last value of metrics of the last run, by key; its epoch where it has no step. */
  readonly at?: Readonly<Record<string, number>>;
  /** What the problems say, one each; default: there are none. */
  readonly problems?: readonly (string | RegExp)[];
  /** What the analysis of the last run says: whole lines of what `judge` makes in that test, or patterns for any part of it. */
  readonly says: readonly (string | RegExp)[];
  /** What it must not say. */
  readonly saysNot?: readonly (string | RegExp)[];
};

/** Entries of one format: what they share is said once. */
export function entriesOf(
  format: string,
  entries: readonly Omit<CollectionEntry, 'format'>[],
): readonly CollectionEntry[] {
  return entries.map((entry) => ({ ...entry, name: `${format}: ${entry.name}`, format }));
}
