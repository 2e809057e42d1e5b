// The worker that merges segments, in Node. No top-level await: see kernel-worker.ts.
import { exposeMerges } from '../src/segment/merge-host.ts';

exposeMerges();
