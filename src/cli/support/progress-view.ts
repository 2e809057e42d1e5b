/** What `quark watch` shows of a run while it goes on: for people, and for programs. */
import type { AlertRecord, RunReader } from '../../index.ts';
import { readProgress, type RunProgress } from '../../profiler.ts';
import type { CliIo } from './io.ts';
import { progressJson, progressLine } from './run-progress.ts';
import { onTerminal, severityColor, type Style } from './text.ts';

/** Where the output is no terminal, a line comes with each epoch, and at least this often while steps come. */
const LINE_MS = 60_000;
const LINE_WIDTH = 100;
const CLEAR_LINE = '\r\u001b[2K';
/** Samples in which the last values are searched. */
const RECENT_SAMPLES = 500;
const SHOWN_VALUES = 4;
/** What is shown first, and what is not shown at all. */
const FIRST_KEYS = [/(^|\/)loss$/, /loss/, /acc|error|score|reward/];
const HIDDEN_KEYS = /^(?:system|perf|data|optimizer|profiler)\//;

/** One line that is rewritten on a terminal; elsewhere a line now and then. */
export class ProgressView {
  readonly #io: CliIo;
  readonly #reader: RunReader;
  readonly #style: Style;
  #line = '';
  #written = '';
  #epoch: number | null = null;
  #writtenAtMs = -Infinity;

  constructor(io: CliIo, reader: RunReader, style: Style) {
    this.#io = io;
    this.#reader = reader;
    this.#style = style;
  }

  /** Reads how far the run is, and shows it. */
  async update(): Promise<void> {
    const [progress, values] = await Promise.all([
      readProgress(this.#reader),
      lastValues(this.#reader),
    ]);
    const { columns, isTty } = this.#io.stdout;
    // One less than the terminal is wide: some wrap when the last column is written.
    const width = isTty ? (columns ?? 80) - 1 : LINE_WIDTH;
    this.#line = progressLine(
      { isLive: this.#reader.isLive, progress, values },
      width,
      this.#style,
    );
    if (isTty) await this.#write(CLEAR_LINE + this.#line);
    else if (this.#isDue(progress)) await this.#write(`${this.#line}\n`);
  }

  /** Writes an alert above the line. */
  alert(alert: AlertRecord): Promise<void> {
    const text = textOf(alert, this.#style);
    if (!this.#io.stdout.isTty) return this.#io.stdout.write(text);
    return this.#io.stdout.write(CLEAR_LINE + text + this.#line);
  }

  /** Leaves the last state behind. */
  async end(): Promise<void> {
    if (this.#line === '') return;
    if (this.#io.stdout.isTty) await this.#io.stdout.write('\n');
    else if (this.#written !== `${this.#line}\n`) await this.#write(`${this.#line}\n`);
  }

  #isDue(progress: RunProgress | undefined): boolean {
    const epoch = progress?.epoch ?? null;
    const isNew = epoch !== this.#epoch || this.#written === '';
    this.#epoch = epoch;
    return isNew || performance.now() - this.#writtenAtMs >= LINE_MS;
  }

  async #write(text: string): Promise<void> {
    if (text === this.#written) return;
    this.#written = text;
    this.#writtenAtMs = performance.now();
    await this.#io.stdout.write(text);
  }
}

/** A JSON line for each alert, and one with progress and last values where these are new. */
export class JsonView {
  readonly #io: CliIo;
  readonly #reader: RunReader;
  #written = '';

  constructor(io: CliIo, reader: RunReader) {
    this.#io = io;
    this.#reader = reader;
  }

  /** Reads how far the run is, and writes it if that is new. */
  async update(): Promise<void> {
    const [progress, values] = await Promise.all([
      readProgress(this.#reader),
      lastValues(this.#reader),
    ]);
    const text = JSON.stringify({
      progress: progress === undefined ? null : progressJson(progress),
      values: Object.fromEntries(values.map(([key, value]) => [key, jsonNumber(value)])),
    });
    if (text === this.#written) return;
    this.#written = text;
    await this.#io.stdout.write(`${text}\n`);
  }

  alert(alert: AlertRecord): Promise<void> {
    return this.#io.stdout.write(`${JSON.stringify(alert.toDict())}\n`);
  }

  /** Nothing is left to be written. */
  end(): Promise<void> {
    return Promise.resolve();
  }
}

/** JSON has no others. */
function jsonNumber(value: number): number | string {
  return Number.isFinite(value) ? value : String(value);
}

function textOf({ fact, inference, ruleId, severity, title }: AlertRecord, style: Style): string {
  return `${severityColor(style, severity)(severity)} ${style.bold(onTerminal(title))} (${onTerminal(ruleId)})\n  ${onTerminal(fact)}\n  ${onTerminal(inference)}\n`;
}

/** Metrics of the training, those that matter most first; those of the machine are left out where there are others. */
export function sortedKeys(keys: readonly string[]): readonly string[] {
  const sorted = keys.toSorted(byMatter);
  const own = sorted.filter((key) => !HIDDEN_KEYS.test(key));
  return own.length > 0 ? own : sorted;
}

function byMatter(a: string, b: string): number {
  return rankOf(a) - rankOf(b) || (a < b ? -1 : 1);
}

function rankOf(key: string): number {
  const at = FIRST_KEYS.findIndex((pattern) => pattern.test(key));
  return at < 0 ? FIRST_KEYS.length : at;
}

async function lastValues(reader: RunReader): Promise<readonly (readonly [string, number])[]> {
  const { keyIndex, keys, rowCount, values } = await reader.readMetricColumns({
    limit: RECENT_SAMPLES,
  });
  const last = new Map<string, number>();
  for (let row = 0; row < rowCount; row++)
    last.set(keys[keyIndex[row] ?? 0] ?? '', values[row] ?? Number.NaN);
  return [...last]
    .filter(([key]) => !HIDDEN_KEYS.test(key))
    .toSorted(([a], [b]) => byMatter(a, b))
    .slice(0, SHOWN_VALUES)
    .map(([key, value]) => [onTerminal(key), value]);
}
