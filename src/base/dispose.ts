/// <reference lib="esnext.disposable" preserve="true" />
/**
 * `Symbol.asyncDispose`, also where the engine does not have it yet (Safari). The fallback is the symbol that
 * TypeScript's and esbuild's helpers look for.
 */
export const ASYNC_DISPOSE: typeof Symbol.asyncDispose =
  Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose');

/** The same for `Symbol.dispose`. */
export const DISPOSE: typeof Symbol.dispose = Symbol.dispose ?? Symbol.for('Symbol.dispose');
