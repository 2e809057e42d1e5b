/**
 * Records what the program prints. Lines wait in a bounded ring; every flush stores those that wait as artifacts of the type `console`.
 */
import { ASYNC_DISPOSE } from '../../base/dispose.ts';
import { invalidInput } from '../../base/errors.ts';
import { createId } from '../../base/ids.ts';
import { asGiven, flag, numberWhere, positive, readOptions } from '../../base/options.ts';
import { isNode } from '../../base/runtime.ts';
import {
  handleOf,
  isRecordingFailure,
  throwFirst,
  type RunHandle,
} from '../../session/run-handle.ts';
import type { RunContext } from '../../session/run-context.ts';
import type { TrainingSession } from '../../session/training-session.ts';
import { CHUNK_BYTES, ChunkStore } from './chunk-store.ts';
import type { ConsoleLevel, ConsoleSource } from './console-line.ts';
import { tapConsole } from './console-tap.ts';
import { checkConsolePort, listenTo, type ConsolePort } from './forward-console.ts';
import { LineAssembler } from './line-assembler.ts';
import { formatArguments } from './format-arguments.ts';
import { LineRing, type TakenLines } from './line-ring.ts';
import { SecretCutter } from './secrets.ts';

/** Options of {@link captureConsole}. */
export type CaptureConsoleOptions = {
  /**
   * Bytes of memory for lines that are not stored yet: 64 KiB to 256 MiB, default 16 MiB. A line counts two bytes a character and 64. The
   * oldest lines give way to new ones, and are counted.
   */
  readonly maxBytes?: number;
  /**
   * Bytes, counted in the same way, that one capture stores as the lines come; default 1 GiB. From then on only the latest lines are
   * stored: when twice as many have come as when lines were stored last, and at the end.
   */
  readonly maxStoredBytes?: number;
  /** Time between two flushes, in milliseconds: 10 to 3,600,000, default 2000. */
  readonly flushIntervalMs?: number;
  /**
   * What is cut besides keys and tokens of known forms: texts of at least 4 characters, and patterns. In Node the values of environment
   * variables are cut, too, whose names say key, token, secret, password or credential. Default none.
   */
  readonly secrets?: readonly (string | RegExp)[];
  /** Whether what this thread prints is captured. Default true. */
  readonly own?: boolean;
  /** Workers, or ports of them, in which `forwardConsole` runs. Default none. */
  readonly from?: readonly ConsolePort[];
};

/** What a capture has done so far. */
export type ConsoleCaptureStatus = {
  /** Lines that were printed. */
  readonly lines: number;
  /** Lines that were stored, or given to the store, which stores them later. */
  readonly storedLines: number;
  /** Lines that wait. */
  readonly bufferedLines: number;
  /** Lines that gave way to later ones before they were stored. */
  readonly droppedLines: number;
  /** Secrets that were cut. */
  readonly secretsCut: number;
  /** Flushes that failed. Their lines wait for the next one. */
  readonly failures: number;
};

const KIB = 1024;
const MIB = 1024 * KIB;

const inRange = (min: number, max: number, fallback: number) =>
  numberWhere(
    (value) => Number.isInteger(value) && value >= min && value <= max,
    `an integer from ${min} to ${max}`,
    fallback,
  );

const OPTION_RULES = {
  maxBytes: inRange(64 * KIB, 256 * MIB, 16 * MIB),
  maxStoredBytes: positive(1024 * MIB),
  flushIntervalMs: inRange(10, 3_600_000, 2000),
  secrets: asGiven<readonly (string | RegExp)[] | undefined>,
  own: flag(true),
  from: asGiven<readonly ConsolePort[] | undefined>,
};

/**
 * Records what the program prints from now on: `console` in pages and workers; `stdout` and `stderr` in Node, where the output of worker
 * threads and of whatever else the process prints is part of them. It is printed as before.
 *
 * Each line has its time, its source, its level and its colours. A line that is overwritten, as by a progress bar, is recorded as it was
 * last. Escape sequences are taken out. Secrets are cut before anything is stored. Lines are durable when a flush has resolved: every
 * `flushIntervalMs`, by `session.flush()`, when the run ends and when the capture stops; in a store of this machine (SQLite) also at
 * `process.exit()` and at an error that nobody catches, which is a line then. Nothing of it throws into the program.
 *
 * @param session a session, or a context made by one
 * @throws {QuarkError} `invalid_input` naming the option, or the session where another capture of it has the same lines;
 *   `invalid_run_state` when the run has ended
 * @example
 * ```js
 * import { TrainingSession } from 'quark-sdk';
 * import { captureConsole, readConsole } from 'quark-sdk/console';
 *
 * await TrainingSession.run({ project: 'digits', storageDir: 'quark-runs' }, async (session) => {
 *   const capture = captureConsole(session, { secrets: ['pa55word'] });
 *   console.warn('loaded 60000 images with pa55word');
 *   await capture.stop();
 *   const { lines } = await readConsole(session);
 *   console.log(lines[0].level, capture.status.lines, capture.status.secretsCut); // warn 1 1
 * });
 * ```
 */
