/** The worker's side: runs the imports into a store in memory, and reads that for the page. */
import { createMemoryStore, isQuarkError, openStorage, type Store } from 'quark-sdk';
import { blobInput, importRuns, type InputFile } from 'quark-sdk/exchange';
import { readSparklines } from 'quark-sdk/workspace';
import { getOrMake } from '../parts/maps.ts';
import type { Line } from '../parts/line.ts';
import { nextMessage } from '../parts/turns.ts';
import { windowReader, type PageSeriesRead, type ReadSeries } from '../series/series-reader.ts';
import type { ServerAccess } from '../sources/server-access.ts';
import { transferOf } from './console-columns.ts';
import {
  STORE_READS,
  type DroppedReport,
  type NumberedRequest,
  type Reply,
  type Request,
  type RunRequest,
  type MessageError,
  type StoreCall,
} from './protocol.ts';

/** Rows that are read for the page at a time: those of a few segments, so that the import goes on in between. */
const ROWS_PER_READ = 130_000;
/** How often the page hears of progress, in milliseconds. */
const TELL_EVERY_MS = 50;

/** Answers the requests that come over the line. */
export function hostImports(line: Line): void {
  const host = new ImportHost(line);
  line.addEventListener('message', (event) => {
    const { id, request }: NumberedRequest = event.data;
    void host.answer(id, request);
  });
}

class ImportHost {
  readonly #line: Line;
  readonly #store: Store = createMemoryStore();
  readonly #readSeries: ReadSeries = windowReader(this.#store, ROWS_PER_READ);
  readonly #others = new Map<string, Promise<Store>>();
  readonly #readers = new WeakMap<Store, Map<number, ReadSeries>>();
  /** All files of imports so far. */
  readonly #files: InputFile[] = [];
  /** Files of the import that is put together. */
  #waiting: InputFile[] = [];
  /** The import under way, which the next one waits for. */
  #last: Promise<unknown> = Promise.resolve();
  #controller = new AbortController();

  constructor(line: Line) {
    this.#line = line;
  }

  async answer(id: number, request: Request): Promise<void> {
    const transfer: Transferable[] = [];
    try {
      const value = await this.#do(id, request, transfer);
      this.#send({ kind: 'answer', id, value }, transfer);
    } catch (error) {
      this.#send({ kind: 'error', id, error: sentError(error) });
    }
  }

  async #do(id: number, request: Request, transfer: Transferable[]): Promise<unknown> {
    switch (request.kind) {
      case 'store':
        return callStore(this.#store, request.call, transfer);
      case 'series':
        return sentSeries(await this.#readSeries(request.query), transfer);
      case 'samples': {
        const read = this.#samplesOf(await this.#storeAt(request.uri, request.access), request);
        return sentSeries(await read(request.query), transfer);
      }
      case 'sparklines':
        return readSparklines(this.#store, request.query);
      case 'analyze':
      case 'findings':
      case 'batches':
      case 'report':
      case 'console':
      case 'table':
      case 'sound':
        return answerAbout(await this.#storeAt(request.uri, request.access), request, transfer);
      case 'files':
        for (const { file, path } of request.files)
          this.#waiting.push(answering(blobInput(file, path)));
        return undefined;
      case 'import': {
        const files = this.#waiting;
        this.#waiting = [];
        return this.#inTurn(async () => {
          this.#files.push(...files);
          const told = telling(this.#store, (runId) => this.#send({ kind: 'run', id, runId }));
          return this.#import(id, files, told);
        });
      }
      case 'cancel':
        this.#controller.abort();
        this.#controller = new AbortController();
        return undefined;
      case 'keep':
        return this.#inTurn(async () => {
          const store = await openStorage(request.uri);
          try {
            return await this.#import(id, this.#files, store);
          } finally {
            await store.close();
          }
        });
    }
  }

  /** The store in this worker, or another one, which is opened once. */
  #storeAt(uri: string | undefined, access: ServerAccess): Promise<Store> {
    if (uri === undefined) return Promise.resolve(this.#store);
    const mark = JSON.stringify([uri, access]);
    return getOrMake(this.#others, mark, () => {
      const opening = openStorage(uri, access);
      opening.catch(() => this.#others.delete(mark));
      return opening;
    });
  }

