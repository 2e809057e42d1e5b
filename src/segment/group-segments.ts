/** Segments in the groups that are worked on at a time: bounds memory. */
import type { SegmentManifest } from '../store/store.ts';

/** What a group may hold; each bound is optional. */
export type GroupBounds = {
  readonly segments?: number;
  readonly rows?: number;
  /** Bytes as stored. */
  readonly bytes?: number;
};

/** Groups of neighbours within the bounds, in order. A segment beyond a bound is a group by itself. */
export function groupSegments(
  manifests: readonly SegmentManifest[],
  bounds: GroupBounds,
): SegmentManifest[][] {
  const {
    segments = Number.POSITIVE_INFINITY,
    rows: maxRows = Number.POSITIVE_INFINITY,
    bytes: maxBytes = Number.POSITIVE_INFINITY,
  } = bounds;
  const groups: SegmentManifest[][] = [];
  let group: SegmentManifest[] = [];
  let rows = 0;
  let bytes = 0;
  for (const manifest of manifests) {
    const { rowCount, sizeBytes } = manifest;
    if (
      group.length > 0 &&
      (group.length >= segments || rows + rowCount > maxRows || bytes + sizeBytes > maxBytes)
    ) {
      groups.push(group);
      group = [];
      rows = 0;
      bytes = 0;
    }
    group.push(manifest);
    rows += rowCount;
    bytes += sizeBytes;
  }
  if (group.length > 0) groups.push(group);
  return groups;
}
