/**
 * The only way to the console outside the command line. For what nobody would hear of otherwise: no error is thrown, and
 * the caller may have given no callback.
 */

/** Writes one line as a warning. */
export function warn(message: string): void {
  // oxlint-disable-next-line no-console
  globalThis.console?.warn(message);
}
