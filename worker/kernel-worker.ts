// The worker of browsers and of Node. No top-level await: it would break the worker format many bundlers default to.
import { exposeKernel } from '../src/kernel/tensor/host.ts';

exposeKernel();
