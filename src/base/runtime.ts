/** Where this code runs. */

/** Node, and nothing that only looks like it: bundlers' `process` has no versions, Electron's pages are pages. */
export function isNode(): boolean {
  const { process } = globalThis as { process?: { versions?: { node?: unknown }; type?: unknown } };
  return typeof process?.versions?.node === 'string' && process.type !== 'renderer';
}