  /** What reads the samples of a store, so many rows at a time. */
  #samplesOf(store: Store, { rows }: { readonly rows: number }): ReadSeries {
    const bySize = getOrMake(this.#readers, store, () => new Map<number, ReadSeries>());
    return getOrMake(bySize, rows, () => windowReader(store, rows));
  }

  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#last.then(work);
    this.#last = mine.catch(() => undefined);
    return mine;
  }

  async #import(id: number, files: readonly InputFile[], store: Store): Promise<DroppedReport> {
    let toldAtMs = Number.NEGATIVE_INFINITY;
    const report = await importRuns(files, store, {
      signal: this.#controller.signal,
      onProgress: (progress) => {
        const nowMs = performance.now();
        if (nowMs - toldAtMs < TELL_EVERY_MS) return;
        toldAtMs = nowMs;
        this.#send({ kind: 'progress', id, progress });
      },
    });
    return {
      runs: report.runs.map(({ runId, format, rowCount, isComplete }) => ({
        runId,
        format,
        rowCount,
        isComplete,
      })),
      problems: report.problems,
      unlistedProblemCount: report.unlistedProblemCount,
      unknownFiles: report.unknownFiles,
      unknown: report.unknown,
    };
  }

  #send(reply: Reply, transfer: Transferable[] = []): void {
    this.#line.postMessage(reply, { transfer });
  }
}

/** The columns go over as they are. */
function sentSeries(read: PageSeriesRead, transfer: Transferable[]): PageSeriesRead {
  for (const { epochs, steps, timesMs, values } of read.series)
    for (const column of [values, steps, epochs, timesMs])
      if (column !== null) transfer.push(column.buffer);
  return read;
}

/** The analyzers are as large as all importers: their code comes when it is asked for, and so does that of consoles and media. */
async function answerAbout(
  store: Store,
  request: RunRequest,
  transfer: Transferable[],
): Promise<unknown> {
  const { runId } = request;
  if (request.kind === 'console') {
    const { readRunConsole } = await import('./run-console.ts');
    const { columns, ...rest } = await readRunConsole(store, runId, request);
    for (const buffer of transferOf(columns))
      if (buffer instanceof ArrayBuffer) transfer.push(buffer);
    return { columns, ...rest };
  }
  if (request.kind === 'table' || request.kind === 'sound') {
    const { readSound, readTablePart } = await import('./run-media.ts');
    if (request.kind === 'table') return readTablePart(store, runId, request);
    const sound = await readSound(store, runId, request.record);
    for (const { buffer } of [sound.bytes, ...sound.channels])
      if (buffer instanceof ArrayBuffer && !transfer.includes(buffer)) transfer.push(buffer);
    return sound;
  }
  const { analyzeRun, findBatches, readFindings, reportRun } = await import('./run-analysis.ts');
  if (request.kind === 'findings') return readFindings(store, runId);
  if (request.kind === 'batches') return findBatches(store, runId);
  return request.kind === 'analyze'
    ? analyzeRun(store, runId, request.config)
    : reportRun(store, runId, request.config);
}

/** The file, between whose chunks the page is answered: bytes that are in memory come without a pause. */
function answering(file: InputFile): InputFile {
  return {
    ...file,
    async slice(start, end) {
      await nextMessage();
      return file.slice(start, end);
    },
    async *stream(start) {
      for await (const chunk of file.stream(start)) {
        await nextMessage();
        yield chunk;
      }
    },
  };
}

/** Calls the store for the page. Bytes in the answer are the caller's, so they can go over as they are. */
async function callStore(
  store: Store,
  { name, args }: StoreCall,
  transfer: Transferable[],
): Promise<unknown> {
  if (!STORE_READS.includes(name)) throw new Error(`The page may not call ${name}.`);
  const method = store[name];
  if (method === undefined) return undefined;
  const answer: unknown = await Reflect.apply(method, store, args);
  const parts: readonly unknown[] = Array.isArray(answer) ? answer : [{ bytes: answer }];
  for (const part of parts) {
    const bytes: unknown = typeof part === 'object' && part !== null && Reflect.get(part, 'bytes');
    if (bytes instanceof Uint8Array && bytes.buffer instanceof ArrayBuffer)
      transfer.push(bytes.buffer);
  }
  return answer;
}

/** The store, which tells of each run that is made in it. */
function telling(store: Store, onRun: (runId: string) => void): Store {
  const createRun: Store['createRun'] = async (run) => {
    const made = await store.createRun(run);
    onRun(made.id);
    return made;
  };
  return new Proxy(store, {
    get(target, name) {
      if (name === 'createRun') return createRun;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

function sentError(error: unknown): MessageError {
  const message = error instanceof Error ? error.message : String(error);
  if (!isQuarkError(error)) return { message, code: undefined, details: {} };
  const details = Object.entries(error.details).filter(([, value]) =>
    ['string', 'number', 'boolean'].includes(typeof value),
  );
  return { message, code: error.code, details: Object.fromEntries(details) };
}
