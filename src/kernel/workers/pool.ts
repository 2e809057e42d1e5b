/**
 * The worker pool: one shared queue, first in first out, over workers that are made when there is work for them. A worker that dies
 * fails its own call and nothing else; the next call gets a new one. When no worker can be made at all, calls run on this thread.
 */
import type { Clock } from '../../base/clock.ts';
import { messageOf, QuarkError } from '../../base/errors.ts';
import { WorkerClient } from './client.ts';
import type { WorkerWay, WorkerWayName } from './spawn.ts';
import type { Modules } from '../twins.ts';
import type { WorkerSlots } from './slots.ts';
import { isTransferCall, type TransferCall } from './transferred.ts';
import { rebuildError, type Execute } from './worker-host.ts';

/** What a {@link WorkerPool} needs to know. */
export type WorkerPoolConfig<C, R> = {
  /** Most workers at a time; 0 runs everything on this thread. */
  readonly size: number;
  /** Ways of making a worker, in the order in which they are tried. */
  readonly ways: readonly WorkerWay[];
  /** The modules for the workers; where it rejects, they run plain JavaScript. Left out for workers that need none. */
  readonly modules?: () => Promise<Modules>;
  /** Runs a call on this thread. */
  readonly runHere: Execute<C, R>;
  readonly clock: Clock;
  /** A worker that has not answered its first message by then counts as not working. */
  readonly startTimeoutMs: number;
  /** A call that has not been answered by then fails, and its worker is replaced. */
  readonly callTimeoutMs: number;
  /** Workers that had nothing to do for so long are ended. */
  readonly idleMs: number;
  /** Called when there has been no work for so long, and when there will be no workers. */
  readonly onIdle: () => void;
  /** Called when a call waits for a worker that serves a ring. */
  readonly onCrowded?: () => void;
  /** Of a pool of analyses, which share the processors with other work of the process; unless given, calls never wait for it. */
  readonly slots?: WorkerSlots;
  /** Whether the ring was used, by those who wait for nothing, since this was last asked. */
  readonly takeRingUse?: () => boolean;
};

/** A call that was given to the pool. */
export type PoolRun<R> = {
  readonly result: Promise<R>;
  /** The buffer of the call, once the pool has no more use for it; undefined when it was lost. Never rejects. */
  readonly done: Promise<ArrayBufferLike | undefined>;
  /**
   * Takes the call back with `error`: out of the queue, or, when a worker has it already, to be finished unheard. A worker that is
   * not finished soon after is ended and replaced.
   */
  readonly cancel: (error: unknown) => void;
  /** Takes the call back if no worker has it: its buffer; undefined where one has. The result stays open. */
  readonly takeBack: () => ArrayBufferLike | undefined;
};

/** What a {@link WorkerPool} is doing. */
export type PoolState = {
  readonly way: WorkerWayName;
  readonly failures: readonly string[];
  readonly workerCount: number;
  readonly queuedCount: number;
  readonly runningCount: number;
  readonly diedCount: number;
};

type CallTask<C, R> = {
  readonly kind: 'call';
  readonly call: C | TransferCall;
  readonly buffer: ArrayBufferLike;
  readonly ports: readonly MessagePort[];
  readonly resolve: (value: R) => void;
  readonly reject: (error: unknown) => void;
  readonly finish: (buffer: ArrayBufferLike | undefined) => void;
};

type ServeTask = {
  readonly kind: 'serve';
  readonly buffer: SharedArrayBuffer;
  readonly worker: number;
  readonly onMessage: () => void;
  readonly finish: () => void;
};

type Task<C, R> = CallTask<C, R> | ServeTask;

/** A worker that was asked to serve a ring. */
export type PoolServe = {
  /** Resolves when it serves it no more, for whatever reason. */
  readonly ended: Promise<void>;
  /** Ends the worker that does, as one that died. */
  readonly kill: () => void;
  /** Ends it as one whose work nobody wants. */
  readonly abandon: () => void;
};

