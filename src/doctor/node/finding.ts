/** What a doctor finds. */

/**
 * - `error`: something that was acknowledged cannot be read, or is read wrongly.
 * - `warning`: nothing is lost, and something will go wrong, or already costs.
 * - `note`: worth knowing; a healthy store may have it.
 */
export const FINDING_SEVERITIES = ['error', 'warning', 'note'] as const;

/** One of {@link FINDING_SEVERITIES}. */
export type FindingSeverity = (typeof FINDING_SEVERITIES)[number];

/** What can be repaired without guessing, by the name of the repair. */
export const REPAIRS = [
  'rebuild_indexes',
  'rebuild_tags',
  'rebuild_facts',
  'raise_sequence',
  'remove_lapsed_leases',
  'recount_usage',
  'adopt_blob',
  'remove_leftovers',
  'remove_sketch',
  'remove_document_leftover',
  'quarantine_segment',
  'remove_loose_objects',
] as const;

/** One of {@link REPAIRS}. `quarantine_segment` and `remove_loose_objects` are done only where they are asked for. */
export type Repair = (typeof REPAIRS)[number];

/** One thing that is wrong, or worth knowing. */
export type DoctorFinding = {
  readonly severity: FindingSeverity;
  /** The kind of finding, in words that do not change: `segment_damaged`, `disk_full`, ... */
  readonly code: string;
  /** The run, table, segment, file or address that it is about. */
  readonly where: string;
  /** What is wrong, as a sentence. */
  readonly message: string;
  /** What to do, as a sentence. */
  readonly advice: string;
  /** The repair that removes it, if there is one. */
  readonly repair?: Repair;
  /** What the repair is about, in its own names. */
  readonly target?: readonly (string | number)[];
};

/** Collects findings. */
export type Report = (finding: DoctorFinding) => void;
