/** The file of the worker of a watch. The names in capitals are filled in by the package build: see scripts/vite-plugins.ts. */
import type { WorkerFile } from '../../kernel/workers/spawn.ts';

/** `watch-worker.js`. */
export const WATCH_WORKER: WorkerFile = {
  url: () =>
    typeof __QUARK_WATCH_WORKER_URL__ === 'undefined' ? undefined : __QUARK_WATCH_WORKER_URL__,
  open: () => __QUARK_NEW_WATCH_WORKER__,
  source: async () => (await import('virtual:quark-inline-watch-worker')).default,
};
