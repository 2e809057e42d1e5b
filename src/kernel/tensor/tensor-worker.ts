/** The file of the tensor worker. The names in capitals are filled in by the package build: see scripts/vite-plugins.ts. */
import type { WorkerFile } from '../workers/spawn.ts';

/** `worker.js`. */
export const TENSOR_WORKER: WorkerFile = {
  url: () => (typeof __QUARK_WORKER_URL__ === 'undefined' ? undefined : __QUARK_WORKER_URL__),
  open: () => __QUARK_NEW_WORKER__,
  source: async () => (await import('virtual:quark-inline-worker')).default,
};
