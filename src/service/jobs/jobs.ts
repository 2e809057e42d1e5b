/**
 * Checks of segments, rows and curves. Each job is a generator that reads through its host and holds nothing else, so that it
 * runs on the calling thread or in a worker alike.
 */
import { readCurves, type CurveSource } from '../../read/curves.ts';
import { readSparkline } from '../../read/finding/sparklines.ts';
import { segmentChecks } from '../../segment/check-segment.ts';
import { encodeCurves } from '../../wire/curve-messages.ts';
import type { Compute, Job, JobHost, JobParts, Task } from './job.ts';
import { rowChunks } from './row-chunks.ts';
import { toWire } from '../../wire/wire.ts';

/** Does jobs on the calling thread. */
export const LOCAL_COMPUTE: Compute = {
  start: (job, host) => {
    const parts = startJob(job, host);
    return { next: () => parts.next(), close: () => void parts.return(undefined) };
  },
};

/** Does a job. */
export function startJob(job: Job, host: JobHost): JobParts {
  switch (job.name) {
    case 'check':
      return checkParts(job.segments);
    case 'rows':
      return rowChunks(job.query, host);
    case 'curves':
      return curveParts(job, host);
    case 'sparkline':
      return sparklineParts(job, host);
  }
}

/** Empty parts let others have a turn; the last says that all segments are good. */
async function* checkParts(segments: Extract<Job, { name: 'check' }>['segments']): JobParts {
  for (const segment of segments)
    for await (const step of segmentChecks(segment)) yield step ?? new Uint8Array(0);
  yield new Uint8Array(0);
  return undefined;
}

async function* curveParts(
  { query, listed }: Extract<Job, { name: 'curves' }>,
  host: JobHost,
): JobParts {
  const found = await readCurves(host.store, query, sourceOf(listed, host));
  yield new TextEncoder().encode(JSON.stringify(toWire(encodeCurves(found))));
  return undefined;
}

/** JSON of a small curve; no bytes where the run has none. NaN is `null` in JSON. */
async function* sparklineParts(
  { runId, query, listed }: Extract<Job, { name: 'sparkline' }>,
  host: JobHost,
): JobParts {
  const found = await readSparkline(host.store, runId, query, sourceOf(listed, host));
  yield new TextEncoder().encode(found === undefined ? '' : JSON.stringify(toWire(found)));
  return undefined;
}

function sourceOf<L>(
  listed: L,
  { notes, signal, onFailure }: JobHost,
): Omit<CurveSource, 'listed'> & { readonly listed: L } {
  return {
    listed,
    notes,
    ...(onFailure === undefined ? {} : { onFailure }),
    ...(signal === undefined ? {} : { signal }),
  };
}

/** The parts of a task as a generator that closes it. */
export async function* partsOf(task: Task): JobParts {
  try {
    for (;;) {
      const { done, value } = await task.next();
      if (done === true) return undefined;
      yield value;
    }
  } finally {
    task.close();
  }
}
