// The worker of a watch, of browsers and of Node. No top-level await: see kernel-worker.ts.
import { exposeWatch } from '../src/analysis/watch/watch-host.ts';

exposeWatch();
