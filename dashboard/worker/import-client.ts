/** The page's side: sends files to the worker, and is a store of what they became. */
import { ERROR_CODES, QuarkError, SessionStoreError, type Store } from 'quark-sdk';
import type { ImportProgress } from 'quark-sdk/exchange';
import type { RunReport } from 'quark-sdk/analysis';
import type { MediaContent } from 'quark-sdk/media';
import type { ConsoleAnswer } from './console-columns.ts';
import type { BatchFindings, RunAnalysis, RunFindings } from './run-analysis.ts';
import type { TablePart } from './run-media.ts';
import type { Line } from '../parts/line.ts';
import { offerSeries, type PageSeriesQuery, type PageSeriesRead } from '../series/series-reader.ts';
import type {
  DroppedFile,
  DroppedReport,
  MediaRecord,
  NumberedRequest,
  Reply,
  Request,
  RunAddress,
  MessageError,
  StoreCall,
  StoreRead,
} from './protocol.ts';

/** Files that go over in one message: more would hold the page up. */
const FILES_PER_MESSAGE = 500;

/** Who hears of an import while it goes on. */
export type ImportListener = {
  readonly onProgress?: (progress: ImportProgress) => void;
  /** Called when a run has begun to be there. */
  readonly onRun?: (runId: string) => void;
};

type Pending = {
  readonly resolve: (value: never) => void;
  readonly reject: (error: unknown) => void;
  readonly listener: ImportListener;
};

/** Talks to the worker. */
export class ImportClient {
  readonly store: Store;
  readonly #line: Line;
  readonly #pending = new Map<number, Pending>();
  #nextId = 0;

  constructor(line: Line, uri: string) {
    this.#line = line;
    this.store = {
      ...droppedStore(uri, (call) => this.#ask({ kind: 'store', call })),
      readSparklines: (query) => this.#ask({ kind: 'sparklines', query }),
    };
    offerSeries(this.store, (query) => this.#ask({ kind: 'series', query }));
    line.addEventListener('message', (event) => this.#hear(event.data));
  }

  /** Hands files over and imports them. `pause` is waited for between messages. @throws {QuarkError} `aborted` */
  async import(
    files: readonly DroppedFile[],
    listener: ImportListener,
    pause: () => Promise<void>,
  ): Promise<DroppedReport> {
    for (let at = 0; at < files.length; at += FILES_PER_MESSAGE) {
      await this.#ask({ kind: 'files', files: files.slice(at, at + FILES_PER_MESSAGE) });
      await pause();
    }
    return this.#ask({ kind: 'import' }, listener);
  }

  /** Imports all that was handed over once more, into the store at `uri`. */
  keep(uri: string, listener: ImportListener): Promise<DroppedReport> {
    return this.#ask({ kind: 'keep', uri }, listener);
  }

  /** Analyses a run. */
  analyze(run: RunAddress, config?: unknown): Promise<RunAnalysis> {
    return this.#ask({ ...run, kind: 'analyze', config });
  }

  /** The stored alerts and phases of a run. */
  findings(run: RunAddress): Promise<RunFindings> {
    return this.#ask({ ...run, kind: 'findings' });
  }

  /** Samples of a run, about so many rows at a time. */
  readSamples(run: RunAddress, query: PageSeriesQuery, rows: number): Promise<PageSeriesRead> {
    return this.#ask({ ...run, kind: 'samples', query, rows });
  }

  /** What hard batches of a run have in common. */
  findBatches(run: RunAddress): Promise<BatchFindings> {
    return this.#ask({ ...run, kind: 'batches' });
  }

  /** The report of a run. */
  report(run: RunAddress, config?: unknown): Promise<RunReport> {
    return this.#ask({ ...run, kind: 'report', config });
  }

  /** What the program of a run printed: the last `limit` lines of this instant or later. */
  readConsole(run: RunAddress, limit: number, fromMs: number): Promise<ConsoleAnswer> {
    return this.#ask({ ...run, kind: 'console', limit, fromMs });
  }

  /** Rows of a table of a run: so many from a position on. */
  readTablePart(
    run: RunAddress,
    record: MediaRecord,
    from: number,
    count: number,
  ): Promise<TablePart> {
    return this.#ask({ ...run, kind: 'table', record, from, count });
  }

  /** Sound of a run, decoded. */
  readSound(run: RunAddress, record: MediaRecord): Promise<MediaContent['audio']> {
    return this.#ask({ ...run, kind: 'sound', record });
  }

  /** Ends the import under way, which rejects with code `aborted`. */
  async cancel(): Promise<void> {
    await this.#ask({ kind: 'cancel' });
  }

  /** Fails whatever waits: nobody is there to answer any longer. */
  fail(error: unknown): void {
    for (const { reject } of this.#pending.values()) reject(error);
    this.#pending.clear();
  }

  #ask<T>(request: Request, listener: ImportListener = {}): Promise<T> {
    const id = this.#nextId++;
    return new Promise<T>((resolve, reject) => {
      this.#pending.set(id, { resolve, reject, listener });
      const message: NumberedRequest = { id, request };
      this.#line.postMessage(message);
    });
  }

  #hear(reply: Reply): void {
    const pending = this.#pending.get(reply.id);
    if (pending === undefined) return;
    switch (reply.kind) {
      case 'progress':
        pending.listener.onProgress?.(reply.progress);
        return;
      case 'run':
        pending.listener.onRun?.(reply.runId);
        return;
      case 'answer':
        this.#pending.delete(reply.id);
        // What answers which request is the worker's side of the protocol.
        pending.resolve(reply.value as never);
        return;
      case 'error':
        this.#pending.delete(reply.id);
        pending.reject(errorOf(reply.error));
    }
  }
}

function errorOf({ message, code, details }: MessageError): Error {
  const known = ERROR_CODES.find((one) => one === code);
  return known === undefined ? new Error(message) : new QuarkError(known, message, { details });
}

/** The worker's store, for reading. */
function droppedStore(uri: string, ask: <T>(call: StoreCall) => Promise<T>): Store {
  const read =
    <N extends StoreRead>(name: N) =>
    (
      ...args: Parameters<NonNullable<Store[N]>>
    ): Promise<Awaited<ReturnType<NonNullable<Store[N]>>>> =>
      ask({ name, args });
  const refuse = (): Promise<never> =>
    Promise.reject(new SessionStoreError('read_only', 'Files that were dropped are only read.'));
  return {
    uri,
    location: { storageDir: uri, storeRoot: uri, dbPath: uri },
    isWritable: false,
    listProjects: read('listProjects'),
    findRun: read('findRun'),
    listRuns: read('listRuns'),
    listLeases: read('listLeases'),
    askRuns: read('askRuns'),
    listSegments: read('listSegments'),
    readSegments: read('readSegments'),
    getBlob: read('getBlob'),
    ensureProject: refuse,
    createRun: refuse,
    updateRun: refuse,
    deleteRun: refuse,
    archiveRun: refuse,
    restoreRun: refuse,
    findDeletedRun: async () => undefined,
    listDeletedRuns: async () => [],
    purgeDeletedRuns: refuse,
    renewLease: refuse,
    releaseLease: refuse,
    appendSegments: refuse,
    replaceSegments: refuse,
    replaceTable: refuse,
    putBlob: refuse,
    reclaimSpace: refuse,
    close: async () => undefined,
  };
}
