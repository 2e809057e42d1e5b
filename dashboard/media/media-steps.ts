/** Media as lists over positions of a run. Pure. */

/** What stands at a position of a run. */
export type Positioned = { readonly step: number | null; readonly epoch: number | null };

/** The step of an item; its epoch where it has no step; 0 where it has neither. */
export function positionOf({ step, epoch }: Positioned): number {
  return step ?? epoch ?? 0;
}

/** All positions of the items, ascending, each once. */
export function positionsOf(items: Iterable<Positioned>): readonly number[] {
  return [...new Set(Array.from(items, positionOf))].toSorted((a, b) => a - b);
}

/**
 * The item at a position, or the nearest one: of two that are equally near the earlier. Of several at one position the last.
 *
 * @param items ascending by position
 * @param position undefined: the last item
 */
export function itemNear<T extends Positioned>(
  items: readonly T[],
  position: number | undefined,
): T | undefined {
  if (position === undefined) return items.at(-1);
  let found: T | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const item of items) {
    const distance = Math.abs(positionOf(item) - position);
    const isAsNear = distance === least && found !== undefined;
    if (distance < least || (isAsNear && positionOf(item) === positionOf(found ?? item)))
      found = item;
    least = Math.min(least, distance);
  }
  return found;
}

/** Some of the items, evenly spread, the first and the last among them. */
export function evenlySpread<T>(items: readonly T[], most: number): readonly T[] {
  if (items.length <= most) return items;
  return Array.from({ length: most }, (_, at) => Math.round((at * (items.length - 1)) / (most - 1)))
    .map((at) => items[at])
    .filter((item) => item !== undefined);
}
