/** One worker, as seen from the thread that uses it. */
import { transfer, wrap, type Remote } from 'comlink';
import type { Clock } from '../base/clock.ts';
import { QuarkError } from '../base/errors.ts';
import type { KernelCall, KernelHost, KernelReply, TensorView } from './host.ts';
import type { SpawnedWorker, WorkerWay } from './spawn.ts';

/** A worker that has answered. It runs one call at a time. */
export class WorkerClient {
  readonly #worker: SpawnedWorker;
  readonly #remote: Remote<KernelHost>;
  readonly #clock: Clock;
  readonly #deaths = new Set<(reason: string) => void>();
  #death: string | undefined;

  private constructor(worker: SpawnedWorker, clock: Clock) {
    this.#worker = worker;
    this.#clock = clock;
    this.#remote = wrap<KernelHost>(worker.endpoint);
    worker.onDeath((reason) => this.#die(reason));
  }

  /**
   * Makes a worker and waits for its first answer.
   *
   * @throws {QuarkError} `kernel_failed` when it dies or does not answer within `timeoutMs`
   */
  static async open(way: WorkerWay, clock: Clock, timeoutMs: number): Promise<WorkerClient> {
    const client = new WorkerClient(await way.spawn(), clock);
    client.#worker.setBusy(true);
    try {
      await client.#race(() => client.#remote.ping(), timeoutMs, 'start');
    } finally {
      client.#worker.setBusy(false);
    }
    return client;
  }

  /** Calls back when the worker dies, at once if it has. */
  onDeath(listener: () => void): void {
    if (this.#death === undefined) this.#deaths.add(listener);
    else listener();
  }

  /**
   * Runs one call. An unshared buffer is transferred, and comes back with the reply.
   *
   * @throws {QuarkError} `kernel_failed` when the worker dies or does not answer in time; it is of no use afterwards
   */
  async run(call: KernelCall, view: TensorView, timeoutMs: number): Promise<KernelReply> {
    this.#worker.setBusy(true);
    try {
      return await this.#race(() => this.#send(call, view), timeoutMs, 'answer');
    } finally {
      this.#worker.setBusy(false);
    }
  }

  /** Ends the worker. Calls that are running fail. */
  terminate(): void {
    this.#die('the worker was closed');
  }

  #send(call: KernelCall, view: TensorView): Promise<KernelReply> {
    return this.#remote.run(
      call,
      view.buffer instanceof ArrayBuffer ? transfer(view, [view.buffer]) : view,
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
      const cancel = this.#clock.after(timeoutMs, () =>
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
