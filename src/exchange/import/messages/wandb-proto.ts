/** The records of a `.wandb` file (wandb_internal.proto), turned into rows of a run. */
import { messageOf } from '../../../base/errors.ts';
import { toBoundedJson } from '../sink/import-json.ts';
import type { RunSink } from '../sink/importer.ts';
import type { ImportLimits } from '../../../codecs/limits.ts';
import { ProtoReader } from '../../../codecs/protobuf/reader.ts';
import {
  leavesOf,
  parseValue,
  readItem,
  removeValue,
  setValue,
  type ValueTree,
} from './wandb-items.ts';
import { wandbHistogramOf, wandbNumberOf, RUN, wandbTextsOf, wandbTimeOf } from './wandb-parts.ts';

/** Fields of Record. */
const HISTORY = 2;
const SUMMARY = 3;
const OUTPUT = 4;
const CONFIG = 5;
const STATS = 7;
const ALERT = 10;
const OUTPUT_RAW = 13;

const EXIT = 18;
const PREEMPTING = 23;
const ENVIRONMENT = 26;

/** Texts of RunRecord and EnvironmentRecord that describe where a run was made. */
const RUN_TEXTS = new Map([
  [1, 'run_id'],
  [2, 'entity'],
  [6, 'run_group'],
  [7, 'job_type'],
  [9, 'notes'],
  [12, 'sweep_id'],
  [13, 'host'],
]);
const ENVIRONMENT_TEXTS = new Map([
  [1, 'os'],
  [2, 'python'],
  [6, 'program'],
  [12, 'host'],
  [14, 'executable'],
  [18, 'gpu_type'],
  [25, 'cuda_version'],
]);
const GIT_FIELDS = new Map([
  [1, 'remote_url'],
  [2, 'commit'],
]);
const EPOCH_NAMES = ['epoch', 'train/epoch'];
const OWN_NAMES = new Set(['_step', '_timestamp', '_runtime', '_wandb']);
const MAX_TEXT_CHARS = 10_000;
const MAX_ARGS = 1000;

export class WandbReader {
  readonly #sink: RunSink;
  readonly #limits: ImportLimits;
  readonly #problem: (offset: number, reason: string) => void;
  readonly #config: ValueTree = new Map();
  readonly #summary: ValueTree = new Map();
  readonly #about = new Map<string, unknown>();
  /** Metric numbers and last values by name. */
  readonly #metrics = new Map<string, { readonly id: number; last: number }>();
  readonly #reported = new Set<string>();
  readonly #output: string[] = [];
  #outputChars = 0;
  #waiting: (() => Promise<void>)[] = [];
  #lastStep = Number.NaN;
  #exitCode: number | undefined;
  #offset = 0;

  constructor(
    sink: RunSink,
    limits: ImportLimits,
    problem: (offset: number, reason: string) => void,
  ) {
    this.#sink = sink;
    this.#limits = limits;
    this.#problem = problem;
  }

  /** Reads the record at `[start, end)`; `offset` is where it lies in the file. */
  read(
    bytes: Uint8Array<ArrayBuffer>,
    view: DataView,
    start: number,
    end: number,
    offset: number,
  ): void {
    this.#offset = offset;
    const record = new ProtoReader().open(bytes, view, start, end);
    while (record.next()) {
      switch (record.field) {
        case HISTORY:
          this.#history(record);
          break;
        case SUMMARY:
          this.#update(record, this.#summary);
          break;
        case CONFIG:
          this.#update(record, this.#config);
          break;
        case STATS:
          this.#stats(record);
          break;
        case OUTPUT:
        case OUTPUT_RAW:
          this.#console(record);
          break;
        case ALERT:
          this.#alert(record);
          break;
        case PREEMPTING:
          this.#sink.event({ eventType: 'wandb_preempting', severity: 'warning' });
          break;
        case RUN:
          this.#run(record);
          break;
        case ENVIRONMENT:
          this.#environment(record);
          break;
        case EXIT: {
          const exit = new ProtoReader().enter(record);
          this.#exitCode = 0;
          while (exit.next()) if (exit.field === 1) this.#exitCode = exit.integer;
          break;
        }
        default:
      }
    }
    if (record.isBroken)
      this.#problem(offset, 'The record is damaged; what could be read of it is kept.');
  }

  /** Keeps the artifacts that were found, and writes when much waits. */
  async settle(): Promise<void> {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const keep of waiting) await keep();
    if (this.#sink.isFull) await this.#sink.flush();
  }

