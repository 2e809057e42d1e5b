/** Begins the profile that the options of a session ask for. The profiler is no part of the core: Node loads it, a page hands it in. */
import { isNode } from '../../base/runtime.ts';

declare const __QUARK_IMPORT_NODE__: () => Promise<{
  readonly startProfiler: (session: never) => unknown;
}>;

/** @param session a `TrainingSession`, which `profile` is called with */
export async function beginProfile<S>(
  session: S,
  profile: boolean | ((session: S) => unknown) | undefined,
): Promise<void> {
  if (typeof profile === 'function') {
    profile(session);
    return;
  }
  const { process } = globalThis as { process?: { env?: Readonly<Record<string, string>> } };
  const isWanted = profile ?? (isNode() && process?.env?.['QUARK_PROFILING'] === '1');
  // What the module has is the function of this package.
  if (isWanted) (await __QUARK_IMPORT_NODE__()).startProfiler(session as never);
}
