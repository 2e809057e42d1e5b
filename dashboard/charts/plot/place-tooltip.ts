/** Where a tooltip is put: beside the pointer, where it covers as little of the curves as it can. */

/** A point in pixels. */
export type Spot = { readonly left: number; readonly top: number };

/** What decides where a tooltip goes, in pixels of the chart. */
export type TooltipRoom = {
  readonly pointer: Spot;
  readonly width: number;
  readonly height: number;
  /** Where it may be: what is seen of the page. */
  readonly bounds: {
    readonly left: number;
    readonly top: number;
    readonly right: number;
    readonly bottom: number;
  };
  /** Points of the curves around the pointer. */
  readonly curves: readonly Spot[];
  /** Where it was before, so that it does not jump between two positions that are equally good. */
  readonly before?: Spot | undefined;
};

/** Between pointer and tooltip. */
const GAP_PX = 14;
/** What it costs to cover the line of the pointer, where the values are that the tooltip tells. */
const POINTER_COST = 1000;
/** What it costs to go elsewhere than before. */
const JUMP_COST = 2;

/** The upper left corner of the tooltip. */
export function placeTooltip(room: TooltipRoom): Spot {
  const { bounds, height, pointer, width } = room;
  const lefts = [pointer.left + GAP_PX, pointer.left - GAP_PX - width];
  const tops = [pointer.top - height / 2, pointer.top - height - GAP_PX, pointer.top + GAP_PX];
  const spots = tops.flatMap((top) =>
    lefts.map((left): Spot => ({
      left: Math.max(bounds.left, Math.min(left, bounds.right - width)),
      top: Math.max(bounds.top, Math.min(top, bounds.bottom - height)),
    })),
  );
  let best = spots[0] ?? pointer;
  let least = Number.POSITIVE_INFINITY;
  for (const spot of spots) {
    const cost = costOf(room, spot);
    if (cost >= least) continue;
    least = cost;
    best = spot;
  }
  return best;
}

function costOf({ before, curves, height, pointer, width }: TooltipRoom, spot: Spot): number {
  const covers = ({ left, top }: Spot): boolean =>
    left >= spot.left && left <= spot.left + width && top >= spot.top && top <= spot.top + height;
  const coversLine = pointer.left >= spot.left && pointer.left <= spot.left + width;
  const isSameSide =
    before === undefined || before.left < pointer.left === spot.left < pointer.left;
  return (
    curves.filter(covers).length +
    (coversLine ? POINTER_COST : 0) +
    (isSameSide ? 0 : JUMP_COST) +
    Math.abs(spot.top + height / 2 - pointer.top) / (100 * height)
  );
}