export function captureConsole(
  session: TrainingSession | RunContext,
  options: CaptureConsoleOptions = {},
): ConsoleCapture {
  const settings = readOptions<CaptureConsoleOptions, typeof OPTION_RULES>(
    'options',
    options,
    OPTION_RULES,
  );
  const { from = [], secrets = [] } = settings;
  if (!Array.isArray(secrets)) throw invalidInput('options.secrets', typeof secrets, 'a list');
  if (!Array.isArray(from)) throw invalidInput('options.from', from, 'a list of workers or ports');
  for (const [i, port] of from.entries()) checkConsolePort(`options.from[${i}]`, port);
  const sources = settings.own ? [globalThis.console, ...from] : from;
  const captured = claimSources(handleOf(session), sources);
  const environment = isNode() ? globalThis.process.env : {};
  try {
    const cutter = new SecretCutter(secrets, environment);
    return new ConsoleCapture(session, cutter, { ...settings, from }, captured);
  } catch (error) {
    captured();
    throw error;
  }
}

/** What is captured for a session: its own console, and ports. */
const capturedSources = new WeakMap<RunHandle, Set<unknown>>();

/** Lines that two captures of one session get would be recorded twice. Returns the undo. */
function claimSources(handle: RunHandle, sources: readonly unknown[]): () => void {
  const claimed = capturedSources.get(handle) ?? new Set();
  if (sources.some((source) => claimed.has(source)))
    throw invalidInput(
      'session',
      handle.runId,
      'a session that captures something else: stop() the other capture first, or leave out with own: false what it captures',
    );
  for (const source of sources) claimed.add(source);
  capturedSources.set(handle, claimed);
  return () => sources.forEach((source) => claimed.delete(source));
}

type Settings = Required<Omit<CaptureConsoleOptions, 'secrets'>>;

/** A capture that is under way; made by {@link captureConsole}. */
export class ConsoleCapture implements AsyncDisposable {
  readonly #handle: RunHandle;
  readonly #chunks: ChunkStore;
  readonly #cutter: SecretCutter;
  readonly #settings: Settings;
  readonly #ring: LineRing;
  readonly #assemblers = new Map<string, LineAssembler>();
  readonly #undo: (() => void)[] = [];
  #level: ConsoleLevel | null = null;
  #lines = 0;
  #failures = 0;
  /** Lines that had come when lines were stored last. */
  #linesAtStore = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isUrgent = false;
  #stopping: Promise<void> | undefined;

