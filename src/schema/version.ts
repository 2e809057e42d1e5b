/**
 * The version of the persisted form of all records. It counts up when a stored column changes its name, type, unit or
 * meaning; a new nullable column is no new version, because a column that a segment lacks reads as null.
 */
export const CURRENT_SCHEMA_VERSION = 1;
