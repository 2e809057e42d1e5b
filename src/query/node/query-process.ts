/** The process of a query, from the outside: it is given work, watched, and killed. DuckDB cannot be stopped in any other way. */
import { spawn, type ChildProcess } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { systemClock } from '../../base/clock.ts';
import { messageOf, QuarkError } from '../../base/errors.ts';
import type { FromQuery, QueryFailure, ToQuery } from '../query-messages.ts';

/** What ends a query. */
export type QueryLimits = {
  readonly timeoutMs: number;
  readonly memoryMib: number;
  readonly signal: AbortSignal | undefined;
};

type Answered = Exclude<FromQuery, QueryFailure>;

/** What the process may take beside the memory of DuckDB: itself, and rows under way. */
const OWN_MIB = 512;
const POLL_MS = 100;
/** How much of what a process wrote before it died is shown. */
const SHOWN_CHARS = 2_000;

export class QueryProcess {
  readonly #child: ChildProcess;
  readonly #ending = new AbortController();
  readonly #undo: (() => void)[] = [];
  #waiting: { resolve(answer: Answered): void; reject(error: unknown): void } | undefined;
  #written = '';

  private constructor(child: ChildProcess, limits: QueryLimits) {
    this.#child = child;
    child.on('message', (message: FromQuery) => this.#receive(message));
    child.on('error', (cause) => this.#end(notStarted(cause)));
    child.on('exit', (code, signal) => this.#end(died(signal ?? code, this.#written)));
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#written = `${this.#written}${text}`.slice(-SHOWN_CHARS);
    });
    this.#watchTime(limits.timeoutMs);
    this.#watchMemory(limits.memoryMib);
    this.#watchSignal(limits.signal);
  }

  /** @throws {QuarkError} `unsupported` when processes cannot be started here */
  static async start(limits: QueryLimits): Promise<QueryProcess> {
    const { default: program } = await import('virtual:quark-inline-query-process');
    let child: ChildProcess;
    try {
      // The program goes through the standard input: it needs no file, wherever this one was bundled into.
      child = spawn(process.execPath, ['--input-type=module', '-'], {
        stdio: ['pipe', 'ignore', 'pipe', 'ipc'],
        serialization: 'advanced',
        windowsHide: true,
      });
    } catch (cause) {
      throw notStarted(cause);
    }
    // What fails here shows as the end of the process.
    child.stdin?.on('error', () => undefined).end(program);
    return new QueryProcess(child, limits);
  }

  /** Aborted when the process has ended, with the error that says why. */
  get signal(): AbortSignal {
    return this.#ending.signal;
  }

  /** The answer to a message. One message is under way at a time. */
  request(message: ToQuery): Promise<Answered> {
    return new Promise((resolve, reject) => {
      if (this.signal.aborted) {
        reject(this.signal.reason);
        return;
      }
      this.#waiting = { resolve, reject };
      // Where it cannot be sent, the process has ended, and says why.
      this.#child.send(message, () => undefined);
    });
  }

  /** What `work` gives, or the reason why the process ended, at once. */
  async during<T>(work: Promise<T>): Promise<T> {
    const ended = new Promise<never>((_resolve, reject) => {
      if (this.signal.aborted) reject(this.signal.reason);
      else this.signal.addEventListener('abort', () => reject(this.signal.reason), { once: true });
    });
    // The one that comes second is of no interest.
    ended.catch(() => undefined);
    work.catch(() => undefined);
    return Promise.race([ended, work]);
  }

  /** Ends the process. */
  close(): void {
    this.#end(new QuarkError('aborted', 'The query has ended.'));
  }

  #receive(message: FromQuery): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (message.kind !== 'failed') {
      waiting?.resolve(message);
      return;
    }
    const { code, message: text, details, reason } = message;
    const cause = reason === null ? undefined : new Error(reason);
    waiting?.reject(new QuarkError(code, text, { details, cause }));
  }

  #end(reason: QuarkError): void {
    if (this.signal.aborted) return;
    for (const undo of this.#undo) undo();
    this.#child.kill('SIGKILL');
    // The system may take a while to free its memory: nobody waits for that.
    this.#child.unref();
    this.#child.stderr?.destroy();
    if (this.#child.connected) this.#child.disconnect();
    this.#ending.abort(reason);
    this.#waiting?.reject(reason);
  }

  #watchTime(timeoutMs: number): void {
    this.#undo.push(
      systemClock.after(timeoutMs, () => {
        const rule = `at most ${timeoutMs / 1_000} s`;
        this.#end(
          overLimit(
            `The query took longer than its time limit of ${timeoutMs / 1_000} s. The option timeoutMs (quark query: --timeout) allows more.`,
            'timeoutMs',
            timeoutMs,
            rule,
          ),
        );
      }),
    );
  }

  /** Where the system says what a process takes: on Linux. Elsewhere only DuckDB's own limit holds. */
  #watchMemory(memoryMib: number): void {
    const { pid } = this.#child;
    if (process.platform !== 'linux' || pid === undefined) return;
    const limitKib = (memoryMib + OWN_MIB) * 1024;
    let undo = (): void => undefined;
    const poll = async (): Promise<void> => {
      const kib = await residentKib(pid);
      if (this.signal.aborted) return;
      if (kib > limitKib)
        this.#end(
          overLimit(
            `The query took more memory than its limit of ${memoryMib} MiB, and ${OWN_MIB} MiB for its process. The option maxMemoryMib (quark query: --max-memory) allows more.`,
            'maxMemoryMib',
            memoryMib,
            `at most ${memoryMib} MiB`,
          ),
        );
      else next();
    };
    const next = (): void => {
      undo = systemClock.after(POLL_MS, () => void poll());
    };
    this.#undo.push(() => undo());
    next();
  }

  #watchSignal(signal: AbortSignal | undefined): void {
    if (signal === undefined) return;
    const abort = (): void =>
      this.#end(new QuarkError('aborted', 'The operation was aborted.', { cause: signal.reason }));
    signal.addEventListener('abort', abort, { once: true });
    this.#undo.push(() => signal.removeEventListener('abort', abort));
    if (signal.aborted) abort();
  }
}

/** Memory of a process that is in RAM; 0 when it cannot be told. */
async function residentKib(pid: number): Promise<number> {
  try {
    const status = await readFile(`/proc/${pid}/status`, 'latin1');
    return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0);
  } catch {
    return 0;
  }
}

/** An answer, or the work for it, over a limit that an option sets. */
export function overLimit(
  message: string,
  option: string,
  limit: number,
  rule: string,
): QuarkError {
  return new QuarkError('invalid_input', message, {
    details: { field: 'sql', rule, option, limit },
  });
}

function notStarted(cause: unknown): QuarkError {
  return new QuarkError(
    'unsupported',
    `The process of the query could not be started (${messageOf(cause)}).`,
    { cause },
  );
}

function died(how: string | number | null, written: string): QuarkError {
  return new QuarkError(
    'invalid_input',
    `The query failed. Its process was ended by ${typeof how === 'string' ? `the signal ${how}` : `itself, with code ${String(how)}`}, as when the machine has no memory left.`,
    { details: { field: 'sql', rule: 'a query that its process survives', output: written } },
  );
}
