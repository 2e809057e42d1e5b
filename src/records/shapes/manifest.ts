/** What a store and its readers know of a segment without opening it. */
import { invalidInput } from '../../base/errors.ts';
import { checkId, checkTable } from '../../base/names.ts';
import {
  checkShape,
  count,
  defineShape,
  list,
  literal,
  nullable,
  number,
  optional,
  text,
  texts,
  trueOrFalse,
  withoutFields,
  type Field,
  type Shape,
  type ValuesOf,
} from '../../schema/shape.ts';

const rangeFields = {
  writerId: text({ check: checkId }),
  batchStart: count(),
  batchLast: count(),
};

/** A range of batches of one writer. */
export const batchRangeShape: Shape<typeof rangeFields> = defineShape('range', rangeFields);

/** A range of batches of one writer; both ends are inclusive. */
export type BatchRange = ValuesOf<typeof rangeFields>;

const identityFields = {
  runId: text({ check: checkId }),
  /** Table name: `metrics`, `events`, ... */
  table: text({ check: (_, value) => checkTable(value) }),
  writerId: text({ check: checkId }),
  /** Counts up from 0 for each writer and table. */
  batchNumber: count({ doc: 'Counts up from 0 for each writer and table.' }),
};

/** What identifies a segment: one batch of one writer in one table of one run. */
export type SegmentIdentity = ValuesOf<typeof identityFields>;

/** The text that stands for an identity in messages, keys and seeds. */
export function segmentName(identity: SegmentIdentity): string {
  return `${identity.runId}/${identity.table}/${identity.writerId}/${identity.batchNumber}`;
}

/** How the bytes of a segment are written down: plain Arrow IPC stream, or the packed form of merged segments. */
export const SEGMENT_ENCODINGS = ['arrow', 'packed'] as const;
/** One of {@link SEGMENT_ENCODINGS}. */
export type SegmentEncoding = (typeof SEGMENT_ENCODINGS)[number];

const fields = {
  ...identityFields,
  /** 0 only where all rows that the segment stands for were deleted. */
  rowCount: count({ doc: '0 only where all rows that the segment stands for were deleted.' }),
  /** Sequence number of the first row; assigned by the store when the segment is appended. */
  firstSequence: count(),
  /** Sequence number of the last row. Rows of a merged segment need not be contiguous; their bytes carry the numbers. */
  lastSequence: count(),
  /** Smallest step of the rows that have one; null when no row has. Steps, epochs and times alike. */
  stepMin: nullable(number()),
  stepMax: nullable(number()),
  epochMin: nullable(number()),
  epochMax: nullable(number()),
  /** UTC epoch milliseconds. */
  timeMinMs: nullable(number()),
  timeMaxMs: nullable(number()),
  /** Every key (metric key, event type, module name) in the segment, or null when there are too many to list. */
  keys: nullable(texts({ doc: 'Every key in the segment; null when there are too many to list.' })),
  /** Version of the table's declaration the bytes were written with. */
  schemaVersion: count(),
  encoding: literal(SEGMENT_ENCODINGS),
  sizeBytes: count(),
  /** XXH32 of the bytes, seeded with XXH32 of the identity: see `segment/checksum.ts`. */
  checksum: count({
    max: 2 ** 32 - 1,
    doc: 'XXH32 of the bytes, seeded with XXH32 of run/table/writer/batch.',
  }),
  /**
   * Generation of the run under which the rows were recorded. A stored segment without one belongs to the first; for a segment that
   * is appended without one, the generation that the run has then.
   */
  generation: optional(
    count({
      min: 1,
      doc: 'Generation of the run under which the rows were recorded; 1 unless given.',
    }),
  ),
  /** True for rows that arrived after another session had taken over their run: the default listing leaves them out. The store sets it. */
  superseded: optional(
    trueOrFalse({
      doc: 'The rows arrived after another session had taken over the run. The store sets it.',
    }),
  ),
  /** Rows of its batches that were deleted: they are not in the segment, and sending the batches again does not bring them back. */
  droppedRows: optional(count({ min: 1, doc: 'Rows of its batches that were deleted.' })),
  /** Of its rows, at most so many of each metric were left when they were downsampled, the last time at `downsampledAtMs`; absent where they never were. */
  downsampledTo: optional(
    count({
      min: 1,
      doc: 'Rows of a metric left when downsampled.',
    }),
  ),
  /** UTC epoch milliseconds. */
  downsampledAtMs: optional(count({ doc: 'UTC epoch milliseconds.' })),
  /** Batches this segment took the place of when it was made by a merge; empty for a segment as written. */
  sources: list(batchRangeShape, 'BatchRange', { check: checkRanges }),
};

