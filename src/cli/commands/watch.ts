/** `quark watch RUN`: how far a run is, its last values, and its alerts as they come. */
import { AnalyzerEngine, type AlertWatch } from '../../analysis.ts';
import type { AlertRecord, RunReader } from '../../index.ts';
import { readProgress, type RunProgress } from '../../profiler.ts';
import { CONFIG_OPTIONS, judging } from '../support/config.ts';
import {
  EXIT,
  findRunByPrefix,
  JSON_OPTION,
  STORAGE_OPTIONS,
  withStore,
  type Command,
} from '../support/command.ts';
import type { CliIo } from '../support/io.ts';
import { progressLine } from '../support/run-progress.ts';
import { onTerminal, type Style } from '../support/text.ts';
import { severityColor } from './analyze.ts';

const POLL_MS = 2000;
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

export const watchCommand: Command = {
  spec: {
    name: 'watch',
    summary: 'Show how far a run is, its last values and its alerts, while another process trains.',
    positionals: ['RUN'],
    options: {
      ...STORAGE_OPTIONS,
      ...CONFIG_OPTIONS,
      json: { ...JSON_OPTION, help: 'Write a JSON line for each alert; errors, too.' },
    },
    notes: [
      'Nothing is stored. It ends when the run has ended, or with Ctrl-C.',
      'The time that is left is known where the program says how long it trains: session.setTotal(), or quarkCallback by itself.',
    ],
  },
  run: (context) =>
    withStore(context, async (store) => {
      const { args, io, style } = context;
      const reader = await findRunByPrefix(store, args.positionals[0] ?? '');
      const config = (await judging(context))(await reader.metricKeys());
      const view = args.flag('json') ? undefined : new ProgressView(io, reader, style);
      const writes: Promise<void>[] = [];
      const watch = new AnalyzerEngine(reader, config).watch({
        persist: false,
        pollMs: POLL_MS,
        onAlert: (alert) => {
          const text =
            view === undefined ? `${JSON.stringify(alert.toDict())}\n` : textOf(alert, style);
          writes.push(view === undefined ? io.stdout.write(text) : view.above(text));
        },
      });
      try {
        await untilEnded(io, reader, watch, view);
      } finally {
        await watch.close();
        await Promise.all(writes);
        await view?.end();
      }
      const { lastError } = watch.status;
      if (lastError !== null && watch.status.evaluations === 0) throw lastError;
      return EXIT.ok;
    }),
};

function textOf({ fact, inference, ruleId, severity, title }: AlertRecord, style: Style): string {
  return `${severityColor(style, severity)(severity)} ${style.bold(onTerminal(title))} (${onTerminal(ruleId)})\n  ${onTerminal(fact)}\n  ${onTerminal(inference)}\n`;
}

/** One line that is rewritten on a terminal; elsewhere a line now and then. */
class ProgressView {
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

  /** Writes text above the line. */
  above(text: string): Promise<void> {
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

async function lastValues(reader: RunReader): Promise<readonly (readonly [string, number])[]> {
  const { keyIndex, keys, rowCount, values } = await reader.readMetricColumns({
    limit: RECENT_SAMPLES,
  });
  const last = new Map<string, number>();
  for (let row = 0; row < rowCount; row++)
    last.set(keys[keyIndex[row] ?? 0] ?? '', values[row] ?? Number.NaN);
  const rank = (key: string): number => {
    const at = FIRST_KEYS.findIndex((pattern) => pattern.test(key));
    return at < 0 ? FIRST_KEYS.length : at;
  };
  return [...last]
    .filter(([key]) => !HIDDEN_KEYS.test(key))
    .toSorted(([a], [b]) => rank(a) - rank(b) || (a < b ? -1 : 1))
    .slice(0, SHOWN_VALUES)
    .map(([key, value]) => [onTerminal(key), value]);
}

/** Until the run has ended or nobody records it any more, or Ctrl-C. */
async function untilEnded(
  io: CliIo,
  reader: RunReader,
  watch: AlertWatch,
  view: ProgressView | undefined,
): Promise<void> {
  const over = new AbortController();
  let wake = (): void => undefined;
  const undo = io.onInterrupt(() => {
    over.abort();
    wake();
  });
  try {
    while (!over.signal.aborted) {
      await watch.check();
      await view?.update();
      await reader.reload();
      if (!reader.isLive) return;
      if (over.signal.aborted) return;
      await new Promise<void>((resolve) => {
        wake = resolve;
        setTimeout(resolve, POLL_MS);
      });
    }
  } finally {
    undo();
  }
}
