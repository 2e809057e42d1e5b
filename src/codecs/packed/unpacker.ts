/** Loads what unpacks segments in WebAssembly, when it is worth it. What it does is in `unpack-module.ts`, which nobody loads before. */
import type { UnpackModule } from './unpack-module.ts';

let loading: Promise<UnpackModule | undefined> | undefined;

/** The module of this thread; undefined where WebAssembly cannot run, and the plain way has to do. Loaded once. */
export async function loadUnpacker(): Promise<UnpackModule | undefined> {
  loading ??= import('./unpack-module.ts').then(
    async ({ createUnpackModule }) => createUnpackModule().catch(() => undefined),
    () => undefined,
  );
  return loading;
}
