/** What the curve kernels and their modules in assembly/ have to agree on. */

/** Bytes of what exponential smoothing carries from block to block. */
export const SMOOTH_STATE_BYTES = 64;

/** Sums cannot overflow below this size of values; 2^900. */
export const SMOOTH_LIMIT = 8.452712498170644e270;
