/** Checks the contents of the segments of an upload: small ones at once, many or large ones as jobs. */
import { SessionStoreError } from '../../base/errors.ts';
import { Mutex } from '../../base/mutex.ts';
import { unpackedBytes } from '../../codecs/packed/unpack.ts';
import type { NewSegment } from '../../store/store.ts';
import { signalOf, type WireContext } from '../http/answers.ts';
import type { HandlerSettings } from '../http/handler-options.ts';
import { partsOf } from '../jobs/jobs.ts';

/** Uploads up to this size are checked on this thread, which takes about a millisecond; a message to a worker costs as much. */
const SMALL = { bytes: 256 << 10, rows: 4_096, segments: 32 };
/** Size of one job; a larger segment is a job of its own. */
const JOB = { bytes: 4 << 20, rows: 1 << 17, segments: 64 };
/** Unpacking takes up to 64 MiB of memory: this thread unpacks one segment at a time. */
const unpacking = new Mutex();

type Sized = { readonly segment: NewSegment; readonly bytes: number };

/**
 * Checks the bytes of a whole upload before any of it is written, after its manifests were checked. Stops when the client disconnects.
 *
 * @throws {SessionStoreError} `rejected`, `too_large`, `version`; `busy` where this is too much of one user
 * @throws {QuarkError} `aborted`
 */
export async function checkContents(
  segments: readonly NewSegment[],
  { checks, maxUnpackedBytes }: HandlerSettings,
  context: WireContext,
): Promise<void> {
  if (checks.segment === undefined) return;
  const { compute, store, takeUnpacked, takeRoom } = context.env.scope;
  const sized = segments.map((segment): Sized => ({ segment, bytes: plainBytes(segment) }));
  const bytes = sized.reduce((sum, one) => sum + one.bytes, 0);
  if (bytes > maxUnpackedBytes)
    throw new SessionStoreError(
      'too_large',
      `The segments of an upload may have at most ${maxUnpackedBytes} bytes unpacked; got ${bytes}. Split the upload.`,
      { details: { field: 'segments', value: bytes, rule: `at most ${maxUnpackedBytes} bytes` } },
    );
  takeUnpacked?.(bytes);
  const [only, ...others] = groupsOf(sized, SMALL);
  if (compute === undefined || only === undefined || (others.length === 0 && fits(only, SMALL))) {
    for (const segment of segments) {
      const check = async (): Promise<void> => checks.segment?.(segment);
      await (segment.manifest.encoding === 'packed' ? unpacking.run(check) : check());
    }
    return;
  }
  const signal = signalOf(context);
  for (const group of groupsOf(sized, JOB)) {
    const held = group.reduce((sum, one) => sum + one.bytes, 0);
    takeRoom?.(held);
    const job = { name: 'check', segments: group.map(({ segment }) => segment) } as const;
    for await (const part of partsOf(compute.start(job, { store, signal }))) void part;
    takeRoom?.(-held);
  }
}

function plainBytes({ manifest, bytes }: NewSegment): number {
  return manifest.encoding === 'packed'
    ? Math.max(unpackedBytes(bytes), bytes.byteLength)
    : bytes.byteLength;
}

type Limits = { readonly bytes: number; readonly rows: number; readonly segments: number };

function groupsOf(sized: readonly Sized[], limits: Limits): Sized[][] {
  const groups: Sized[][] = [];
  for (const one of sized) {
    const last = groups.at(-1);
    if (last !== undefined && fits([...last, one], limits)) last.push(one);
    else groups.push([one]);
  }
  return groups;
}

function fits(group: readonly Sized[], limits: Limits): boolean {
  const rows = group.reduce((sum, { segment }) => sum + segment.manifest.rowCount, 0);
  const bytes = group.reduce((sum, one) => sum + one.bytes, 0);
  return group.length <= limits.segments && rows <= limits.rows && bytes <= limits.bytes;
}
