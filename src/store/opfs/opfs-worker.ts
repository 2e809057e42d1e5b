/** The worker of the store: one for each thread, while a store is open there. */
import { messageOf, QuarkError } from '../../base/errors.ts';
import { receiveOpfsError, type EngineReply, type EngineRequest } from './opfs-messages.ts';

/** A worker that does not start is not waited for longer. */
const START_MS = 20_000;

/** A request without its number. */
export type Unnumbered<R> = R extends unknown ? Omit<R, 'id'> : never;

type Pending = {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
};

/** Calls of a thread to engines in its worker. */
export class EngineWorker {
  readonly #worker: Worker;
  readonly #pending = new Map<number, Pending>();
  #next = 0;
  #failure: Error | undefined;

  constructor(worker: Worker) {
    this.#worker = worker;
    worker.addEventListener('message', ({ data }: MessageEvent<EngineReply>) => {
      const pending = this.#pending.get(data.id);
      this.#pending.delete(data.id);
      if ('error' in data) pending?.reject(receiveOpfsError(data.error));
      else pending?.resolve(data.value);
    });
    worker.addEventListener('error', (event) =>
      this.#fail(`its worker failed: ${event.message ?? 'the script did not load'}`),
    );
    worker.addEventListener('messageerror', () => this.#fail('a message could not be read'));
  }

  call(request: Unnumbered<EngineRequest>): Promise<unknown> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      try {
        this.#worker.postMessage({ ...request, id });
      } catch (error) {
        this.#pending.delete(id);
        reject(error);
      }
    });
  }

  /** Whether no call is answered any more. */
  get hasFailed(): boolean {
    return this.#failure !== undefined;
  }

  end(): void {
    this.#worker.terminate();
    this.#fail('it was closed');
  }

  #fail(why: string): void {
    this.#failure ??= new QuarkError('unsupported', `The file system cannot be used: ${why}.`, {
      details: { lacking: 'a dedicated worker' },
    });
    for (const { reject } of this.#pending.values()) reject(this.#failure);
    this.#pending.clear();
  }
}

/** The worker of this thread, with a number for an engine in it. */
export type WorkerLease = {
  readonly worker: EngineWorker;
  readonly engine: number;
  /** Has to be called once; the last one ends the worker. */
  giveBack(): void;
};

type TakenWorker = { readonly worker: Promise<EngineWorker>; users: number };

let shared: TakenWorker | undefined;
let nextEngine = 0;

/** The worker of this thread; another one where the last one has failed. */
export async function takeWorker(uri: string): Promise<WorkerLease> {
  shared ??= { worker: startWorker(uri), users: 0 };
  const taken = shared;
  taken.users++;
  try {
    const worker = await taken.worker;
    if (!worker.hasFailed) return { worker, engine: nextEngine++, giveBack: () => leave(taken) };
  } catch (error) {
    leave(taken);
    throw error;
  }
  leave(taken);
  if (shared === taken) shared = undefined;
  return takeWorker(uri);
}

function leave(taken: TakenWorker): void {
  if (--taken.users > 0) return;
  if (shared === taken) shared = undefined;
  void taken.worker.then(
    (worker) => worker.end(),
    () => undefined,
  );
}

async function startWorker(uri: string): Promise<EngineWorker> {
  if (typeof Worker === 'undefined')
    throw new QuarkError(
      'unsupported',
      `There are no dedicated workers here, so ${uri} cannot be opened. Use "idb:" or "memory:".`,
      { details: { uri, lacking: 'a dedicated worker' } },
    );
  const failures: string[] = [];
  for (const open of [openFile, openText])
    try {
      const worker = await open();
      await started(worker);
      return new EngineWorker(worker);
    } catch (error) {
      failures.push(messageOf(error));
    }
  throw new QuarkError(
    'unsupported',
    `The worker of ${uri} does not start (${failures.join('; ')}). Allow workers of this site and of "blob:" in the page's content security policy, or use "idb:".`,
    { details: { uri, lacking: 'a dedicated worker' } },
  );
}

function openFile(): Worker {
  if (typeof __QUARK_OPFS_WORKER_URL__ === 'undefined') throw new Error('no file of a worker');
  return __QUARK_NEW_OPFS_WORKER__;
}

async function openText(): Promise<Worker> {
  const { default: text } = await import('virtual:quark-inline-opfs-worker');
  const url = URL.createObjectURL(new Blob([text], { type: 'text/javascript' }));
  const worker = new Worker(url, { type: 'module' });
  worker.addEventListener('message', () => URL.revokeObjectURL(url), { once: true });
  return worker;
}

/** Waits until the worker has said that it runs. */
function started(worker: Worker): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => fail('it did not start in time'), START_MS);
    const fail = (why: string): void => {
      clearTimeout(timer);
      worker.terminate();
      reject(new Error(why));
    };
    worker.addEventListener(
      'message',
      () => {
        clearTimeout(timer);
        resolve();
      },
      { once: true },
    );
    worker.addEventListener('error', (event) => fail(event.message ?? 'it did not load'), {
      once: true,
    });
  });
}
