/** Drivers of databases, which bundlers leave alone: they load native code by a name that is made while the program runs. */
import { join } from 'node:path';

/**
 * Loads a driver by `load`, else by `require` as seen from the bundle or the working folder. A bundle may hold a copy that cannot find its
 * native code, or no way to load anything by name.
 *
 * @param load gives what `require` gives: the default export
 * @throws what `load` throws, where the driver is nowhere
 */
export async function loadDriver<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    for (const base of bases()) {
      try {
        const found: T = requireAt(base)(name);
        return found;
      } catch {
        // It is not there; the first reason is what counts.
      }
    }
    throw cause;
  }
}

/** `require` as a file or folder sees it. Bundlers would search for what is required through an import of `node:module`. */
export function requireAt(base: string): NodeJS.Require {
  return process.getBuiltinModule('node:module').createRequire(base);
}

/** A bundle as CommonJS has no address of its own. */
function bases(): readonly string[] {
  const { url } = import.meta as { readonly url?: string };
  const here = typeof url === 'string' && url.startsWith('file:') ? [url] : [];
  const { argv } = process;
  const program = argv[1] === undefined ? [] : [argv[1]];
  return [...here, ...program, join(process.cwd(), 'package.json')];
}
