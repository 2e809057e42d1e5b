/** Rows that are merged at a time: bounds the memory of a merge to about 20 MB, and each of its steps to a few milliseconds. */
export const MERGED_ROWS: number = 1 << 17;
