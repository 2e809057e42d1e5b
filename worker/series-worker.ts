// The worker of the series kernels, of browsers and of Node. No top-level await: see kernel-worker.ts.
import { exposeSeriesKernel } from '../src/kernel/series/host.ts';

exposeSeriesKernel();
