/** Packages that a program may lack, and that bundlers leave alone: nothing imports them by a name that a bundler would resolve. */
import { join } from 'node:path';
import { messageOf, SessionStoreError } from '../errors.ts';

/**
 * Loads a driver by `require`, as seen from the package or the bundle that it is in, from the program, or from the working folder.
 *
 * @param load calls `require` with the name
 * @throws what the first `require` throws, where the driver is nowhere
 */
export function loadDriver<T>(load: (require: NodeJS.Require) => T): T {
  let reason: unknown;
  for (const base of bases()) {
    try {
      return load(requireAt(base));
    } catch (cause) {
      reason ??= cause;
    }
  }
  throw reason;
}

/** The error for a package that the user installs where he needs it. @param purpose begins a sentence: "Storing in PostgreSQL" */
export function missingPackage(name: string, purpose: string, cause: unknown): SessionStoreError {
  const install = `npm install ${name}`;
  const reason = reasonOf(cause);
  return new SessionStoreError(
    'failed',
    `${purpose} needs the package ${name}, which could not be loaded (${reason}). Install it with: ${install}`,
    { details: { package: name, install }, cause },
  );
}

/** Why a package could not be loaded, without the files that asked for it. */
export function reasonOf(cause: unknown): string {
  const [reason = ''] = messageOf(cause).split(/\s*Require stack:/);
  return reason;
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