/** How long a worker may go on with a call nobody waits for: about as long as a new worker takes to start, several times over. */
const ABANDON_MS = 250;
/** So many starts in a row may fail, of a way that has worked before, until the pool makes do with the workers it has. */
const MAX_FAILED_STARTS = 3;

/** Runs calls of one kind on workers of one kind. */
export class WorkerPool<C, R> {
  readonly #config: WorkerPoolConfig<C, R>;
  readonly #queue: Task<C, R>[] = [];
  readonly #idle: WorkerClient[] = [];
  readonly #busy = new Map<Task<C, R>, WorkerClient>();
  readonly #abandoned = new WeakSet<WorkerClient>();
  readonly #failures: string[] = [];
  #way: WorkerWay | undefined;
  #starting = 0;
  #failedStarts = 0;
  #hasWorkers: boolean;
  #diedCount = 0;
  #isClosed = false;
  #cancelIdle: (() => void) | undefined;
  /** Whether workers that serve a ring have something to do there. */
  #isRingBusy = false;
  readonly #onFree = (): void => this.#pump();

  constructor(config: WorkerPoolConfig<C, R>) {
    this.#config = config;
    this.#hasWorkers = config.size > 0 && config.ways.length > 0;
  }

  /** Whether a call may go to a worker: false once every way of making one has failed. */
  get hasWorkers(): boolean {
    return this.#hasWorkers;
  }

