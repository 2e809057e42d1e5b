/** Rows that are merged at a time: bounds the memory of a merge to about 20 MB, and each of its steps to a few milliseconds. */
export const MERGED_ROWS: number = 1 << 17;
/** Segments that are merged at a time, however few rows they have: they are exchanged in one transaction, at some 10 µs each. */
export const MERGED_SEGMENTS: number = 1 << 9;
