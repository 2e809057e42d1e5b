/**
 * The version of the persisted form of all records. It counts up when a stored column changes its name, type, unit or
 * meaning; a new nullable column is no new version, because a column that a segment lacks reads as null.
 */
export const CURRENT_SCHEMA_VERSION = 2;

/** The version in which the form of a table was changed last, where that is not 1. */
const CHANGED_IN: Readonly<Record<string, number>> = {
  // A score may be null, with the status `not_assessed`.
  health_scores: 2,
};

/**
 * The version that segments of a table are written with: that of the last change of this table, so that a change of one
 * leaves the others as they are, for older readers as well.
 */
export function schemaVersionOf(table: string): number {
  return CHANGED_IN[table] ?? 1;
}
