/**
 * Checks of segments, rows and curves. Each job is a generator that reads through its host and holds nothing else, so that it
 * runs on the calling thread or in a worker alike.
 */
import { readCurves } from '../../read/curves.ts';
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
  { store, notes, signal, onFailure }: JobHost,
): JobParts {
  const found = await readCurves(store, query, {
    listed,
    notes,
    ...(onFailure === undefined ? {} : { onFailure }),
    ...(signal === undefined ? {} : { signal }),
  });
  yield new TextEncoder().encode(JSON.stringify(toWire(encodeCurves(found))));
  return undefined;
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
