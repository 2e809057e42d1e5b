/**
 * Merges on a thread of their own. The thread starts with the first merge that is worth it, does not keep the process alive while it has
 * nothing to do, and ends after a while without work. Of each merge the thread that records reads the segments, hands their bytes over
 * and exchanges them; what is between is computed here or there with the same result. A thread that dies or does not answer costs time
 * only: nothing is replaced before the merge is whole.
 */
import { availableParallelism } from 'node:os';
import type { Worker } from 'node:worker_threads';
import { isQuarkError, messageOf, QuarkError } from '../../base/errors.ts';
import { processSlots } from '../../kernel/workers/slots.ts';
import type { FromMerger, SentBytes, ToMerger } from '../merge-messages.ts';
import { mergeWindow, type MergeWindow } from '../compact.ts';
import type { MergeName, MergeWork, ReadSegment } from '../row-merge.ts';

/** A merge of so many rows starts the thread: it takes about as long as that. */
const FIRST_ROWS = 1 << 16;
/** Merges of fewer rows are made here in less time than they are handed over. */
const LEAST_ROWS = 1 << 13;
/** The thread ends after so long without work. */
const IDLE_MS = 10_000;
/** A call that is not answered by then is lost, and the thread with it. */
const ANSWER_MS = 60_000;
/** Threads of a process, at most: one for each processor but that of the caller. A run has one merge at a time, an import has several. */
const MAX_THREADS = 4;
/** A process that loses so many threads merges without. */
const MAX_LOSSES = 3;
/** Arrow bytes are read as numbers of up to eight bytes. */
const ALIGNMENT = 8;

/** What a {@link MergeThreads} is made of; tests have workers and times of their own. */
export type MergeThreadsParts = {
  readonly open?: () => Promise<Worker>;
  readonly processors?: number;
  readonly answerMs?: number;
  readonly idleMs?: number;
};

type Call = {
  readonly resolve: (answer: FromMerger) => void;
  readonly reject: (error: unknown) => void;
};

type Thread = {
  readonly opened: Promise<Worker>;
  readonly calls: Map<number, Call>;
  /** Merges that it has begun. */
  running: number;
  idle?: NodeJS.Timeout;
};

/** The threads of merges of a process. */
export class MergeThreads {
  readonly #parts: Required<MergeThreadsParts>;
  readonly #threads = new Set<Thread>();
  #losses = 0;
  #lastId = 0;

