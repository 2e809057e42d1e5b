/**
 * The only output to the console outside the command line, for problems that are not thrown and that a caller without a callback
 * would miss.
 */

/** Writes one line as a warning. */
export function warn(message: string): void {
  // oxlint-disable-next-line no-console
  globalThis.console?.warn(message);
}
