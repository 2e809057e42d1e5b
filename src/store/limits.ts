/** Limits that every store has. */

/** Largest segment a store takes: what every backend can move at once. Larger ones are refused as `too_large`. */
export const MAX_SEGMENT_BYTES: number = 64 * 1024 * 1024;

/** Largest blob a store takes. Larger ones are refused as `too_large`. */
export const MAX_BLOB_BYTES: number = 1024 * 1024 * 1024;

/** Largest blob that a store takes before it returns. */
export const MAX_BLOB_BYTES_NOW: number = 256 * 1024;

/** Runs of {@link Store.listRunChanges} where it is not said from where on. */
export const LATEST_CHANGES = 256;

/** Longest text of a note, in UTF-16 units. U+0000 is not allowed: SQL databases cannot keep it. */
export const MAX_NOTE_CHARS = 4 * 1024 * 1024;
