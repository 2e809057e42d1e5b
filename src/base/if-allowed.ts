/**
 * What the browser offers, where it lets this page have it. Pages in a sandbox, and pages of sites that may store nothing,
 * get a `SecurityError` from merely asking.
 */
export function ifAllowed<T>(ask: () => T): T | undefined {
  try {
    return ask();
  } catch {
    return undefined;
  }
}