  constructor(parts: MergeThreadsParts) {
    this.#parts = {
      open: openWorker,
      processors: availableParallelism(),
      answerMs: ANSWER_MS,
      idleMs: IDLE_MS,
      ...parts,
    };
  }

  /** How many threads were lost. */
  get losses(): number {
    return this.#losses;
  }

  /** Merges a window with the thread where that pays; here where the thread is lost. */
  readonly mergeWindow: MergeWindow = async (store, name, window) => {
    const rows = window.reduce((sum, { rowCount }) => sum + rowCount, 0);
    const work = this.start(name, rows);
    try {
      return await mergeWindow(store, name, window, work);
    } catch (error) {
      if (work === undefined || !isQuarkError(error, 'kernel_failed')) throw error;
      return mergeWindow(store, name, window);
    }
  };

  /** Begins a merge of so many rows; undefined where it is made here in less time. */
  start(name: MergeName, rows: number): MergeWork | undefined {
    const thread = this.#threadFor(rows);
    if (thread === undefined) return undefined;
    const id = ++this.#lastId;
    clearTimeout(thread.idle);
    thread.running++;
    let isOver = false;
    const free = processSlots().begin();
    return {
      add: async (segments) => {
        const sent = sentSegments(id, name, segments);
        const answer = await this.#call(thread, sent, [sent.bytes.buffer]);
        if (answer.kind !== 'taken') throw lost('an answer to another call');
        return answer.value;
      },
      finish: async () => {
        const answer = await this.#call(thread, { id, kind: 'finish' });
        if (answer.kind !== 'merged') throw lost('an answer to another call');
        return answer.value;
      },
      end: () => {
        if (isOver) return;
        isOver = true;
        free();
        thread.running--;
        if (!this.#threads.has(thread)) return;
        void thread.opened.then((worker) => worker.postMessage({ id, kind: 'end' }), ignore);
        if (thread.running === 0) this.#rest(thread);
      },
    };
  }

  /** Ends the threads. */
  async close(): Promise<void> {
    await Promise.all([...this.#threads].map((thread) => this.#drop(thread, 'it was closed')));
  }

  /** The thread of a merge: one without work, a new one, or the one with the least; none where it is made here in less time. */
  #threadFor(rows: number): Thread | undefined {
    const { processors } = this.#parts;
    if (processors < 2 || this.#losses >= MAX_LOSSES || rows < LEAST_ROWS) return undefined;
    const [least] = [...this.#threads].toSorted((a, b) => a.running - b.running);
    if (least?.running === 0) return least;
    const isRoom = this.#threads.size < Math.min(processors - 1, MAX_THREADS);
    return isRoom && rows >= FIRST_ROWS ? this.#open() : least;
  }

  #open(): Thread {
    const thread: Thread = { opened: this.#parts.open(), calls: new Map(), running: 0 };
    this.#threads.add(thread);
    thread.opened.then(
      (worker) => {
        worker.unref();
        worker.on('message', (answer: FromMerger) => {
          const call = thread.calls.get(answer.id);
          thread.calls.delete(answer.id);
          if (answer.kind === 'failed') call?.reject(lost(answer.reason));
          else call?.resolve(answer);
          if (thread.calls.size === 0) worker.unref();
        });
        worker.on('error', (error) => this.#lose(thread, messageOf(error)));
        worker.on('exit', (code) => this.#lose(thread, `it exited with code ${code}`));
        worker.on('messageerror', () => this.#lose(thread, 'a message could not be read'));
      },
      (error: unknown) => this.#lose(thread, messageOf(error)),
    );
    return thread;
  }

  async #call(
    thread: Thread,
    message: ToMerger,
    transfer: readonly ArrayBuffer[] = [],
  ): Promise<FromMerger> {
    if (!this.#threads.has(thread)) throw lost('it has ended');
    return new Promise<FromMerger>((resolve, reject) => {
      const timer = setTimeout(
        () => this.#lose(thread, `it did not answer within ${this.#parts.answerMs} ms`),
        this.#parts.answerMs,
      );
      thread.calls.set(message.id, {
        resolve: (answer) => {
          clearTimeout(timer);
          resolve(answer);
        },
        reject: (error) => {
          clearTimeout(timer);
          reject(error);
        },
      });
      thread.opened.then((worker) => {
        worker.ref();
        worker.postMessage(message, transfer);
      }, ignore);
    });
  }

  #rest(thread: Thread): void {
    thread.idle = setTimeout(() => void this.#drop(thread, 'it had no work'), this.#parts.idleMs);
    thread.idle.unref();
  }

  #lose(thread: Thread, reason: string): void {
    if (!this.#threads.has(thread)) return;
    this.#losses++;
    void this.#drop(thread, reason);
  }

  async #drop(thread: Thread, reason: string): Promise<void> {
    if (!this.#threads.delete(thread)) return;
    clearTimeout(thread.idle);
    for (const { reject } of thread.calls.values()) reject(lost(reason));
    thread.calls.clear();
    await thread.opened.then((worker) => worker.terminate(), ignore);
  }
}

/** The bytes of all segments in one buffer, which moves. */
function sentSegments(
  id: number,
  { mergeId, runId, table }: MergeName,
  segments: readonly ReadSegment[],
): Extract<ToMerger, { readonly kind: 'add' }> {
  let length = 0;
  const reads = segments.map(({ read }): SentBytes => {
    if (read.kind !== 'bytes')
      return { damage: read.kind === 'damaged' ? read.reason : 'it is gone' };
    const start = length;
    const end = start + read.bytes.byteLength;
    length = Math.ceil(end / ALIGNMENT) * ALIGNMENT;
    return { start, end };
  });
  const bytes = new Uint8Array(length);
  for (const [i, { read }] of segments.entries()) {
    const sent = reads[i];
    if (read.kind === 'bytes' && sent !== undefined && 'start' in sent)
      bytes.set(read.bytes, sent.start);
  }
  return {
    id,
    kind: 'add',
    name: { table: table.table, runId, mergeId },
    // A merge reads keys from rows.
    manifests: segments.map(({ manifest }) => ({ ...manifest, keys: null })),
    reads,
    bytes,
  };
}

function lost(reason: string): QuarkError {
  return new QuarkError('kernel_failed', `The thread that merges was lost: ${reason}.`, {
    details: { reason },
  });
}

const ignore = (): void => undefined;

async function openWorker(): Promise<Worker> {
  const threads = await import('node:worker_threads');
  const options = { name: 'quark-merge', execArgv: [] };
  if (typeof __QUARK_MERGE_WORKER_URL__ !== 'undefined')
    return new threads.Worker(__QUARK_MERGE_WORKER_URL__, options);
  const { default: source } = await import('virtual:quark-inline-merge-worker');
  return new threads.Worker(new URL(`data:text/javascript,${encodeURIComponent(source)}`), options);
}

/** Merges of this process. */
export const mergeThreads: MergeThreads = new MergeThreads({});
