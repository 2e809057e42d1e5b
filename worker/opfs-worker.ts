// The worker of the store on the origin-private file system, of browsers. No top-level await: see kernel-worker.ts.
import { exposeEngines } from '../src/store/opfs/opfs-host.ts';

exposeEngines();
