/** How often values are there among runs, and means of results by groups of equal values. */
import { RunningMoments } from '../../base/running-moments.ts';
import type { FactValue } from '../../records/shapes/run-condition.ts';
import type {
  AnswerOf,
  FoundGroup,
  GroupValue,
  RunFacet,
  TableQuestion,
} from '../../records/run-question.ts';
import { compareKeys, valuesAt, type RunWithFacts } from './known-run.ts';

type Facets = Extract<TableQuestion, { readonly kind: 'facets' }>;
type Groups = Extract<TableQuestion, { readonly kind: 'groups' }>;

/** How often each value is there. A run with several values of a path counts for each. */
export function facetsOf(
  found: readonly RunWithFacts[],
  { by, limit }: Facets,
): readonly RunFacet[] {
  return by.map((path) => {
    const counts = new Map<FactValue, number>();
    let missing = 0;
    for (const known of found) {
      const values = new Set(valuesAt(known, path).map((value) => value ?? Number.NaN));
      if (values.size === 0) missing++;
      for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
    }
    return facetOf(path, counts, missing, limit);
  });
}

/** A facet of values that are counted. */
export function facetOf(
  path: string,
  counts: ReadonlyMap<FactValue, number>,
  missing: number,
  limit: number,
): RunFacet {
  const values = Array.from(counts, ([value, runs]) => ({ value, runs }));
  values.sort((a, b) => b.runs - a.runs || compareKeys(a.value, b.value));
  return {
    path,
    values: values.slice(0, limit),
    more: Math.max(0, values.length - limit),
    missing,
  };
}

/** Groups of runs with the same values, the largest first. Of several values of a path the first counts. */
export function sumGroups(
  found: readonly RunWithFacts[],
  { by, limit, of }: Groups,
): AnswerOf<'groups'> {
  const groups = new GroupSums(of);
  for (const known of found) {
    const key = by.map((path) => firstOf(known, path));
    groups.add(
      key,
      of.map((path) => numberAt(known, path)),
    );
  }
  return groups.answer(limit);
}

/** Adds runs up by group. */
export class GroupSums {
  readonly #of: readonly string[];
  readonly #groups = new Map<
    string,
    {
      readonly by: readonly (FactValue | null)[];
      runs: number;
      readonly sums: readonly RunningMoments[];
    }
  >();

  constructor(of: readonly string[]) {
    this.#of = of;
  }

  /** @param values of the run; NaN for none */
  add(by: readonly (FactValue | null)[], values: readonly number[]): void {
    const name = JSON.stringify(by.map((value) => [typeof value, String(value)]));
    let group = this.#groups.get(name);
    if (group === undefined) {
      group = { by, runs: 0, sums: this.#of.map(() => new RunningMoments()) };
      this.#groups.set(name, group);
    }
    group.runs++;
    for (const [i, sum] of group.sums.entries()) {
      const value = values[i] ?? Number.NaN;
      if (Number.isFinite(value)) sum.add(value);
    }
  }

  answer(limit: number): AnswerOf<'groups'> {
    const groups = Array.from(this.#groups.values(), ({ by, runs, sums }): FoundGroup => ({
      by,
      runs,
      of: sums.map((sum, i) => groupValue(this.#of[i] ?? '', sum)),
    }));
    return groupsAnswer(groups, limit);
  }
}

/** All groups as an answer, the largest first. */
export function groupsAnswer(groups: readonly FoundGroup[], limit: number): AnswerOf<'groups'> {
  const sorted = groups.toSorted((a, b) => b.runs - a.runs || compareAll(a.by, b.by));
  return { kind: 'groups', groups: sorted.slice(0, limit), total: groups.length };
}

function groupValue(path: string, moments: RunningMoments): GroupValue {
  const { count: runs, max, mean, min, std } = moments;
  if (runs === 0) return { path, runs, mean: null, deviation: null, min: null, max: null };
  const deviation = runs < 2 ? null : std * Math.sqrt(runs / (runs - 1));
  return { path, runs, mean, deviation, min, max };
}

function compareAll(a: readonly (FactValue | null)[], b: readonly (FactValue | null)[]): number {
  for (const [i, value] of a.entries()) {
    const order = compareKeys(value, b[i] ?? null);
    if (order !== 0) return order;
  }
  return 0;
}

function firstOf(known: RunWithFacts, path: string): FactValue | null {
  const [value] = valuesAt(known, path);
  return value === undefined ? null : (value ?? Number.NaN);
}

function numberAt(known: RunWithFacts, path: string): number {
  const [value] = valuesAt(known, path);
  return typeof value === 'number' ? value : Number.NaN;
}
