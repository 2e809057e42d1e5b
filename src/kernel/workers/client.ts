/** One worker, as seen from the thread that uses it. */
import { transfer, wrap, type Remote } from 'comlink';
import type { Clock } from '../../base/clock.ts';
import { messageOf, QuarkError } from '../../base/errors.ts';
import { RING_MESSAGE } from './ring/ring-memory.ts';
import type { SpawnedWorker, WorkerWay } from './spawn.ts';
import type { Modules } from '../twins.ts';
import type { WorkerHost, WorkerReply } from './worker-host.ts';

/** A worker that has answered. It runs one call at a time. */
export class WorkerClient {
  readonly #worker: SpawnedWorker;
  readonly #remote: Remote<WorkerHost>;
  readonly #clock: Clock;
  readonly #deaths = new Set<(reason: string) => void>();
  #death: string | undefined;
  #wasmFailure: string | null = null;
  #onRingMessage: (() => void) | undefined;

  private constructor(worker: SpawnedWorker, clock: Clock) {
    this.#worker = worker;
    this.#clock = clock;
    this.#remote = wrap<WorkerHost>(worker.endpoint);
    worker.onDeath((reason) => this.#die(reason));
    worker.endpoint.addEventListener('message', (event: Event) => {
      if ('data' in event && event.data === RING_MESSAGE) this.#onRingMessage?.();
    });
  }

  /**
   * Makes a worker, hands it the modules and waits for its first answer.
   *
   * @param modules null where WebAssembly cannot be compiled: the worker runs plain JavaScript
   * @throws {QuarkError} `kernel_failed` when it dies or does not answer within `timeoutMs`
   */
  static async open(
    way: WorkerWay,
    modules: Modules | null,
    clock: Clock,
    timeoutMs: number,
  ): Promise<WorkerClient> {
    const worker = await way.spawn();
    let client: WorkerClient;
    try {
      client = new WorkerClient(worker, clock);
    } catch (error) {
      // It is none that can be talked to, and would keep the process alive.
      worker.terminate();
      throw error;
    }
    client.#worker.setBusy(true);
    try {
      await client.#start(modules, timeoutMs);
    } catch (error) {
      client.terminate();
      throw error;
    } finally {
      client.#worker.setBusy(false);
    }
    return client;
  }

  /** Whether it can run another call. */
  get isAlive(): boolean {
    return this.#death === undefined;
  }

  /** Why the worker does not use the modules it was to use, or null. */
  get wasmFailure(): string | null {
    return this.#wasmFailure;
  }

  /** Calls back when the worker dies, at once if it has. */
  onDeath(listener: () => void): void {
    if (this.#death === undefined) this.#deaths.add(listener);
    else listener();
  }

  /**
   * Runs one call. An unshared buffer is transferred, and comes back with the reply; `ports` of the call move to the worker.
   *
   * @throws {QuarkError} `kernel_failed` when the worker dies or does not answer in time, or the call cannot be sent to it
   */
  async run(
    call: unknown,
    buffer: ArrayBufferLike,
    timeoutMs: number,
    ports: readonly MessagePort[] = [],
  ): Promise<WorkerReply> {
    this.#worker.setBusy(true);
    try {
      return await this.#race(() => this.#send(call, buffer, ports), timeoutMs, 'answer');
    } finally {
      this.#worker.setBusy(false);
    }
  }

  /**
   * Has the worker serve a ring until the ring sends it away. It runs nothing else as long.
   *
   * @param onMessage called when a job is done that somebody waits for
   * @throws {QuarkError} `kernel_failed` when the worker dies
   */
  async serve(buffer: SharedArrayBuffer, worker: number, onMessage: () => void): Promise<void> {
    this.#onRingMessage = onMessage;
    try {
      await this.#race(() => this.#remote.serve(buffer, worker), Infinity, 'answer');
    } finally {
      this.#onRingMessage = undefined;
    }
  }

  /** Whether the worker keeps a Node process alive, while it serves a ring. */
  setBusy(isBusy: boolean): void {
    if (this.isAlive) this.#worker.setBusy(isBusy);
  }

  /** Ends the worker. Calls that are running fail. */
  terminate(): void {
    this.#die('the worker was closed');
  }

  async #start(modules: Modules | null, timeoutMs: number): Promise<void> {
    const start = (sent: Modules | null): Promise<string | null> =>
      this.#race(() => this.#remote.start(sent), timeoutMs, 'start');
    try {
      this.#wasmFailure = await start(modules);
    } catch (error) {
      // A worker that a user made may stand where a module cannot be sent; it can still run plain JavaScript.
      if (modules === null || !this.isAlive) throw error;
      this.#wasmFailure = `the module could not be sent: ${messageOf(causeOf(error))}`;
      await start(null);
    }
  }

  #send(
    call: unknown,
    buffer: ArrayBufferLike,
    ports: readonly MessagePort[],
  ): Promise<WorkerReply> {
    return this.#remote.run(
      ports.length === 0 ? call : transfer(call, [...ports]),
      buffer instanceof ArrayBuffer ? transfer(buffer, [buffer]) : buffer,
    );
  }

  #race<T>(work: () => Promise<T>, timeoutMs: number, what: 'start' | 'answer'): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const fail = (reason: string): void => {
        const message =
          what === 'start'
            ? `A kernel worker could not be started: ${reason}.`
            : `A kernel call failed: ${reason}. Another worker takes its place; the call can be repeated.`;
        reject(new QuarkError('kernel_failed', message, { details: { reason } }));
      };
      if (this.#death !== undefined) {
        fail(this.#death);
        return;
      }
      // A dead worker never answers, and the promise of its call stays pending: the timer has to go here too.
      const onDeath = (reason: string): void => {
        cancel();
        fail(reason);
      };
      this.#deaths.add(onDeath);
      const cancel =
        timeoutMs === Infinity
          ? () => undefined
          : this.#clock.after(timeoutMs, () =>
              this.#die(`the worker did not ${what} within ${timeoutMs} ms`),
            );
      void work()
        .then(resolve, (error: unknown) => {
          reject(
            new QuarkError('kernel_failed', 'A kernel call could not be sent to its worker.', {
              cause: error,
            }),
          );
        })
        .finally(() => {
          cancel();
          this.#deaths.delete(onDeath);
        });
    });
  }

  #die(reason: string): void {
    if (this.#death !== undefined) return;
    this.#death = reason;
    this.#worker.terminate();
    const listeners = [...this.#deaths];
    this.#deaths.clear();
    for (const listener of listeners) listener(reason);
  }
}

function causeOf(error: unknown): unknown {
  return error instanceof Error && error.cause !== undefined ? error.cause : error;
}
