/**
 * Ranges of batches: how the identities of merged segments stay known without a line for each, and the rule a merge
 * follows so that no batch gets lost or counts as one that was appended.
 */
import { invalidInput } from '../base/errors.ts';
import type { BatchRange, MergedSegment, SegmentIdentity, SegmentManifest } from './store.ts';

type BatchName = Pick<SegmentIdentity, 'writerId' | 'batchNumber'>;

/** The text that stands for a batch within its table. */
export function batchName({ writerId, batchNumber }: BatchName): string {
  return `${writerId}/${batchNumber}`;
}

/** The same batches in the fewest ranges, ordered by writer, then batch. */
export function coalesceRanges(ranges: Iterable<BatchRange>): readonly BatchRange[] {
  const sorted = [...ranges].sort(compareRanges);
  const joined: BatchRange[] = [];
  for (const range of sorted) {
    const last = joined.at(-1);
    if (
      last === undefined ||
      last.writerId !== range.writerId ||
      range.batchStart > last.batchLast + 1
    ) {
      joined.push({
        writerId: range.writerId,
        batchStart: range.batchStart,
        batchLast: range.batchLast,
      });
    } else if (range.batchLast > last.batchLast) {
      joined[joined.length - 1] = { ...last, batchLast: range.batchLast };
    }
  }
  return joined;
}

/** Whether one of the ranges holds the batch. */
export function rangesContain(ranges: readonly BatchRange[], batch: BatchName): boolean {
  return ranges.some(
    (range) =>
      range.writerId === batch.writerId &&
      range.batchStart <= batch.batchNumber &&
      range.batchLast >= batch.batchNumber,
  );
}

/** The batches of `ranges` that are in none of `others`, in the fewest ranges. */
export function rangesWithout(
  ranges: Iterable<BatchRange>,
  others: Iterable<BatchRange>,
): readonly BatchRange[] {
  const taken = coalesceRanges(others);
  return coalesceRanges(ranges).flatMap((range) => {
    const rest: BatchRange[] = [];
    let { batchStart } = range;
    for (const one of taken) {
      const isApart =
        one.writerId !== range.writerId ||
        one.batchLast < batchStart ||
        one.batchStart > range.batchLast;
      if (isApart) continue;
      if (one.batchStart > batchStart)
        rest.push({ ...range, batchStart, batchLast: one.batchStart - 1 });
      batchStart = one.batchLast + 1;
    }
    return batchStart > range.batchLast ? rest : [...rest, { ...range, batchStart }];
  });
}

/** The batches a segment stands for: its sources, or itself as written. */
export function batchesOf(
  segment: BatchName & Pick<SegmentManifest, 'sources'>,
): readonly BatchRange[] {
  return segment.sources.length > 0 ? segment.sources : [ownRange(segment)];
}

/** What an exchange has to know of a segment that it takes away. */
export type ExchangedSegment = BatchName & Pick<SegmentManifest, 'sources' | 'superseded'>;

/**
 * Checks that `add` accounts for exactly the batches of `removed`, and that what is superseded is replaced by what is superseded.
 * Returns those batches, coalesced: what has to stay known.
 *
 * @throws {QuarkError} `invalid_input`
 */
export function checkMergeSources(
  removed: readonly ExchangedSegment[],
  add: readonly MergedSegment[],
): readonly BatchRange[] {
  for (const isApart of [true, false]) {
    const replaced = removed.filter(({ superseded = false }) => superseded !== isApart);
    const from = coalesceRanges(replaced.flatMap(batchesOf));
    const mixed = add
      .filter(({ manifest: { superseded = false } }) => superseded === isApart)
      .find(({ manifest }) =>
        batchesOf(manifest).some((range) => from.some((other) => overlap(range, other))),
      );
    if (mixed === undefined) continue;
    const rule = `made of segments that are${isApart ? '' : ' not'} superseded`;
    throw invalidInput('add', batchName(mixed.manifest), rule);
  }
  const needed = coalesceRanges(removed.flatMap(batchesOf));
  const allowed = coalesceRanges([...needed, ...removed.map(ownRange)]);
  const given = coalesceRanges(add.flatMap((segment) => batchesOf(segment.manifest)));
  const lost = needed.find((range) => !isWithin(range, given));
  if (lost !== undefined) {
    throw invalidInput(
      'sources',
      nameOf(lost),
      'every batch of the removed segments; this range is left out',
    );
  }
  const foreign = given.find((range) => !isWithin(range, allowed));
  if (foreign !== undefined) {
    throw invalidInput(
      'sources',
      nameOf(foreign),
      'batches of the removed segments only; this range holds others',
    );
  }
  return needed;
}

function overlap(a: BatchRange, b: BatchRange): boolean {
  return a.writerId === b.writerId && a.batchStart <= b.batchLast && b.batchStart <= a.batchLast;
}

function ownRange(batch: BatchName): BatchRange {
  return { writerId: batch.writerId, batchStart: batch.batchNumber, batchLast: batch.batchNumber };
}

/** Whether a range lies in one of the coalesced ones. */
export function isWithin(range: BatchRange, coalesced: readonly BatchRange[]): boolean {
  return coalesced.some(
    (other) =>
      other.writerId === range.writerId &&
      other.batchStart <= range.batchStart &&
      other.batchLast >= range.batchLast,
  );
}

function compareRanges(a: BatchRange, b: BatchRange): number {
  if (a.writerId !== b.writerId) return a.writerId < b.writerId ? -1 : 1;
  return a.batchStart - b.batchStart;
}

function nameOf(range: BatchRange): string {
  return `${range.writerId}/${range.batchStart}-${range.batchLast}`;
}
