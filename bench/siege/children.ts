/** Processes beside the service, at the lowest priority or not. */
import { spawn } from 'node:child_process';
import type { Job } from './siege-program.ts';

/** A process that takes one job after the other. */
export class Helper {
  readonly #child: ReturnType<typeof spawn>;

  /** @param program the bundle of `siege-program.ts` */
  constructor(program: string, isNice: boolean) {
    const [command, ...args] = [...(isNice ? ['nice', '-n', '19'] : []), process.execPath, program];
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

  stop(): void {
    this.#child.removeAllListeners('exit');
    this.#child.kill();
  }
}
