/** The file of the series worker. The names in capitals are filled in by the package build: see scripts/vite-plugins.ts. */
import type { WorkerFile } from '../workers/spawn.ts';

/** `series-worker.js`. */
export const SERIES_WORKER: WorkerFile = {
  url: () =>
    typeof __QUARK_SERIES_WORKER_URL__ === 'undefined' ? undefined : __QUARK_SERIES_WORKER_URL__,
  open: () => __QUARK_NEW_SERIES_WORKER__,
  source: async () => (await import('virtual:quark-inline-series-worker')).default,
};
