// The worker of a service, in Node. No top-level await: see kernel-worker.ts.
import { exposeJobs } from '../src/service/jobs/job-host.ts';

exposeJobs();
