/** The service under siege, as it is shipped: `quark serve` from a build, watched from outside. */
import { spawn, type ChildProcess } from 'node:child_process';
import { readFile, readdir } from 'node:fs/promises';
import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

/** Gives the garbage back when told to, so that what is measured is what is held. */
const COLLECT = `data:text/javascript,process.on('SIGUSR2',()=>{gc();gc()})`;
/** Ticks of the processor clock a second, as /proc counts: 100 on every Linux of today. */
const TICKS = 100;
const START_MS = 30_000;
/** Of an answer that is looked at. */
const MAX_TEXT = 1 << 20;

/** What the service says of itself, and what the system says of it. */
export type Held = {
  readonly bytesInFlight: number;
  readonly openStreams: number;
  readonly requestsInFlight: number;
};

export type Answer = {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly bytes: number;
  readonly text: string;
};

/** How a service is started. */
export type StartOptions = {
  readonly environment?: Readonly<Record<string, string>>;
  /** A program that starts it, with its arguments. */
  readonly before?: readonly string[];
};

/** A `quark serve` of a build. */
export class ServiceUnderSiege {
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;
  readonly port: number;
  /** Lines on standard error: the log. */
  readonly log: { lines: number; problems: string[] };

  private constructor(child: ChildProcess, port: number, log: ServiceUnderSiege['log']) {
    this.#child = child;
    this.#ended = new Promise((resolve) => child.once('exit', () => resolve()));
    this.port = port;
    this.log = log;
  }

  /** @param dist folder of the build @param wanted the port; 0 takes a free one */
  static async start(
    dist: string,
    storage: string,
    wanted = 0,
    { environment = {}, before = [] }: StartOptions = {},
  ): Promise<ServiceUnderSiege> {
    const [command, ...rest] = [...before, process.execPath];
    const child = spawn(
      command,
      [
        ...rest,
        '--expose-gc',
        '--import',
        COLLECT,
        `${dist}/cli.js`,
        'serve',
        '--storage',
        storage,
      ].concat(['--port', String(wanted), '--json', '--log-level', 'warn']),
      { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...environment } },
    );
    const log = { lines: 0, problems: [] as string[] };
    child.stderr.setEncoding('utf8');
    child.stderr.on('data', (text: string) => {
      log.lines += text.split('\n').length - 1;
      if (log.problems.length < 20) log.problems.push(text.slice(0, 2_000));
    });
    const port = await new Promise<number>((resolve, reject) => {
      let said = '';
      child.stdout.setEncoding('utf8');
      child.stdout.on('data', (text: string) => {
        said += text;
        if (said.includes('\n')) resolve((JSON.parse(said) as { port: number }).port);
      });
      child.once('exit', (code) =>
        reject(new Error(`quark serve ended (${code}): ${log.problems.join('')}`)),
      );
      setTimeout(() => reject(new Error('quark serve said nothing')), START_MS).unref();
    });
    return new ServiceUnderSiege(child, port, log);
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** What it holds for requests. */
  held(): Promise<Held> {
    return heldBy(this.port);
  }

  /** Milliseconds until nothing is under way and all budgets are back; undefined when that does not come in time. */
  async settled(limitMs: number): Promise<number | undefined> {
    return this.isRunning ? settledAt(this.port, limitMs) : undefined;
  }

  /** Handles of the process. */
  async handles(): Promise<number> {
    return (await readdir(`/proc/${this.#child.pid}/fd`)).length;
  }

  /** Resident memory in MiB once garbage is collected. */
  async residentMiB(): Promise<number> {
    this.#child.kill('SIGUSR2');
    // The signal is handled before the answer to what is asked after it.
    await ask(this.port, '/healthz');
    await ask(this.port, '/healthz');
    const status = await readFile(`/proc/${this.#child.pid}/status`, 'utf8');
    return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) / 1024;
  }

  /** Processor time of all its threads in seconds. */
  async processorSeconds(): Promise<number> {
    const stat = await readFile(`/proc/${this.#child.pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) / TICKS;
  }

  /** Ends it as a power cut would. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#ended;
  }

  /** Ends it; one that is busy is not waited for. */
  async stop(): Promise<void> {
    this.#child.kill('SIGTERM');
    const undo = setTimeout(() => this.#child.kill('SIGKILL'), 2_000);
    await this.#ended;
    clearTimeout(undo);
  }
}

/** Budgets, as `/metrics` says; the request that asks is not counted. */
export async function heldBy(port: number, limitMs = 10_000): Promise<Held> {
  const { text } = await ask(port, '/metrics', { limitMs });
  const gauge = (name: string): number =>
    Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? Number.NaN);
  return {
    bytesInFlight: gauge('quark_bytes_in_flight'),
    openStreams: gauge('quark_open_streams'),
    requestsInFlight: gauge('quark_http_requests_in_flight') - 1,
  };
}

/** Milliseconds until a service on this machine holds nothing; undefined when that does not come in time. */
export async function settledAt(port: number, limitMs: number): Promise<number | undefined> {
  const startMs = performance.now();
  for (;;) {
    const held = await heldBy(port, Math.max(1_000, limitMs));
    const spentMs = performance.now() - startMs;
    if (Object.values(held).every((value) => value === 0)) return spentMs;
    if (spentMs > limitMs) return undefined;
    await sleep(20);
  }
}

/** One request on a connection of its own. Status 0: no answer. */
export function ask(
  port: number,
  path: string,
  given: {
    readonly method?: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: Uint8Array;
    readonly limitMs?: number;
  } = {},
): Promise<Answer> {
  const { method = 'GET', headers = {}, body, limitMs = 60_000 } = given;
  return new Promise((resolve) => {
    const none = (text: string): void =>
      resolve({ status: 0, retryAfter: undefined, bytes: 0, text });
    const outgoing = request({
      host: '127.0.0.1',
      port,
      method,
      path,
      agent: false,
      headers: body === undefined ? headers : { ...headers, 'content-length': body.byteLength },
    });
    const timer = setTimeout(() => outgoing.destroy(new Error('no answer in time')), limitMs);
    outgoing.on('response', (response) => {
      let bytes = 0;
      let text = '';
      response.on('data', (part: Buffer) => {
        bytes += part.length;
        if (text.length < MAX_TEXT) text += part.toString('utf8');
      });
      response.on('error', (error) => none(error.message));
      response.on('end', () => {
        clearTimeout(timer);
        const { statusCode: status = 0, headers: found } = response;
        resolve({ status, retryAfter: found['retry-after'], bytes, text });
      });
    });
    outgoing.on('error', (error) => {
      clearTimeout(timer);
      none(error.message);
    });
    outgoing.end(body);
  });
}
