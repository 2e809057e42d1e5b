/** The messages of TensorBoard's event files (Event, Summary, SummaryMetadata), turned into rows of a run. */
import type { ImportLimits } from '../../../codecs/limits.ts';
import { binsOf, binsOfLimits, type Interval } from './histogram-bins.ts';
import { readHparams } from './hparams-proto.ts';
import type { RunSink } from '../sink/importer.ts';
import type { JsonObject } from '../../../base/json.ts';
import { ProtoReader } from '../../../codecs/protobuf/reader.ts';
import type { FolderWords } from './event-folders.ts';
import { TagTable } from './tag-table.ts';
import { readTensorProto } from './tensor-proto.ts';

/** What is known of a tag. Writers send the metadata with its first value only. */
type Tag = {
  readonly text: string;
  name: string;
  plugin: string;
  /** Number of the metric; -2 until there is a value. */
  metric: number;
  isReported: boolean;
};

const UNKNOWN = -2;
const SUFFIX = /\/(?:scalar|histogram|text)_summary$/;
/** Levels of LogMessage that are more than news. */
const WARNING_LEVEL = 30;
const ERROR_LEVEL = 40;
const MAX_TEXT_CHARS = 2_000;
const SESSION = [undefined, 'started', 'stopped', 'checkpoint'] as const;
const LEFT_OUT = new Map([
  [3, 'histograms of an abandoned form'],
  [4, 'images'],
  [6, 'audio'],
]);

export class EventReader {
  readonly #sink: RunSink;
  readonly #limits: ImportLimits;
  readonly #problem: (offset: number, reason: string) => void;
  readonly #tags: TagTable<Tag>;
  readonly #event = new ProtoReader();
  readonly #summary = new ProtoReader();
  readonly #value = new ProtoReader();
  readonly #inner = new ProtoReader();
  /** Artifacts that wait to be kept. */
  #waiting: (() => Promise<void>)[] = [];
  #file = '';
  #lastStep = -1;
  #restarts = 0;
  #isFirstOfFile = false;
  #isFull = false;
  #timeMs = Number.NaN;
  #step = 0;
  #offset = 0;

