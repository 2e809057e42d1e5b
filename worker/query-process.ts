// The process of a query, in Node. No top-level await: see kernel-worker.ts.
import { exposeQuery } from '../src/query/answer-query.ts';

exposeQuery();
