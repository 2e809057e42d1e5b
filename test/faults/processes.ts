/** Processes that are to be killed: bundled from the sources, started, told things, watched, killed. */
import { fork, type ChildProcess } from 'node:child_process';
import { readFile, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { bundle } from '../support/bundle.mjs';
import type { ClientOptions, SenderOptions, ServiceOptions } from './fault-program.ts';

/** A program as one file. */
export type Program = { readonly path: string; remove(): Promise<void> };

/** Bundles `test/faults/NAME`, or another folder's, inside the repository, where it finds the database drivers. */
export async function buildProgram(name: string, of: string = 'test/faults'): Promise<Program> {
  const build = join(import.meta.dirname, '../../build');
  await mkdir(build, { recursive: true });
  const path = await bundle(`${of}/${name}`, {
    folder: await mkdtemp(join(build, 'faults-')),
  });
  return { path, remove: () => rm(dirname(path), { recursive: true, force: true }) };
}

/** A process of ours. What it says on stdout is read line by line; a line that was cut off does not count. */
export class Child {
  readonly #process: ChildProcess;
  readonly #ended: Promise<string>;
  readonly #waiting: { test: (line: string) => boolean; resolve: (line: string) => void }[] = [];
  readonly lines: string[] = [];
  #rest = '';
  #problems = '';

  constructor(
    program: Program,
    args: readonly string[],
    options: { env?: object; execArgv?: string[] } = {},
  ) {
    this.#process = fork(program.path, args, {
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      env: { ...process.env, ...options.env },
      execArgv: options.execArgv ?? [],
    });
    this.#process.stdout?.on('data', (data: Buffer) => this.#read(data.toString()));
    this.#process.stderr?.on('data', (data: Buffer) => {
      this.#problems += data.toString();
    });
    this.#ended = new Promise((resolve) => {
      this.#process.on('error', (error) => resolve(error.message));
      this.#process.on('close', (code, signal) => resolve(signal ?? String(code)));
    });
  }

  /** The first line, said or yet to be said, that begins with `start`, without it. */
  async line(start: string): Promise<string> {
    const known = this.lines.find((line) => line.startsWith(start));
    const found =
      known ??
      (await Promise.race([
        new Promise<string>((resolve) => {
          this.#waiting.push({ test: (line) => line.startsWith(start), resolve });
        }),
        this.#ended.then((how) => {
          throw new Error(`ended (${how}) before "${start}": ${this.#problems}`);
        }),
      ]));
    return found.slice(start.length).trim();
  }

  tell(message: object): void {
    this.#process.send(message);
  }

  get isRunning(): boolean {
    return this.#process.exitCode === null && this.#process.signalCode === null;
  }

  get problems(): string {
    return this.#problems;
  }

  /** Resident memory in bytes; undefined where the system does not tell. */
  async residentBytes(): Promise<number | undefined> {
    const status = await readFile(`/proc/${this.#process.pid}/status`, 'utf8').catch(() => '');
    const kilobytes = /^VmRSS:\s+(\d+) kB/m.exec(status)?.[1];
    return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
  }

  /** Ends it as a power cut would, and says so when it had ended before. */
  async kill(): Promise<void> {
    if (!this.isRunning) throw new Error(`It had ended by itself: ${this.#problems}`);
    this.#process.kill('SIGKILL');
    const how = await this.#ended;
    if (how !== 'SIGKILL') throw new Error(`It ended by itself (${how}): ${this.#problems}`);
  }

  /** Asks it to end, and waits. Resolves with its exit code. */
  async stop(): Promise<string> {
    this.#process.kill('SIGTERM');
    return this.#ended;
  }

  /** Waits for its end. */
  ended(): Promise<string> {
    return this.#ended;
  }

  #read(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) {
      this.lines.push(line);
      for (const one of this.#waiting.splice(0)) {
        if (one.test(line)) one.resolve(line);
        else this.#waiting.push(one);
      }
    }
  }
}

/** A service; it says `listening PORT` when it does. */
export function startService(program: Program, options: ServiceOptions): Child {
  return new Child(program, ['service', JSON.stringify(options)]);
}

/** A client; it says `kept N` of batches, or `done`. */
export function startClient(
  program: Program,
  mode: 'client' | 'resume',
  options: ClientOptions,
): Child {
  return new Child(program, [mode, JSON.stringify(options)]);
}

/** A client that keeps nothing of its own; it says `rows TRIED ACKNOWLEDGED`. */
export function startSender(program: Program, options: SenderOptions): Child {
  return new Child(program, ['sender', JSON.stringify(options)]);
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