  /** A look at the pool. */
  state(): PoolState {
    return {
      way: this.#hasWorkers ? (this.#way?.name ?? 'pending') : 'none',
      failures: [...this.#failures],
      workerCount: this.#idle.length + this.#busy.size,
      queuedCount: this.#queue.filter(({ kind }) => kind === 'call').length,
      runningCount: this.#busy.size - this.#serving().length,
      diedCount: this.#diedCount,
    };
  }

  /**
   * Queues a call about the contents of `buffer`, which is the pool's until `done`.
   *
   * @param ports those in the call: they move to the worker
   */
  run(call: C, buffer: ArrayBufferLike, ports: readonly MessagePort[] = []): PoolRun<R> {
    return this.#queueCall(call, buffer, ports);
  }

  /** Queues so many jobs that are written into `buffer`, which comes back with their answers; 0: a worker touches the memory. */
  runJobs(transferredJobs: number, buffer: ArrayBuffer): PoolRun<unknown> {
    return this.#queueCall({ transferredJobs }, buffer, []);
  }

  #queueCall(
    call: C | TransferCall,
    buffer: ArrayBufferLike,
    ports: readonly MessagePort[],
  ): PoolRun<R> {
    let finish: CallTask<C, R>['finish'] = nothing;
    const done = new Promise<ArrayBufferLike | undefined>((resolve) => {
      finish = resolve;
    });
    let cancel: PoolRun<R>['cancel'] = nothing;
    let takeBack: PoolRun<R>['takeBack'] = () => undefined;
    const result = new Promise<R>((resolve, reject) => {
      const task: Task<C, R> = { kind: 'call', call, buffer, ports, resolve, reject, finish };
      takeBack = () => {
        const at = this.#queue.indexOf(task);
        if (at < 0) return undefined;
        this.#queue.splice(at, 1);
        finish(buffer);
        return buffer;
      };
      cancel = (error) => {
        if (takeBack() === undefined) this.#abandonLater(task);
        reject(error);
      };
      this.#queue.push(task);
    });
    if (this.#isClosed) cancel(closedError());
    else this.#pump();
    return { result, done, cancel, takeBack };
  }

  /**
   * Has a worker serve a ring, as soon as there is one, until the ring sends it away or it has
   * not been busy for the `idleMs` of the pool.
   *
   * @param worker its number in the ring
   * @param onMessage called when a job is done that somebody waits for
   */
  serve(buffer: SharedArrayBuffer, worker: number, onMessage: () => void): PoolServe {
    let task: ServeTask | undefined;
    const ended = new Promise<void>((finish) => {
      task = { kind: 'serve', buffer, worker, onMessage, finish };
      if (this.#isClosed) finish();
      else this.#queue.push(task);
    });
    if (!this.#isClosed) this.#pump();
    const server = (): WorkerClient | undefined =>
      task === undefined ? undefined : this.#busy.get(task);
    return {
      ended,
      kill: () => server()?.terminate(),
      abandon: () => {
        const client = server();
        if (client === undefined) return;
        this.#abandoned.add(client);
        client.terminate();
      },
    };
  }

  /** Says whether workers that serve a ring have something to do there: then they keep a process alive, and are not idle. */
  setRingBusy(isBusy: boolean): void {
    if (isBusy === this.#isRingBusy) return;
    this.#isRingBusy = isBusy;
    for (const client of this.#serving()) client.setBusy(isBusy);
    if (!this.#isClosed) this.#pump();
  }

  /** Fails what is queued and running, and ends the workers. */
  close(): void {
    this.#isClosed = true;
    this.#cancelIdle?.();
    this.#config.slots?.forget(this.#onFree);
    for (const task of this.#queue.splice(0)) {
      if (task.kind === 'call') task.reject(closedError());
      task.finish(task.buffer);
    }
    this.#endWorkers([...this.#idle.splice(0), ...this.#busy.values()]);
  }

  #pump(): void {
    this.#cancelIdle?.();
    this.#cancelIdle = undefined;
    if (!this.#hasWorkers) {
      this.#config.slots?.forget(this.#onFree);
      for (const task of this.#queue.splice(0)) this.#runHere(task);
      this.#config.onIdle();
      return;
    }
    while (this.#queue.length > 0) {
      const client = this.#idle.at(-1);
      if (client === undefined) break;
      const free = this.#begin();
      if (free === undefined) break;
      this.#idle.pop();
      const task = this.#queue.shift();
      if (task !== undefined) void this.#runOn(client, task).finally(free);
    }
    this.#startFor(this.#queue.length);
    const serving = this.#serving();
    if (serving.length > 0 && this.#queue.some(({ kind }) => kind === 'call'))
      this.#config.onCrowded?.();
    if (this.#queue.length > 0 || this.#busy.size > serving.length || this.#isRingBusy) return;
    this.#cancelIdle = this.#config.clock.after(this.#config.idleMs, () => {
      if (serving.length > 0 && this.#config.takeRingUse?.() === true) {
        this.#pump();
        return;
      }
      for (const [task, client] of this.#busy) {
        if (task.kind !== 'serve') continue;
        this.#busy.delete(task);
        this.#abandoned.add(client);
        client.terminate();
      }
      this.#endWorkers(this.#idle.splice(0));
      this.#config.onIdle();
    });
  }

  /** What ends a slot of the process; undefined while the pool has to wait for one. */
  #begin(): (() => void) | undefined {
    const { slots } = this.#config;
    return slots === undefined ? nothing : slots.beginAnalysis(this.#onFree);
  }

  #serving(): readonly WorkerClient[] {
    return [...this.#busy].flatMap(([{ kind }, client]) => (kind === 'serve' ? [client] : []));
  }

  #startFor(waiting: number): void {
    // Until a way is known to work, one worker at a time finds out.
    const most = this.#way === undefined ? 1 : this.#config.size;
    const alive = this.#idle.length + this.#busy.size;
    if (alive > 0 && this.#failedStarts >= MAX_FAILED_STARTS) return;
    while (this.#starting < Math.min(waiting, most) && alive + this.#starting < this.#config.size) {
      this.#starting += 1;
      void this.#start();
    }
  }

  async #start(): Promise<void> {
    const client = await this.#open();
    this.#starting -= 1;
    if (client !== undefined && this.#isClosed) client.terminate();
    if (this.#isClosed) return;
    if (client !== undefined) {
      this.#idle.push(client);
      client.onDeath(() => {
        const at = this.#idle.indexOf(client);
        if (at < 0) return;
        this.#idle.splice(at, 1);
        this.#diedCount += 1;
      });
    }
    this.#pump();
  }

  async #open(): Promise<WorkerClient | undefined> {
    const { clock, startTimeoutMs } = this.#config;
    const modules = await this.#modules();
    for (const way of this.#way === undefined ? this.#config.ways : [this.#way]) {
      try {
        const client = await WorkerClient.open(way, modules, clock, startTimeoutMs);
        this.#way = way;
        this.#failedStarts = 0;
        if (client.wasmFailure !== null)
          this.#note(`${way.name}: without WebAssembly: ${client.wasmFailure}`);
        return client;
      } catch (error) {
        this.#failures.push(`${way.name}: ${messageOf(error)}`);
      }
    }
    this.#failedStarts += 1;
    const isHopeless = this.#way === undefined || this.#failedStarts >= MAX_FAILED_STARTS;
    if (isHopeless && this.#idle.length + this.#busy.size === 0) this.#hasWorkers = false;
    return undefined;
  }

  async #runOn(client: WorkerClient, task: Task<C, R>): Promise<void> {
    this.#busy.set(task, client);
    try {
      if (task.kind === 'serve') await this.#serveOn(client, task);
      else await this.#callOn(client, task);
    } finally {
      this.#busy.delete(task);
      if (!this.#isClosed) {
        if (client.isAlive) this.#idle.push(client);
        this.#pump();
      }
    }
  }

  async #callOn(client: WorkerClient, task: CallTask<C, R>): Promise<void> {
    try {
      const { buffer, call, ports } = task;
      const reply = await client.run(call, buffer, this.#config.callTimeoutMs, ports);
      const { outcome } = reply;
      if (outcome.ok) task.resolve(outcome.value as R); // bytes become types: the host runs what `runHere` runs
      else task.reject(rebuildError(outcome.error));
      task.finish(reply.buffer ?? task.buffer);
    } catch (error) {
      if (!client.isAlive && !this.#isClosed && !this.#abandoned.has(client)) this.#diedCount += 1;
      task.reject(this.#isClosed ? closedError() : error);
      const isLost = task.buffer instanceof ArrayBuffer && task.buffer.byteLength === 0;
      task.finish(isLost ? undefined : task.buffer);
    }
  }

  async #serveOn(client: WorkerClient, task: ServeTask): Promise<void> {
    try {
      client.setBusy(this.#isRingBusy);
      await client.serve(task.buffer, task.worker, task.onMessage);
      client.setBusy(false);
    } catch (error) {
      if (client.isAlive) this.#note(messageOf(error));
      else if (!this.#isClosed && !this.#abandoned.has(client)) this.#diedCount += 1;
    } finally {
      task.finish();
    }
  }

  #runHere(task: Task<C, R>): void {
    if (task.kind === 'serve') {
      task.finish();
      return;
    }
    try {
      if (isTransferCall(task.call)) throw noWorkers();
      task.resolve(this.#config.runHere(task.call, task.buffer));
    } catch (error) {
      task.reject(error);
    }
    task.finish(task.buffer);
  }

  async #modules(): Promise<Modules | null> {
    try {
      return (await this.#config.modules?.()) ?? null;
    } catch (error) {
      this.#note(`without WebAssembly: ${messageOf(error)}`);
      return null;
    }
  }

  /** Keeps a reason that may come up again with every worker. */
  #note(reason: string): void {
    if (!this.#failures.includes(reason)) this.#failures.push(reason);
  }

  #abandonLater(task: Task<C, R>): void {
    const client = this.#busy.get(task);
    if (client === undefined) return;
    this.#config.clock.after(ABANDON_MS, () => {
      if (this.#busy.get(task) !== client) return;
      this.#abandoned.add(client);
      client.terminate();
    });
  }

  #endWorkers(clients: readonly WorkerClient[]): void {
    for (const client of clients) client.terminate();
  }
}

function nothing(): void {}

/** What jobs in a buffer get where no worker can be made: the caller does them. */
function noWorkers(): QuarkError {
  return new QuarkError('kernel_failed', 'There are no workers here.', {
    details: { reason: 'no workers' },
  });
}

/** What calls get that come after the end, or are overtaken by it. */
export function closedError(): QuarkError {
  return new QuarkError('kernel_failed', 'The kernels are closed. Make new ones.', {
    details: { reason: 'closed' },
  });
}
