/**
 * The port between a job in a worker and the thread that has the stores. The worker asks for segments, the thread answers with their bytes
 * in slices and has other tasks run between two of them; the worker decodes and computes.
 */
import { isQuarkError, messageOf, QuarkError, type ErrorCode } from '../../base/errors.ts';
import { nextTask } from '../../base/next-task.ts';
import type { SeriesKernel } from '../../kernel/series/series-kernel.ts';
import type {
  SegmentFilter,
  SegmentManifest,
  SegmentRead,
  SegmentReference,
  SegmentSource,
} from '../../store/store.ts';
import { doJob, type AnalysisJob } from './analysis-job.ts';
import { packRecords, unpackRecords } from './carried-records.ts';
import { Assembly, takeApart, type ArraySlice } from './column-parts.ts';
import type { AnalysisProgress } from '../evaluate/run-options.ts';

/** Bytes of segments that are read at a time from a database that this thread reads itself: a millisecond or two. */
const SLICE_BYTES = 1 << 20;
/** From a service, where this thread only waits. */
const REMOTE_SLICE_BYTES = 32 << 20;
/** Milliseconds after which other tasks have their turn while columns are sent. */
const TURN_MS = 3;

/** What a worker gets. */
export type AnalysisCall = {
  /** The job with its records packed; `sent` of a run whose columns follow on the port. */
  readonly job: unknown;
  readonly sent: readonly boolean[];
  readonly port: MessagePort;
};

type Question =
  | {
      readonly kind: 'list';
      readonly id: number;
      readonly run: number;
      readonly filter: SegmentFilter;
    }
  | {
      readonly kind: 'read';
      readonly id: number;
      readonly run: number;
      readonly segments: readonly SegmentReference[];
    }
  | { readonly kind: 'share'; readonly share: number };

type Reply =
  | { readonly kind: 'listed'; readonly id: number; readonly manifests: readonly SegmentManifest[] }
  | {
      readonly kind: 'read';
      readonly id: number;
      readonly reads: readonly SegmentRead[];
      readonly isLast: boolean;
    }
  | {
      readonly kind: 'failed';
      readonly id: number;
      readonly code: ErrorCode;
      readonly message: string;
    }
  | { readonly kind: 'slice'; readonly run: number; readonly slice: ArraySlice }
  | { readonly kind: 'columns'; readonly run: number; readonly rest: unknown };

/** The thread's end of a port. */
export class JobServer {
  readonly #port: MessagePort;
  readonly #sources: readonly SegmentSource[];
  readonly #isRemote: readonly boolean[];
  readonly #onProgress: (progress: AnalysisProgress) => void;
  readonly #failures = new Map<number, unknown>();
  #bytes = 0;
  #isClosed = false;

  constructor(
    port: MessagePort,
    stores: readonly (SegmentSource & { readonly uri?: string })[],
    onProgress: (progress: AnalysisProgress) => void,
  ) {
    this.#port = port;
    this.#sources = stores;
    this.#isRemote = stores.map(({ uri }) => uri !== undefined && /^https?:/iu.test(uri));
    this.#onProgress = onProgress;
    port.addEventListener('message', ({ data }: MessageEvent<Question>) => void this.#take(data));
    port.start();
  }

  /** Sends columns that the caller has read. */
  async send(run: number, columns: unknown): Promise<void> {
    const { rest, slices } = takeApart(columns);
    let turnAtMs = performance.now();
    for (const slice of slices()) {
      this.#post({ kind: 'slice', run, slice }, [slice.bytes.buffer]);
      if (performance.now() - turnAtMs < TURN_MS) continue;
      await nextTask();
      turnAtMs = performance.now();
    }
    this.#post({ kind: 'columns', run, rest });
  }

  /** What the store threw, where the job failed of it. */
  originalOf(error: unknown): unknown {
    const id = isQuarkError(error) ? error.details[FAILED_CALL] : undefined;
    return typeof id === 'number' && this.#failures.has(id) ? this.#failures.get(id) : error;
  }

  close(): void {
    this.#isClosed = true;
    this.#port.close();
  }

  async #take(question: Question): Promise<void> {
    if (question.kind === 'share') {
      this.#onProgress({ stage: 'computing', share: question.share });
      return;
    }
    const { id, run } = question;
    try {
      const source = this.#sources[run];
      if (source === undefined) throw new Error('The job asked for a run that it does not have.');
      if (question.kind === 'list')
        this.#post({ kind: 'listed', id, manifests: await source.listSegments(question.filter) });
      else await this.#read(source, question, this.#isRemote[run] === true);
    } catch (error) {
      this.#failures.set(id, error);
      const code = isQuarkError(error) ? error.code : 'store_failed';
      this.#post({ kind: 'failed', id, code, message: messageOf(error) });
    }
  }