  /** @internal Use {@link captureConsole}. */
  constructor(
    session: TrainingSession | RunContext,
    cutter: SecretCutter,
    settings: Settings,
    release: () => void,
  ) {
    const handle = handleOf(session);
    this.#handle = handle;
    this.#cutter = cutter;
    this.#settings = settings;
    this.#ring = new LineRing(settings.maxBytes);
    this.#undo.push(
      handle.attach({
        drain: () => this.#flush(true),
        drainNow: () => this.#flushNow(),
        close: () => this.stop(),
      }),
    );
    if (isNode()) this.#watchProcess(globalThis.process);
    // After that: what is stored on closing is begun before the store of artifacts closes.
    this.#chunks = new ChunkStore(session, createId('con', handle.clock.now()), cutter);
    this.#undo.push(release);
    if (settings.own)
      this.#undo.push(tapConsole((text, source, level) => this.#add('', text, source, level)));
    for (const [i, port] of settings.from.entries())
      this.#undo.push(
        listenTo(port, ({ level, source, text }) => this.#add(String(i), text, source, level)),
      );
  }

  /** What was captured so far. */
  get status(): ConsoleCaptureStatus {
    return {
      lines: this.#lines,
      storedLines: this.#chunks.storedLines,
      bufferedLines: this.#ring.length,
      droppedLines: this.#chunks.droppedLines + this.#ring.dropped,
      secretsCut: this.#cutter.cuts,
      failures: this.#failures,
    };
  }

  /**
   * Stores the lines that wait. A line without its end, such as a progress bar under way, goes on waiting.
   *
   * @throws {SessionStoreError} in strict mode, when the store failed; the lines wait for the next flush
   */
  flush(): Promise<void> {
    return this.#flush(true);
  }

  /**
   * Stops capturing, restores what was replaced, and stores all lines. Calling it again changes nothing.
   *
   * @throws {SessionStoreError} in strict mode, when the store failed
   */
  stop(): Promise<void> {
    if (this.#stopping === undefined) {
      const [detach, ...restore] = this.#undo.splice(0);
      for (const undo of restore) undo();
      clearTimeout(this.#timer);
      for (const assembler of this.#assemblers.values()) assembler.finish();
      this.#stopping = this.#flush(true)
        .then(() => this.#chunks.close())
        .finally(() => detach?.());
    }
    return this.#stopping;
  }

  /** Same as {@link stop}. */
  [ASYNC_DISPOSE](): Promise<void> {
    return this.stop();
  }

  #add(port: string, text: string, source: ConsoleSource, level: ConsoleLevel | null): void {
    // Two sources may have half a line each.
    const name = `${port} ${source} ${source === 'console' ? level : ''}`;
    let assembler = this.#assemblers.get(name);
    if (assembler === undefined) {
      assembler = new LineAssembler((line, isCut) => {
        this.#lines++;
        const timeMs = this.#handle.clock.now();
        this.#ring.add({ text: line, isCut, timeMs, source, level: this.#level });
      });
      this.#assemblers.set(name, assembler);
    }
    this.#level = level;
    assembler.add(text);
    if (this.#ring.length > 0) this.#schedule();
  }

  #schedule(): void {
    const isUrgent = this.#ring.bytes > this.#settings.maxBytes / 2;
    if (this.#timer !== undefined && (!isUrgent || this.#isUrgent)) return;
    clearTimeout(this.#timer);
    this.#isUrgent = isUrgent;
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        this.#isUrgent = false;
        this.#flush(false).catch(() => undefined);
      },
      isUrgent ? 0 : this.#settings.flushIntervalMs,
    );
    // A timer of Node must not keep the process alive: its last flush is that of the session.
    if (typeof this.#timer === 'object') this.#timer.unref();
  }

  /** Begins to store all lines that wait before it returns: the session closes the store of artifacts right after that. */
  #flush(isAsked: boolean): Promise<void> {
    const before = this.#chunks.active;
    const own: Promise<void>[] = [];
    // Lines wait for a slow store in the ring, which is bounded.
    if (isAsked || (before.length === 0 && this.#mayStore()))
      while (this.#ring.length > 0) own.push(this.#store(this.#ring.take(CHUNK_BYTES)));
    return Promise.allSettled(before).then(async () => {
      throwFirst(await Promise.allSettled(own));
      if (this.#stopping === undefined && this.#ring.length > 0) this.#schedule();
    });
  }

  /** The process ends: a line without its end is complete now. */
  #flushNow(): void {
    for (const assembler of this.#assemblers.values()) assembler.finish();
    const taken: TakenLines[] = [];
    while (this.#ring.length > 0) taken.push(this.#ring.take(CHUNK_BYTES));
    this.#chunks.storeNow(taken);
  }

  #watchProcess(process: NodeJS.Process): void {
    // Once: where the store fails, the process ends all the same.
    const flush = (): void => void this.#flush(true).catch(() => undefined);
    // Node prints the error that ends the process past its streams.
    const note = (error: unknown): void => {
      if (process.listenerCount('uncaughtException') > 0) return;
      this.#add('', `${formatArguments(['Uncaught', error])}\n`, 'stderr', 'error');
    };
    process.once('beforeExit', flush);
    process.on('uncaughtExceptionMonitor', note);
    this.#undo.push(() => {
      process.off('beforeExit', flush);
      process.off('uncaughtExceptionMonitor', note);
    });
  }

  /** Beyond `maxStoredBytes` lines are stored when twice as many have come. */
  #mayStore(): boolean {
    return (
      this.#chunks.storedBytes < this.#settings.maxStoredBytes ||
      this.#lines >= 2 * this.#linesAtStore
    );
  }

  async #store(taken: TakenLines): Promise<void> {
    this.#linesAtStore = this.#lines;
    try {
      await this.#chunks.begin(taken);
    } catch (error) {
      this.#failures++;
      this.#ring.restore(taken);
      if (this.#handle.strictMode || !isRecordingFailure(error)) throw error;
    }
  }
}
