/** Which runs are picked: by one, by a range, all of a filter. */

/** Picked runs, and where a range begins. */
export type PickedRuns = {
  readonly ids: ReadonlySet<string>;
  /** The run that was picked, or unpicked, last. */
  readonly anchor: string | undefined;
};

/** Nothing is picked. */
export const NO_SELECTION: PickedRuns = { ids: new Set(), anchor: undefined };

/** Picks a run, or no longer. A range begins here. */
export function toggledRun({ ids }: PickedRuns, id: string): PickedRuns {
  const next = new Set(ids);
  if (!next.delete(id)) next.add(id);
  return { ids: next, anchor: id };
}

/**
 * Picks all runs from the anchor to this one, or unpicks them where the anchor is not picked.
 *
 * @param between ids from the anchor to the run, in either order, both included
 */
export function withRange(
  { ids, anchor }: PickedRuns,
  id: string,
  between: readonly string[],
): PickedRuns {
  const next = new Set(ids);
  const isPicking = anchor === undefined || ids.has(anchor);
  for (const one of between) {
    if (isPicking) next.add(one);
    else next.delete(one);
  }
  return { ids: next, anchor: id };
}

/** Picks these, too. */
export function withAll({ ids, anchor }: PickedRuns, more: Iterable<string>): PickedRuns {
  return { ids: new Set([...ids, ...more]), anchor };
}

/** Unpicks these. */
export function without({ ids, anchor }: PickedRuns, fewer: Iterable<string>): PickedRuns {
  const next = new Set(ids);
  for (const id of fewer) next.delete(id);
  return { ids: next, anchor };
}