  async #read(
    source: SegmentSource,
    { id, segments }: Extract<Question, { kind: 'read' }>,
    isRemote: boolean,
  ): Promise<void> {
    const groups = [...inSlices(segments, isRemote ? REMOTE_SLICE_BYTES : SLICE_BYTES)];
    for (const [i, group] of groups.entries()) {
      if (this.#isClosed) return;
      const reads = await source.readSegments(group);
      this.#post({ kind: 'read', id, reads, isLast: i === groups.length - 1 });
      for (const read of reads) if (read.kind === 'bytes') this.#bytes += read.bytes.length;
      this.#onProgress({ stage: 'reading', bytes: this.#bytes });
      await nextTask();
    }
    if (groups.length === 0) this.#post({ kind: 'read', id, reads: [], isLast: true });
  }

  #post(reply: Reply, moved: Transferable[] = []): void {
    if (!this.#isClosed) this.#port.postMessage(reply, moved);
  }
}

/**
 * Does the job of a call, and answers with its packed result.
 *
 * @param turn lets others have their turn, on a thread that has others
 */
export async function answerCall(
  { job: packed, port, sent }: AnalysisCall,
  kernel: SeriesKernel,
  turn?: () => Promise<void>,
): Promise<unknown> {
  const client = new JobClient(port, sent);
  try {
    const job = unpackRecords(packed) as AnalysisJob; // bytes become types: the thread sends what it was given
    const columns = await client.columns();
    const runs = job.runs.map((run, i) =>
      sent[i] === true ? { ...run, columns: columns[i] } : run,
    );
    const sources = job.runs.map((_, run) => client.source(run));
    // Bytes become types: columns come as they were taken apart.
    const whole = { ...job, runs } as AnalysisJob;
    return packRecords(
      await doJob(whole, sources, { kernel, turn, onShare: (share) => client.tell(share) }),
    );
  } finally {
    port.close();
  }
}

/** The worker's end of a port. */
class JobClient {
  readonly #port: MessagePort;
  readonly #assemblies = new Map<number, Assembly>();
  readonly #columns: unknown[] = [];
  readonly #reads = new Map<number, SegmentRead[]>();
  readonly #waiting = new Map<
    number,
    { readonly resolve: (value: unknown) => void; readonly reject: (error: unknown) => void }
  >();
  #missing: number;
  #arrived: () => void = () => undefined;
  #lastId = 0;

  constructor(port: MessagePort, sent: readonly boolean[]) {
    this.#port = port;
    this.#missing = sent.filter(Boolean).length;
    port.addEventListener('message', ({ data }: MessageEvent<Reply>) => this.#take(data));
    port.start();
  }

  /** The columns that the caller sends, by the position of their runs. */
  async columns(): Promise<readonly unknown[]> {
    if (this.#missing > 0)
      await new Promise<void>((resolve) => {
        this.#arrived = resolve;
      });
    return this.#columns;
  }

  /** Where a run is read from. */
  source(run: number): SegmentSource {
    return {
      listSegments: async (filter) =>
        (await this.#ask((id) => ({
          kind: 'list',
          id,
          run,
          filter,
        }))) as readonly SegmentManifest[], // bytes become types: the thread asks its store the same
      readSegments: async (segments) =>
        (await this.#ask((id) => ({
          kind: 'read',
          id,
          run,
          segments,
        }))) as readonly SegmentRead[], // bytes become types: as above
    };
  }

  tell(share: number): void {
    const question: Question = { kind: 'share', share };
    this.#port.postMessage(question);
  }

  #ask(questionOf: (id: number) => Question): Promise<unknown> {
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#port.postMessage(questionOf(id));
    });
  }

  #take(reply: Reply): void {
    switch (reply.kind) {
      case 'slice': {
        const assembly = this.#assemblies.get(reply.run) ?? new Assembly();
        this.#assemblies.set(reply.run, assembly);
        assembly.add(reply.slice);
        return;
      }
      case 'columns':
        this.#columns[reply.run] = (this.#assemblies.get(reply.run) ?? new Assembly()).finish(
          reply.rest,
        );
        if (--this.#missing === 0) this.#arrived();
        return;
      case 'listed':
        this.#settle(reply.id)?.resolve(reply.manifests);
        return;
      case 'read': {
        const reads = this.#reads.get(reply.id) ?? [];
        this.#reads.set(reply.id, reads);
        for (const read of reply.reads) reads.push(read);
        if (!reply.isLast) return;
        this.#reads.delete(reply.id);
        this.#settle(reply.id)?.resolve(reads);
        return;
      }
      case 'failed': {
        const details = { [FAILED_CALL]: reply.id };
        this.#settle(reply.id)?.reject(new QuarkError(reply.code, reply.message, { details }));
      }
    }
  }

  #settle(id: number) {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    return waiting;
  }
}

/** Detail of an error that a call of the store failed with: which call. */
const FAILED_CALL = 'failedCall';

function* inSlices(
  segments: readonly SegmentReference[],
  limit: number,
): Generator<readonly SegmentReference[]> {
  let group: SegmentReference[] = [];
  let bytes = 0;
  for (const segment of segments) {
    const size =
      'sizeBytes' in segment && typeof segment.sizeBytes === 'number' ? segment.sizeBytes : 0;
    if (group.length > 0 && bytes + size > limit) {
      yield group;
      group = [];
      bytes = 0;
    }
    group.push(segment);
    bytes += size;
  }
  if (group.length > 0) yield group;
}