/** A segment as a store lists it. A new field is one line above, and a step in `store/sql/sql-layout.ts`. */
export const manifestShape: Shape<typeof fields> = defineShape('manifest', fields);

/** What a store and its readers know of a segment without opening it. */
export type SegmentManifest = ValuesOf<typeof fields>;

/** A manifest before a store has given its rows sequence numbers. */
export const newManifestShape: Shape<Omit<typeof fields, 'firstSequence' | 'lastSequence'>> =
  withoutFields(manifestShape, 'firstSequence', 'lastSequence');

/** The smallest and the largest value of a column, by the fields of a manifest that have them. */
export const MANIFEST_BOUNDS = [
  { column: 'step', min: 'stepMin', max: 'stepMax' },
  { column: 'epoch', min: 'epochMin', max: 'epochMax' },
  { column: 'timestamp', min: 'timeMinMs', max: 'timeMaxMs' },
] as const;

/** What identifies a segment. */
export const identityShape: Shape<typeof identityFields> = defineShape('segment', identityFields);

const referenceFields = { ...identityFields, checksum: optional(count()) };

/** A segment as its reader knows it. */
export const referenceShape: Shape<typeof referenceFields> = defineShape(
  'segment',
  referenceFields,
);

/**
 * A segment as somebody saw it. With the checksum it means exactly those bytes: a merged segment that has taken the
 * same identity since then is another one. A {@link SegmentManifest} is such a reference.
 */
export type SegmentReference = ValuesOf<typeof referenceFields>;

const filterFields = {
  runId: identityFields.runId,
  table: identityFields.table,
  /** Only segments with a row at or after this sequence number: what a live reader asks for. */
  sequenceMin: optional(bound()),
  stepMin: optional(bound()),
  stepMax: optional(bound()),
  epochMin: optional(bound()),
  epochMax: optional(bound()),
  /** Only segments that have one of these keys, or whose keys are not listed. */
  keys: optional(texts()),
  /** True: superseded segments are listed, too. */
  superseded: optional(trueOrFalse()),
  /** True: segments all of whose rows were deleted are listed, too. */
  empty: optional(trueOrFalse()),
};

/** Which segments of a table to list. */
export const segmentFilterShape: Shape<typeof filterFields> = defineShape('filter', filterFields);

/**
 * Which segments of a table to list. All conditions are joined by "and"; ranges are inclusive. A segment none of whose
 * rows has a step (an epoch) is left out when steps (epochs) are asked for; superseded segments are left out unless they are asked for.
 */
export type SegmentFilter = ValuesOf<typeof filterFields>;

function bound(): Field<number> {
  return number({
    check: (field, value) => {
      if (typeof value !== 'number' || Number.isNaN(value))
        throw invalidInput(field, value, 'a number');
      return value;
    },
  });
}

function checkRanges(field: string, value: unknown): readonly BatchRange[] {
  if (!Array.isArray(value)) throw invalidInput(field, value, 'a list of ranges of batches');
  const ranges: readonly BatchRange[] = value;
  for (const range of ranges) {
    checkShape(batchRangeShape, range);
    if (range.batchLast < range.batchStart)
      throw invalidInput('batchLast', range.batchLast, 'at or after batchStart');
  }
  return ranges;
}