  constructor(
    sink: RunSink,
    limits: ImportLimits,
    { before, behind }: FolderWords,
    problem: (offset: number, reason: string) => void,
  ) {
    this.#sink = sink;
    this.#limits = limits;
    this.#problem = problem;
    const prefix = before === '' ? '' : `${before}/`;
    this.#tags = new TagTable(limits.maxKeys, (bytes) => {
      const text = new TextDecoder().decode(bytes);
      const own =
        prefix === '' || text.toLowerCase().startsWith(prefix.toLowerCase()) ? text : prefix + text;
      const name = behind === '' ? own : `${own}/${behind}`;
      return { text, name, plugin: '', metric: UNKNOWN, isReported: false };
    });
  }

  /** Tells that the next events are of another file of the run. */
  beginFile(name: string): void {
    this.#file = name;
    this.#isFirstOfFile = true;
  }

  /** Reads the event at `[start, end)`; `offset` is where it lies in the file. */
  read(
    bytes: Uint8Array<ArrayBuffer>,
    view: DataView,
    start: number,
    end: number,
    offset: number,
  ): void {
    const event = this.#event.open(bytes, view, start, end);
    this.#timeMs = Number.NaN;
    this.#step = 0;
    this.#offset = offset;
    let summaryFrom = -1;
    let summaryTo = -1;
    while (event.next()) {
      switch (event.field) {
        case 1:
          this.#timeMs = event.double() * 1000;
          break;
        case 2:
          this.#step = event.integer;
          break;
        case 5:
          // Summaries are read once time and step are known, wherever in the message those are.
          if (event.wire !== 2) break;
          summaryFrom = event.from;
          summaryTo = event.to;
          break;
        case 6:
          this.#logMessage();
          break;
        case 7:
          this.#sessionLog();
          break;
        default:
      }
    }
    if (event.isBroken)
      this.#problem(offset, 'The event is damaged; what could be read of it is kept.');
    if (summaryFrom < 0) return;
    if (this.#timeMs === 0) this.#timeMs = Number.NaN;
    this.#noteRestart();
    const summary = this.#summary.open(bytes, view, summaryFrom, summaryTo);
    while (summary.next()) if (summary.field === 1) this.#readValue();
    if (summary.isBroken)
      this.#problem(offset, 'The summary is damaged; what could be read of it is kept.');
  }

  /** Keeps the artifacts that were found, and writes when much waits. */
  async settle(): Promise<void> {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const keep of waiting) await keep();
    if (this.#sink.isFull) await this.#sink.flush();
  }

  #readValue(): void {
    const value = this.#value.enter(this.#summary);
    let tag: Tag | undefined;
    let isTagged = false;
    let scalar = Number.NaN;
    let isScalar = false;
    let kind = 0;
    let dataFrom = 0;
    let dataTo = 0;
    let metadataFrom = -1;
    let metadataTo = -1;
    while (value.next()) {
      switch (value.field) {
        case 1:
          if (value.wire !== 2) break;
          isTagged = true;
          tag = this.#tags.find(value.bytes, value.from, value.to);
          break;
        case 2:
          if (value.wire !== 5) break;
          scalar = value.float();
          isScalar = true;
          kind = 2;
          break;
        case 9:
          metadataFrom = value.from;
          metadataTo = value.wire === 2 ? value.to : -1;
          break;
        case 3:
        case 4:
        case 5:
        case 6:
        case 8:
          kind = value.field;
          isScalar = false;
          dataFrom = value.from;
          dataTo = value.wire === 2 ? value.to : value.from;
          break;
        default:
      }
    }
    if (value.isBroken) {
      this.#problem(this.#offset, 'A value of the summary is damaged and left out.');
      return;
    }
    if (tag === undefined) {
      this.#reportTag(isTagged);
      return;
    }
    if (metadataFrom >= 0) this.#readMetadata(tag, metadataFrom, metadataTo);
    if (isScalar) this.#push(tag, scalar);
    else if (kind === 5) this.#histogram(tag, dataFrom, dataTo);
    else if (kind === 8) this.#tensor(tag, dataFrom, dataTo);
    else if (kind !== 0) this.#leaveOut(tag, LEFT_OUT.get(kind) ?? 'values of an unknown kind');
  }

  #push(tag: Tag, value: number): void {
    if (tag.metric === UNKNOWN) tag.metric = this.#sink.metric(tag.name);
    this.#sink.push(tag.metric, value, this.#step, Number.NaN, this.#timeMs);
  }

  #readMetadata(tag: Tag, from: number, to: number): void {
    const { bytes, view } = this.#value;
    const metadata = new ProtoReader().open(bytes, view, from, to);
    let displayName = '';
    while (metadata.next()) {
      if (metadata.field === 2) displayName = metadata.text(1024);
      if (metadata.field !== 1) continue;
      const data = this.#inner.enter(metadata);
      while (data.next()) {
        if (data.field === 1) tag.plugin = data.text(256);
        else if (data.field === 2 && tag.text.startsWith('_hparams_/')) this.#hparams(data);
      }
    }
    // The first generation of the plugins put a suffix behind the name that people gave.
    if (tag.metric === UNKNOWN && displayName !== '' && SUFFIX.test(tag.text))
      if (tag.text.replace(SUFFIX, '') === displayName) tag.name = tag.name.replace(SUFFIX, '');
  }

  #hparams(field: ProtoReader): void {
    const data = readHparams(field);
    if (data.kind === 'start') {
      this.#sink.config(data.hparams);
      if (Object.keys(data.about).length > 0)
        this.#sink.environment({ hparams_session: data.about });
    } else if (data.kind === 'end') this.#sink.status(data.status);
  }

  #tensor(tag: Tag, from: number, to: number): void {
    if (tag.text.startsWith('_hparams_/')) return;
    const { bytes, view } = this.#value;
    // A message of one field, so that the tensor is read where it lies.
    const tensor = this.#inner.open(bytes, view, from, to);
    tensor.wire = 2;
    tensor.from = from;
    tensor.to = to;
    const { shape, numbers, texts } = readTensorProto(tensor, this.#limits.maxTensorValues);
    if (texts !== null) {
      if (tag.plugin === 'text' || tag.plugin === '') this.#text(tag, texts);
      else this.#leaveOut(tag, `values of the plugin "${tag.plugin}"`);
    } else if (numbers === null)
      this.#leaveOut(tag, 'tensors that are damaged, too large, or of a type without numbers');
    else if (tag.plugin === 'histograms' && shape?.length === 2 && shape[1] === 3) {
      const intervals: Interval[] = [];
      for (let i = 0; i + 2 < numbers.length; i += 3)
        intervals.push([numbers[i] ?? 0, numbers[i + 1] ?? 0, numbers[i + 2] ?? 0]);
      if (intervals.length > 0) this.#keepHistogram(tag, binsOf(intervals), {});
    } else if (
      numbers.length === 1 &&
      (tag.plugin === 'scalars' || tag.plugin === '' || shape?.length === 0)
    )
      this.#push(tag, numbers[0] ?? Number.NaN);
    else
      this.#leaveOut(
        tag,
        `tensors of shape [${shape?.join(', ') ?? ''}]${tag.plugin === '' ? '' : ` of the plugin "${tag.plugin}"`}`,
      );
  }

  #histogram(tag: Tag, from: number, to: number): void {
    const { bytes, view } = this.#value;
    const message = this.#inner.open(bytes, view, from, to);
    const limits: number[] = [];
    const counts: number[] = [];
    const { maxTensorValues } = this.#limits;
    const about = { min: 0, max: 0, num: 0, sum: 0, sum_squares: 0 };
    while (message.next()) {
      switch (message.field) {
        case 1:
          about.min = message.double();
          break;
        case 2:
          about.max = message.double();
          break;
        case 3:
          about.num = message.double();
          break;
        case 4:
          about.sum = message.double();
          break;
        case 5:
          about.sum_squares = message.double();
          break;
        case 6:
          message.repeated('double', limits, maxTensorValues + 1);
          break;
        case 7:
          message.repeated('double', counts, maxTensorValues + 1);
          break;
        default:
      }
    }
    if (message.isBroken || limits.length > maxTensorValues || counts.length > maxTensorValues)
      this.#problem(
        this.#offset,
        `A histogram of "${tag.text.slice(0, 100)}" is damaged or has more than ${maxTensorValues} bins (limits.maxTensorValues).`,
      );
    else if (counts.some((count) => count !== 0))
      this.#keepHistogram(tag, binsOfLimits(limits, counts, about.min, about.max), about);
  }

  #keepHistogram(tag: Tag, bins: JsonObject | null, about: Readonly<Record<string, number>>): void {
    if (bins === null) {
      this.#problem(
        this.#offset,
        `A histogram of "${tag.text.slice(0, 100)}" has bins that make no sense.`,
      );
      return;
    }
    const finite = Object.fromEntries(
      Object.entries(about).filter(([, value]) => Number.isFinite(value)),
    );
    this.#keep('histogram', tag, { ...bins, ...finite });
  }

  #text(tag: Tag, texts: readonly string[]): void {
    this.#keep('text', tag, texts.join('\n'));
  }

  #keep(type: string, tag: Tag, payload: string | JsonObject): void {
    const position = { step: this.#step, timeMs: this.#timeMs };
    const offset = this.#offset;
    this.#waiting.push(async () => {
      try {
        await this.#sink.artifact(type, tag.name, payload, position);
      } catch (error) {
        if (!isBadName(error)) throw error;
        this.#problem(
          offset,
          `An artifact called ${JSON.stringify(tag.text.slice(0, 100))} is left out: no key can be made of it.`,
        );
      }
    });
  }

  #leaveOut(tag: Tag, what: string): void {
    if (tag.isReported) return;
    tag.isReported = true;
    this.#problem(this.#offset, `Of "${tag.text.slice(0, 100)}" ${what} are left out.`);
  }

  #reportTag(isTagged: boolean): void {
    if (!isTagged) this.#problem(this.#offset, 'A value without a tag is left out.');
    else if (!this.#isFull) {
      this.#isFull = true;
      this.#problem(
        this.#offset,
        `Tags beyond ${this.#limits.maxKeys} are left out (limits.maxKeys).`,
      );
    }
  }

  #noteRestart(): void {
    const step = this.#step;
    if (this.#isFirstOfFile && step < this.#lastStep && this.#restarts < this.#limits.maxRestarts) {
      this.#restarts++;
      this.#note('tensorboard_steps_restarted', { file: this.#file, last_step: this.#lastStep });
    }
    this.#isFirstOfFile = false;
    this.#lastStep = Math.max(this.#lastStep, step);
  }

  /** TensorBoard hides what lies at later steps than a session that starts; here everything is kept, and the start is told. */
  #sessionLog(): void {
    const message = this.#inner.enter(this.#event);
    const payload: Record<string, string> = { file: this.#file };
    let status = 0;
    while (message.next()) {
      if (message.field === 1) status = message.integer;
      else if (message.field === 2) payload['checkpoint_path'] = message.text(MAX_TEXT_CHARS);
      else if (message.field === 3) payload['message'] = message.text(MAX_TEXT_CHARS);
    }
    this.#note(`tensorboard_session_${SESSION[status] ?? 'log'}`, payload);
  }

  #logMessage(): void {
    const message = this.#inner.enter(this.#event);
    let level = 0;
    let text = '';
    while (message.next()) {
      if (message.field === 1) level = message.integer;
      else if (message.field === 2) text = message.text(MAX_TEXT_CHARS);
    }
    const severity = level >= ERROR_LEVEL ? 'error' : level >= WARNING_LEVEL ? 'warning' : 'info';
    this.#note('tensorboard_log_message', { message: text }, severity);
  }

  #note(
    eventType: string,
    payload: JsonObject,
    severity: 'info' | 'warning' | 'error' = 'info',
  ): void {
    this.#sink.event({ eventType, severity, step: this.#step, timeMs: this.#timeMs, payload });
  }
}

function isBadName(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'invalid_input';
}
