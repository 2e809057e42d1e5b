/** `quark top`: the runs of a store in a terminal, live, with the curve of one. */
import { openRun, type RunReader, type Store } from '../../index.ts';
import { findRunRows, parseRunQuery } from '../../workspace.ts';
import { AnalyzerEngine } from '../../analysis.ts';
import { readProgress } from '../../profiler.ts';
import { UsageError } from '../support/args.ts';
import {
  EXIT,
  STORAGE_OPTIONS,
  withStore,
  type Command,
  type CommandContext,
} from '../support/command.ts';
import type { CliIo } from '../support/io.ts';
import { sortedKeys } from '../support/progress-view.ts';
import { onTerminal } from '../support/text.ts';
import { TOP_COLUMNS, topScreen } from './top-screen.ts';
import {
  afterKey,
  FIRST_STATE,
  keysIn,
  withFoundRuns,
  type TopRun,
  type TopState,
} from './top-state.ts';

const LOOK_MS = 1000;
const MOST_RUNS = 200;
const MOST_ALERTS = 3;
export const topCommand: Command = {
  spec: {
    name: 'top',
    summary: 'Show the runs in a terminal, live, with the curve of one in braille.',
    positionals: [],
    options: {
      ...STORAGE_OPTIONS,
      where: {
        kind: 'text',
        value: 'QUERY',
        help: 'Only runs of which this holds, as "quark runs --where" takes it.',
      },
      once: { kind: 'flag', help: 'Write one screen and end, as where there is no terminal.' },
    },
    notes: [
      'Keys: up and down for another run, left and right for another metric, g for logarithmic values, enter for a large chart, ? for all keys, q to end.',
    ],
  },
  run: (context) =>
    withStore(context, async (store) => {
      const { args, io } = context;
      const where = args.text('where') ?? '';
      const reading = parseRunQuery(where);
      if (reading.kind === 'error') throw new UsageError(`--where: ${reading.message}`, 'top');
      const view = new TopView(context, store, where);
      if (args.flag('once') || !io.stdout.isTty) {
        await view.poll();
        await io.stdout.write(`${view.lines().join('\n')}\n`);
      } else await live(io, view);
      return EXIT.ok;
    }),
};

async function live(io: CliIo, view: TopView): Promise<void> {
  let wake = (): void => undefined;
  const undoKeys = io.onKeys((sent) => {
    for (const key of keysIn(sent)) view.press(key);
    wake();
  });
  const undoInterrupt = io.onInterrupt(() => {
    view.press('q');
    wake();
  });
  const screen = await io.openScreen();
  try {
    while (!view.isOver) {
      await view.poll();
      await screen.show(view.lines());
      if (view.isOver) break;
      await new Promise<void>((resolve) => {
        wake = resolve;
        setTimeout(resolve, LOOK_MS);
      });
    }
  } finally {
    undoKeys();
    undoInterrupt();
    await screen.close();
  }
}

/** What is looked at, and how it is read. */
class TopView {
  readonly #context: CommandContext;
  readonly #store: Store;
  readonly #where: string;
  #state: TopState = FIRST_STATE;
  #chosen: ChosenRun | undefined;

  constructor(context: CommandContext, store: Store, where: string) {
    this.#context = context;
    this.#store = store;
    this.#where = where;
  }

  get isOver(): boolean {
    return this.#state.isOver;
  }

  press(key: string): void {
    this.#state = afterKey(this.#state, key);
  }

  /** Reads the runs, and the chosen one. A store that does not answer is said on the screen, and asked again. */
  async poll(): Promise<void> {
    try {
      const { rows, total } = await findRunRows(this.#store, {
        where: this.#where,
        columns: TOP_COLUMNS,
        limit: MOST_RUNS,
      });
      this.#state = withFoundRuns(this.#state, rows, total);
      const run = rows[this.#state.runAt];
      if (run === undefined) return;
      if (this.#chosen?.runId !== run.id) this.#chosen = await ChosenRun.open(this.#store, run.id);
      const chosen = await this.#chosen.poll(this.#state.keyAt);
      this.#state = { ...this.#state, chosen };
    } catch (error) {
      // The first answer tells what is wrong with the question itself.
      if (this.#state.total === 0 && this.#state.runs.length === 0) throw error;
      this.#state = {
        ...this.#state,
        failure: onTerminal(error instanceof Error ? error.message : String(error)),
      };
    }
  }

  lines(): readonly string[] {
    const { io, style } = this.#context;
    const { columns = 100, rows = 40 } = io.stdout;
    return topScreen(this.#state, { columns, rows, style, nowMs: Date.now() });
  }
}

/** One run, followed. */
class ChosenRun {
  readonly #reader: RunReader;
  #curve: FollowedCurve | undefined;
  #alerts: readonly string[] = [];

  private constructor(reader: RunReader) {
    this.#reader = reader;
  }

  static async open(store: Store, runId: string): Promise<ChosenRun> {
    return new ChosenRun(await openRun(store, runId));
  }

  get runId(): string {
    return this.#reader.run.id;
  }

  async poll(keyAt: number): Promise<TopRun> {
    await this.#reader.reload();
    const keys = sortedKeys(await this.#reader.metricKeys());
    const key = keys[Math.min(keyAt, keys.length - 1)];
    if (key !== this.#curve?.key) this.#curve = undefined;
    const before = this.#curve;
    if (key !== undefined) this.#curve = await followCurve(this.#reader, key, before);
    // Alerts come with the values that they are about.
    if (this.#curve !== before || before === undefined)
      this.#alerts = await alertLines(this.#reader);
    return {
      runId: this.runId,
      keys,
      progress: await readProgress(this.#reader),
      key,
      curve: this.#curve,
      alerts: this.#alerts,
    };
  }
}

/** A curve up to a row of the run. */
type FollowedCurve = {
  readonly key: string;
  readonly positions: Float64Array;
  readonly values: Float64Array;
  readonly lastSequence: number;
};

/** The curve with what has come since. The same object where nothing has. */
async function followCurve(
  reader: RunReader,
  key: string,
  before: FollowedCurve | undefined,
): Promise<FollowedCurve> {
  const { lastSequence, series } = await reader.readSeries({
    metricKeys: [key],
    sequenceMin: (before?.lastSequence ?? -1) + 1,
  });
  const [found] = series;
  if (before !== undefined && found === undefined) return before;
  const empty = new Float64Array(0);
  const { epochs = null, steps = null, values = empty } = found ?? {};
  const first = before?.values.length ?? 0;
  const positions = steps ?? epochs ?? Float64Array.from(values, (_, i) => first + i);
  return {
    key,
    positions: joined(before?.positions ?? empty, positions),
    values: joined(before?.values ?? empty, values),
    lastSequence,
  };
}

function joined(first: Float64Array, second: Float64Array): Float64Array {
  const both = new Float64Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}

/** The latest alerts that an analysis or a watch has stored. */
async function alertLines(reader: RunReader): Promise<readonly string[]> {
  const alerts = await new AnalyzerEngine(reader).readAlerts();
  return alerts
    .slice(-MOST_ALERTS)
    .map(({ severity, title }) => onTerminal(`${severity}: ${title}`));
}
