/** Processes beside the service, at the lowest priority or not. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Job } from './siege-program.ts';

/** A process that takes one job after the other. */
export class Helper {
  readonly #child: ReturnType<typeof spawn>;

  /** @param program the bundle of `siege-program.ts` @param under a command that runs it, such as a tracer */
  constructor(program: string, isNice: boolean, under: readonly string[] = []) {
    const nice = isNice ? ['nice', '-n', '19'] : [];
    const [command, ...args] = [...nice, ...under, process.execPath, program];
    this.#child = spawn(command ?? '', args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  }

  do<T>(job: Job): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#child.once('message', (message: { result?: T; failed?: string }) => {
        this.#child.removeAllListeners('exit');
        if (message.failed === undefined) resolve(message.result as T);
        else reject(new Error(message.failed));
      });
      this.#child.once('exit', (code) =>
        reject(new Error(`the process of a siege ended (${code})`)),
      );
      this.#child.send(job);
    });
  }

  /** Lets the process end by itself, and waits for it. */
  async end(): Promise<void> {
    this.#child.removeAllListeners('exit');
    const ended = once(this.#child, 'exit');
    this.#child.disconnect();
    await ended;
  }

  stop(): void {
    this.#child.removeAllListeners('exit');
    this.#child.kill();
  }
}