  /** Ends the run: what is known only now. */
  async finish(): Promise<void> {
    await this.settle();
    this.#sink.config(Object.fromEntries(this.#config));
    if (this.#exitCode !== undefined) this.#about.set('exit_code', this.#exitCode);
    this.#sink.environment({ wandb: Object.fromEntries(this.#about) });
    this.#sink.status(
      this.#exitCode === undefined ? 'interrupted' : this.#exitCode === 0 ? 'completed' : 'failed',
    );
    if (this.#output.length > 0)
      await this.#sink.artifact('text', 'wandb/output', this.#output.join(''));
    if (this.#summary.size === 0) return;
    const { maxDepth, maxConfigChars } = this.#limits;
    const summary = toBoundedJson(Object.fromEntries(this.#summary), maxDepth - 2, maxConfigChars);
    await this.#sink.artifact('summary', 'wandb/summary', summary);
    // A summary repeats the last values of the history; only what it adds to them becomes metrics.
    for (const [name, value] of leavesOf(this.#summary, '')) {
      const number = wandbNumberOf(value);
      if (number === undefined || OWN_NAMES.has(name)) continue;
      const known = this.#metrics.get(name);
      if (known !== undefined && Object.is(known.last, number)) continue;
      this.#sink.push(
        this.#sink.metric(`summary/${name}`),
        number,
        this.#lastStep,
        Number.NaN,
        Number.NaN,
      );
    }
  }

  #history(field: ProtoReader): void {
    const values = new Map<string, unknown>();
    const message = new ProtoReader().enter(field);
    let step = Number.NaN;
    while (message.next()) {
      if (message.field === 1) this.#item(message, values);
      else if (message.field === 2) {
        const inner = new ProtoReader().enter(message);
        step = 0;
        while (inner.next()) if (inner.field === 1) step = inner.integer;
      }
    }
    if (message.isBroken)
      this.#problem(this.#offset, 'A row of the history is damaged; what could be read is kept.');
    if (step !== step) step = wandbNumberOf(values.get('_step')) ?? Number.NaN;
    if (step === step) this.#lastStep = step;
    const timeMs = (wandbNumberOf(values.get('_timestamp')) ?? Number.NaN) * 1000;
    const [epoch = Number.NaN] = EPOCH_NAMES.flatMap(
      (name) => wandbNumberOf(values.get(name)) ?? [],
    );
    for (const [name, value] of values)
      if (!OWN_NAMES.has(name)) this.#value(name, value, step, Math.floor(epoch), timeMs);
  }

  #item(field: ProtoReader, values: Map<string, unknown>): void {
    const item = readItem(field);
    if (item === undefined) {
      this.#problem(this.#offset, 'An item without a key, or damaged, is left out.');
      return;
    }
    try {
      const value = parseValue(item.text, this.#limits.maxDepth);
      for (const [name, leaf] of leavesOf(value, item.path.join('/'))) values.set(name, leaf);
    } catch (error) {
      this.#problem(this.#offset, `"${item.path.join('/').slice(0, 100)}": ${messageOf(error)}`);
    }
  }

  #value(name: string, value: unknown, step: number, epoch: number, timeMs: number): void {
    const number = wandbNumberOf(value);
    if (number !== undefined) {
      let metric = this.#metrics.get(name);
      if (metric === undefined) {
        metric = { id: this.#sink.metric(name), last: number };
        if (this.#metrics.size < this.#limits.maxKeys) this.#metrics.set(name, metric);
      }
      metric.last = number;
      this.#sink.push(metric.id, number, step, epoch, timeMs);
    } else if (typeof value === 'string') {
      const payload = { name: name.slice(0, 1000), text: value.slice(0, MAX_TEXT_CHARS) };
      this.#sink.event({ eventType: 'wandb_text', step, epoch, timeMs, payload });
    } else if (value !== null && value !== undefined) this.#media(name, value, step, epoch, timeMs);
  }

  /** Histograms are kept; images, tables, lists and the like are files elsewhere. */
  #media(name: string, value: unknown, step: number, epoch: number, timeMs: number): void {
    const type = typeof value === 'object' && value !== null ? Reflect.get(value, '_type') : '';
    const bins =
      type === 'histogram' && value !== null
        ? wandbHistogramOf(value as object, this.#limits)
        : null;
    if (bins !== null)
      this.#waiting.push(async () => {
        try {
          await this.#sink.artifact('histogram', name, bins, { step, epoch, timeMs });
        } catch (error) {
          if (!(error instanceof Error && 'code' in error && error.code === 'invalid_input'))
            throw error;
          this.#leaveOut(name, 'histograms');
        }
      });
    else
      this.#leaveOut(
        name,
        typeof type === 'string' && type !== ''
          ? `values of the type "${type.slice(0, 100)}"`
          : 'lists',
      );
  }

  #leaveOut(name: string, what: string): void {
    if (this.#reported.has(name) || this.#reported.size >= this.#limits.maxProblems) return;
    this.#reported.add(name);
    this.#problem(this.#offset, `Of "${name.slice(0, 100)}" ${what} are left out.`);
  }

  /** ConfigRecord and SummaryRecord: what is set and what is taken away. */
  #update(field: ProtoReader, tree: ValueTree): void {
    const message = new ProtoReader().enter(field);
    while (message.next()) {
      if (message.field !== 1 && message.field !== 2) continue;
      const item = readItem(message);
      if (item === undefined) continue;
      const [key = ''] = item.path;
      if (message.field === 2) removeValue(tree, item.path);
      else if (tree.has(key) || tree.size < this.#limits.maxKeys) {
        try {
          const value = parseValue(item.text, this.#limits.maxDepth);
          if (tree === this.#config && key === '_wandb') this.#about.set('settings', value);
          else setValue(tree, item.path, value);
        } catch (error) {
          this.#problem(this.#offset, `"${key.slice(0, 100)}": ${messageOf(error)}`);
        }
      }
    }
  }

  /** Measurements of the machine. They have a time and no step. */
  #stats(field: ProtoReader): void {
    const message = new ProtoReader().enter(field);
    const values = new Map<string, unknown>();
    let timeMs = Number.NaN;
    while (message.next()) {
      if (message.field === 2) timeMs = wandbTimeOf(message);
      else if (message.field === 3) this.#item(message, values);
    }
    for (const [name, value] of values) {
      const number = wandbNumberOf(value);
      if (number === undefined) continue;
      const metric = this.#sink.metric(
        `system/${name.replace(/^system[./]/, '').replaceAll('.', '/')}`,
      );
      this.#sink.push(metric, number, Number.NaN, Number.NaN, timeMs);
    }
  }

  #console(field: ProtoReader): void {
    const message = new ProtoReader().enter(field);
    while (message.next()) {
      if (message.field !== 3) continue;
      const line = message.text(Math.max(0, this.#limits.maxConsoleChars - this.#outputChars));
      if (line === '') continue;
      this.#outputChars += line.length;
      this.#output.push(field.field === OUTPUT && !line.endsWith('\n') ? `${line}\n` : line);
    }
  }

  #alert(field: ProtoReader): void {
    const message = new ProtoReader().enter(field);
    const texts = ['', '', '', ''];
    while (message.next())
      if (message.field < 4) texts[message.field] = message.text(MAX_TEXT_CHARS);
    const level = texts[3]?.toUpperCase();
    const severity = level === 'ERROR' ? 'error' : level === 'WARN' ? 'warning' : 'info';
    const payload = { title: texts[1] ?? '', text: texts[2] ?? '' };
    this.#sink.event({ eventType: 'wandb_alert', severity, payload });
  }

  #run(field: ProtoReader): void {
    const message = new ProtoReader().enter(field);
    while (message.next()) {
      const name = RUN_TEXTS.get(message.field);
      if (name !== undefined) this.#about.set(name, message.text(MAX_TEXT_CHARS));
      else if (message.field === 4) this.#update(message, this.#config);
      else if (message.field === 5) this.#update(message, this.#summary);
      else if (message.field === 10) this.#sink.tags([message.text(1024)]);
      else if (message.field === 21) this.#about.set('git', wandbTextsOf(message, GIT_FIELDS));
    }
  }

  #environment(field: ProtoReader): void {
    const message = new ProtoReader().enter(field);
    const args: string[] = [];
    while (message.next()) {
      const name = ENVIRONMENT_TEXTS.get(message.field);
      if (name !== undefined) this.#about.set(name, message.text(MAX_TEXT_CHARS));
      else if (message.field === 5 && args.length < MAX_ARGS) args.push(message.text(1024));
      else if (message.field === 9) this.#about.set('git', wandbTextsOf(message, GIT_FIELDS));
    }
    if (args.length > 0) this.#about.set('args', args);
  }
}
