import { checkInstant, checkOptionNames, isGiven } from '../base/assert.ts';
import { ASYNC_DISPOSE } from '../base/dispose.ts';
import { invalidInput } from '../base/errors.ts';
import { encodeJsonObject, freezeJson, type JsonObject } from '../base/json.ts';
import { loadPart } from '../base/runtime.ts';
import { isKey, parseKey, toKey, type KeyParts } from '../base/names.ts';
import { contextKey, contextOf, contextText, type MetricContext } from '../base/series-key.ts';
import { literal, optional, readOptions } from '../base/options.ts';
import { sampled, threadTime } from '../base/thread/thread-time.ts';
import { metricTable } from '../records/metric.ts';
import type { MetricColumns, MetricFilter } from '../read/metric-columns.ts';
import {
  WRITER_RULES,
  type TableWriter,
  type WriterOptions,
  type WriterStatus,
} from './writer-options.ts';
import { BoundMetrics } from './bound-metrics.ts';
import { MetricBuffer } from './metric-buffer.ts';
import { MetricRecord, type MetricKey, type MetricNotes } from '../read/metric-record.ts';
import type { RunContext } from './run-context.ts';
import {
  badName,
  badValue,
  checkMetricOptions,
  checkMetricValues,
  needsPosition,
} from './wrong-calls.ts';
import { handleOf, writeFor, type RunHandle } from './run-handle.ts';
import {
  checkAggregates,
  MetricAggregator,
  type MetricAggregate,
} from './aggregates/metric-aggregates.ts';
import type { TrainingSession } from './training-session.ts';

/** What {@link MetricsLogger} does with NaN and infinities. */
export const NON_FINITE_POLICIES = ['store', 'reject'] as const;
/** One of {@link NON_FINITE_POLICIES}. */
export type NonFinitePolicy = (typeof NON_FINITE_POLICIES)[number];

/** Options of {@link MetricsLogger}. */
export type MetricsLoggerOptions = WriterOptions & {
  /**
   * `map` records a name that is no key, such as `Loss (val): %`, under the key that importers give it, `Loss_val`, with one
   * `metric_renamed` event that has the name. Two names with one key are refused. Default: `reject`, which throws.
   */
  readonly names?: 'reject' | 'map';
  /**
   * `store` stores NaN and infinities as they are and records one `non_finite_metric` event a key; `reject` throws.
   * Default: `reject` in strict mode, `store` else.
   */
  readonly nonFinite?: NonFinitePolicy;
  /**
   * Metrics, by their full key, of which fewer samples are recorded than are logged: means, statistics, the last ones. Descriptions and
   * metadata of their samples are not recorded. Default none.
   *
   * @example
   * ```js
   * import { MetricsLogger, startRun } from 'quark-sdk';
   *
   * const session = await startRun({ project: 'digits', storageDir: 'quark-runs' });
   * const metrics = new MetricsLogger(session, { aggregate: { 'train/loss': { kind: 'mean', every: 100 } } });
   * for (let step = 0; step < 1000; step++) metrics.log('train/loss', 1 / (step + 1), { step });
   * console.log((await metrics.read()).length); // 10
   * await session.endRun();
   * ```
   */
  readonly aggregate?: Readonly<Record<string, MetricAggregate>>;
};

/** Where a sample belongs: a step, an epoch or both, which are non-negative integers. Default: the step of `session.setStep`. */
export type MetricPosition = {
  /** Training step. */
  readonly step?: number | undefined;
  /** Training epoch. */
  readonly epoch?: number | undefined;
};

/** Options of {@link MetricsLogger.log}. */
export type LogMetricOptions = MetricPosition & {
  /** Put before the metric's name, with a "/". */
  readonly namespace?: string | null | undefined;
  /**
   * What the series is of, besides its metric: `{ subset: 'val' }`. Two contexts of a metric are two series, whose keys are
   * `loss {subset=train}` and `loss {subset=val}`. Default: none.
   */
  readonly context?: MetricContext | null | undefined;
  /** `none`: the value belongs to no step and no epoch, as the cost of a training does. */
  readonly position?: 'none' | undefined;
  /** What the metric means. */
  readonly description?: string | null | undefined;
  /** What else is known of the sample; a JSON object. */
  readonly metadata?: JsonObject | null | undefined;
  /** When the sample was made. Default: now. */
  readonly timestamp?: string | number | Date | undefined;
};

/** Options of {@link MetricsLogger.logColumns}. */
export type LogColumnsOptions = {
  /** Epoch of each sample. */
  readonly epochs?: ArrayLike<number>;
  /** What the series is of: see {@link LogMetricOptions.context}. */
  readonly context?: MetricContext | null | undefined;
  /** When the samples were made. Default: now. */
  readonly timestamp?: string | number | Date;
};

/**
 * Records scalar metrics. `log` is synchronous and cheap: the sample goes into typed-array columns, which are written in
 * the background after `batchSize` samples or `flushIntervalMs`, when the page is hidden, and on `flush` and `close`.
 *
 * @example
 * ```js
 * import { endRun, MetricsLogger, startRun } from 'quark-sdk';
 *
 * const session = await startRun({ project: 'digits', storageDir: 'quark-runs' });
 * const metrics = new MetricsLogger(session, { batchSize: 1000, flushIntervalMs: 5000 });
 * metrics.log('train/loss', 0.7, { step: 0, epoch: 0 });
 * metrics.logMany({ 'val/loss': 0.8, 'val/accuracy': 0.6 }, { epoch: 0 });
 * metrics.logColumns('train/lr', [1, 2, 3], [0.1, 0.09, 0.08]);
 *
 * const { rowCount, keys } = await metrics.readColumns({ namespace: 'train' });
 * console.log(rowCount, keys); // 4 [ 'train/loss', 'train/lr' ]
 * await endRun(session);
 * ```
 */
export class MetricsLogger implements AsyncDisposable {
  readonly #handle: RunHandle;
  readonly #buffer = new MetricBuffer();
  readonly #writer: TableWriter;
  readonly #keys = new Map<string, MetricKey>();
  #nextKey = 0;
  readonly #nonFinite = new Map<string, number>();
  /** Texts of contexts that nobody can change. */
  readonly #contexts = new WeakMap<object, string>();
  readonly #rejectsNonFinite: boolean;
  /** The name that each key stands for; undefined where names are not mapped. */
  readonly #names: Map<string, string> | undefined;
  readonly #aggregates: ReturnType<typeof checkAggregates> | undefined;
  /** By the numbers of their keys. */
  readonly #aggregators = new Map<number, MetricAggregator>();

  /**
   * @param session a session, or a context made by one
   * @throws {QuarkError} `invalid_input` naming the option
   */
  constructor(session: TrainingSession | RunContext, options: MetricsLoggerOptions = {}) {
    this.#handle = handleOf(session);
    const { aggregate, names, nonFinite, ...writerOptions } = readOptions('options', options, {
      aggregate: optional(checkAggregates),
      names: literal(['reject', 'map'] as const, 'reject'),
      nonFinite: literal(NON_FINITE_POLICIES, this.#handle.strictMode ? 'reject' : 'store'),
      ...WRITER_RULES,
    });
    this.#rejectsNonFinite = nonFinite === 'reject';
    this.#names = names === 'map' ? new Map() : undefined;
    this.#aggregates = aggregate;
    this.#writer = this.#handle.openWriter(metricTable, this.#buffer, writerOptions, {
      finish: () => this.#aggregators.forEach((aggregator) => aggregator.finish()),
    });
    this.#handle.summarize(this.#buffer.summaries);
  }

  /** How many samples are buffered, how many were dropped, and why writing failed last. */
  get status(): WriterStatus {
    return this.#writer.status;
  }

  /** Keys that had NaN or infinite samples, with their number. */
  get nonFiniteCounts(): ReadonlyMap<string, number> {
    return this.#nonFinite;
  }

  /**
   * Records one sample.
   *
   * @param metric a full key (`train/loss`) or a name that `namespace` is put before
   * @param options where the sample belongs; may be left out after `session.setStep`
   * @throws {QuarkError} `invalid_input` naming field, value and rule; `writer_closed`; `invalid_run_state`
   * @example
   * ```js
   * import { MetricsLogger, startRun } from 'quark-sdk';
   *
   * const session = await startRun({ project: 'digits', storageDir: 'quark-runs' });
   * const metrics = new MetricsLogger(session);
   * const { metricKey } = metrics.log('loss', 0.31, { step: 10, context: { subset: 'val' } });
   * console.log(metricKey); // loss {subset=val}
   * metrics.log('cost_usd', 3.2, { position: 'none' });
   * await session.endRun();
   * ```
   */
  log(metric: string, value: number, options?: LogMetricOptions): MetricRecord {
    const record = this.#add(metric, value, options);
    this.#writer.added();
    return record;
  }

  /**
   * The same logger with a position that need not be repeated.
   *
   * @throws {QuarkError} `invalid_input`
   * @example
   * ```js
   * import { MetricsLogger, startRun } from 'quark-sdk';
   *
   * const session = await startRun({ project: 'digits', storageDir: 'quark-runs' });
   * const metrics = new MetricsLogger(session);
   * const now = metrics.at({ step: 120, epoch: 2 });
   * now.log('train/loss', 0.4);
   * console.log(now.log('train/accuracy', 0.9).step); // 120
   * await session.endRun();
   * ```
   */
  at(position: MetricPosition): BoundMetrics {
    return new BoundMetrics(this).at(position);
  }

  /**
   * The same logger for the series of a context.
   *
   * @throws {QuarkError} `invalid_input`
   * @example
   * ```js
   * import { MetricsLogger, startRun } from 'quark-sdk';
   *
   * const session = await startRun({ project: 'digits', storageDir: 'quark-runs' });
   * const metrics = new MetricsLogger(session);
   * const val = metrics.withContext({ subset: 'val' });
   * console.log(val.log('loss', 0.31, { step: 120 }).metricKey); // loss {subset=val}
   * await session.endRun();
   * ```
   */
  withContext(context: MetricContext): BoundMetrics {
    return new BoundMetrics(this).withContext(context);
  }

  #add(metric: string, value: number, options: LogMetricOptions | undefined): MetricRecord {
    return threadTime.readers > 0
      ? sampled('log', () => this.#push(metric, value, options))
      : this.#push(metric, value, options);
  }

  #push(metric: string, value: number, options: LogMetricOptions | undefined): MetricRecord {
    const key = this.#keyOf(metric, options);
    const given = indexOf('step', options?.step);
    const epoch = indexOf('epoch', options?.epoch);
    const step = this.#stepOf(key.key, given, epoch, options);
    const timeMs = this.#timeOf(options);
    const texts = textsOf(options);
    this.#checkValue(key.key, value);
    const isStored = this.#store(key, value, step, epoch, timeMs);
    if (isStored && texts !== null) this.#buffer.annotate(texts.description, texts.metadata);
    return new MetricRecord(
      this.#handle.runId,
      key,
      value,
      step === step ? step : null,
      options?.epoch ?? null,
      timeMs,
      texts === null ? null : notesOf(texts),
      null,
    );
  }

  /**
   * Records several metrics of one moment. Either all are recorded or none.
   *
   * @throws {QuarkError} as {@link log}
   */
  logMany(values: Readonly<Record<string, number>>, options?: LogMetricOptions): void {
    checkMetricValues(values);
    if (threadTime.readers > 0) sampled('log', () => this.#pushMany(values, options));
    else this.#pushMany(values, options);
    this.#writer.added();
  }

  /** As {@link #push}, without a record of each; what is of the moment is checked once. */
  #pushMany(values: Readonly<Record<string, number>>, options: LogMetricOptions | undefined): void {
    const samples: [MetricKey, number][] = [];
    // Read once: what is stored is what was checked.
    for (const [metric, value] of Object.entries(values)) {
      const key = this.#keyOf(metric, options);
      this.#checkValue(key.key, value);
      samples.push([key, value]);
    }
    const [first] = samples;
    if (first === undefined) return;
    const given = indexOf('step', options?.step);
    const epoch = indexOf('epoch', options?.epoch);
    const step = this.#stepOf(first[0].key, given, epoch, options);
    const timeMs = this.#timeOf(isGiven(options?.timestamp) ? options : undefined);
    const texts = textsOf(options);
    for (const [key, value] of samples) {
      const isStored = this.#store(key, value, step, epoch, timeMs);
      if (isStored && texts !== null) this.#buffer.annotate(texts.description, texts.metadata);
    }
  }

  /** Puts a sample where it belongs; whether it has a row of its own. */
  #store(key: MetricKey, value: number, step: number, epoch: number, timeMs: number): boolean {
    const aggregator = this.#aggregators.get(key.id);
    const isAdmitted = this.#admit(aggregator);
    if (value - value !== 0) this.#countNonFinite(key, value, step, epoch);
    if (aggregator !== undefined) aggregator.add(value, step, epoch, timeMs);
    else if (isAdmitted) this.#buffer.push(key.id, value, step, epoch, timeMs);
    return isAdmitted;
  }

  /**
   * Records many samples of one metric at once, with no object a sample. The arrays are copied.
   *
   * @param steps step of each sample; as long as `values`
   * @throws {QuarkError} as {@link log}; nothing is recorded then
   */
  logColumns(
    metric: string,
    steps: ArrayLike<number>,
    values: ArrayLike<number>,
    options: LogColumnsOptions = {},
  ): void {
    checkOptionNames('options', options, ['epochs', 'timestamp', 'context']);
    const key = this.#keyOf(metric, { context: options.context });
    if (typeof values !== 'object' || values === null || typeof values.length !== 'number')
      throw invalidInput('values', values, 'an array of numbers');
    checkColumn('steps', steps, values.length);
    if (options.epochs !== undefined) checkColumn('epochs', options.epochs, values.length);
    for (let i = 0; i < values.length; i++) {
      const value = values[i];
      if (typeof value !== 'number' || (this.#rejectsNonFinite && value - value !== 0))
        this.#checkValue(`${key.key}[${i}]`, value);
    }
    const timeMs =
      options.timestamp === undefined
        ? this.#handle.clock.now()
        : checkInstant('timestamp', options.timestamp);
    for (let i = 0; i < values.length; i++) {
      const value = values[i] ?? Number.NaN;
      const step = steps[i] ?? Number.NaN;
      const epoch = options.epochs?.[i] ?? Number.NaN;
      const isStored = this.#store(key, value, step, epoch, timeMs);
      if (isStored && (i & COLUMN_CHUNK) === COLUMN_CHUNK) this.#writer.added();
    }
    this.#writer.added();
  }

  /**
   * Makes every sample so far durable and returns those this call wrote, with their sequence numbers.
   *
   * @throws {SessionStoreError} in strict mode, when the store failed. Without it the failure is in `status`. In both modes the
   *   samples stay buffered and are retried
   */
  async flush(): Promise<readonly MetricRecord[]> {
    const segments = await this.#writer.drainCollecting();
    if (segments.length === 0) return [];
    const { recordsOfSegments } = await loadReaders();
    return recordsOfSegments(this.#handle.runId, segments);
  }

  /**
   * Samples of the run in the order they were persisted, after a flush when the logger is open.
   *
   * @throws {QuarkError} `invalid_input` naming the filter
   */
  async read(filter: MetricFilter = {}): Promise<readonly MetricRecord[]> {
    await this.#writer.drainOpen();
    const { readMetrics } = await loadReaders();
    return (await readMetrics(this.#handle, filter)).records;
  }

  /** The same as columns: no object a sample. Use it for more than a few thousand samples. */
  async readColumns(filter: MetricFilter = {}): Promise<MetricColumns> {
    await this.#writer.drainOpen();
    const { readMetricColumns } = await loadPart(
      'Reading metrics',
      async () => import('../read/metric-columns.ts'),
    );
    return readMetricColumns(this.#handle, filter);
  }

  /** {@link flush} without the samples. @internal */
  drain(): Promise<void> {
    return writeFor(this.#handle, () => this.#writer.drain());
  }

  /** Flushes and closes the logger; `log` throws `writer_closed` afterwards, `read` still works. */
  close(): Promise<void> {
    return writeFor(this.#handle, () => this.#writer.close());
  }

  [ASYNC_DISPOSE](): Promise<void> {
    return this.close();
  }

  /** A sample that is aggregated needs no room of its own. */
  #admit(aggregator: MetricAggregator | undefined): boolean {
    if (aggregator === undefined) return this.#writer.admit();
    this.#writer.check();
    return false;
  }

  #keyOf(metric: string, options: LogMetricOptions | undefined): MetricKey {
    if (typeof options !== 'object') checkMetricOptions(options, metric);
    const namespace = options?.namespace;
    let text = namespace === undefined || namespace === null ? metric : `${namespace}/${metric}`;
    if (isGiven(options?.context)) text += this.#contextText(options.context);
    return this.#keys.get(text) ?? this.#addKey(metric, options ?? NO_OPTIONS, text);
  }

  #addKey(metric: string, options: LogMetricOptions, text: string): MetricKey {
    if (typeof metric !== 'string') throw badName(metric);
    // Once a key: looking at the names of every sample would cost 10 ns each.
    checkOptionNames('options', options, LOG_OPTION_NAMES);
    const { namespace } = options;
    const parts = this.#partsOf(metric, namespace);
    const entry = this.#newKey(parts, options.context);
    this.#keys.set(text, entry);
    const settings = this.#aggregates?.get(entry.key) ?? this.#aggregates?.get(parts.key);
    if (settings === undefined) return entry;
    const keys = new Map([['', entry]]);
    const aggregator = new MetricAggregator(settings, (suffix, { epoch, step, timeMs, value }) => {
      const target =
        keys.get(suffix) ??
        this.#newKey(parseKey('metric', `${parts.key}${suffix}`), options.context);
      keys.set(suffix, target);
      if (this.#writer.makeRoom()) this.#buffer.push(target.id, value, step, epoch, timeMs);
    });
    this.#aggregators.set(entry.id, aggregator);
    return entry;
  }

  #partsOf(metric: string, namespace: string | null | undefined): KeyParts {
    if (this.#names === undefined) return parseKey('metric', metric, namespace);
    const name = isGiven(namespace) ? `${namespace}/${metric}` : metric;
    const parts = parseKey('metric', isKey(name) ? name : (toKey(name) ?? name));
    const known = this.#names.get(parts.key);
    if (known !== undefined && known !== name)
      throw invalidInput('metric', name, `another name than ${known}, whose key is ${parts.key}`);
    this.#names.set(parts.key, name);
    if (known === undefined && name !== parts.key)
      this.#handle.notify({
        eventType: 'metric_renamed',
        severity: 'info',
        step: null,
        epoch: null,
        payload: { metric_key: parts.key, name: name.slice(0, 4096) },
      });
    return parts;
  }

  #newKey(
    { key: bare, name, namespace }: KeyParts,
    given: MetricContext | null | undefined,
  ): MetricKey {
    const key = contextKey(bare, given);
    const entry = { id: this.#nextKey++, key, namespace, name, context: contextOf(key) };
    this.#buffer.addKey(entry);
    return entry;
  }

  #contextText(context: MetricContext): string {
    let text = this.#contexts.get(context);
    if (text === undefined) {
      text = contextText(context);
      if (Object.isFrozen(context)) this.#contexts.set(context, text);
    }
    return text;
  }

  /** Milliseconds of the moment of a sample. */
  #timeOf(options: LogMetricOptions | undefined): number {
    const timestamp = options?.timestamp;
    return timestamp === undefined
      ? this.#handle.clock.now()
      : checkInstant('timestamp', timestamp);
  }

  /** The step of a sample, that of the session where neither it nor an epoch is given; NaN where it is to have none. */
  #stepOf(key: string, step: number, epoch: number, options: LogMetricOptions | undefined): number {
    if (step === step || epoch === epoch) {
      if (options?.position !== undefined) throw hasPosition(options.position);
      return step;
    }
    if (options?.position === undefined) {
      const { step: current } = this.#handle;
      if (current === undefined) throw needsPosition(key, options, LOG_OPTION_NAMES);
      return current;
    }
    if (options.position !== 'none') throw hasPosition(options.position);
    return Number.NaN;
  }

  #checkValue(what: string, value: unknown): void {
    if (typeof value !== 'number') throw badValue(what, value, this.#rejectsNonFinite);
    if (this.#rejectsNonFinite && value - value !== 0) throw badValue(what, value, true);
  }

  #countNonFinite(key: MetricKey, value: number, step: number, epoch: number): void {
    const count = (this.#nonFinite.get(key.key) ?? 0) + 1;
    this.#nonFinite.set(key.key, count);
    if (count > 1) return;
    this.#handle.notify({
      eventType: 'non_finite_metric',
      severity: 'warning',
      step: step === step ? step : null,
      epoch: epoch === epoch ? epoch : null,
      payload: {
        metric_key: key.key,
        value: String(value),
        message: `${key.key} is ${value} for the first time.`,
      },
    });
  }
}

const loadReaders = () =>
  loadPart('Reading metrics', async () => import('../read/metric-records.ts'));

const LOG_OPTION_NAMES = [
  'step',
  'epoch',
  'namespace',
  'context',
  'position',
  'description',
  'metadata',
  'timestamp',
] as const;
const NO_OPTIONS: LogMetricOptions = Object.freeze({});
/** A description explains a metric; a document is an artifact. */
const MAX_DESCRIPTION_CHARS = 4096;
/** Long columns start a flush every 65,536 samples. */
const COLUMN_CHUNK = 0xffff;

function checkIndex(field: string, value: number): number {
  if ((value | 0) === value && value >= 0) return value;
  if (!Number.isSafeInteger(value) || value < 0)
    throw invalidInput(field, value, 'a non-negative integer');
  return value;
}

/** The same where one is given; else NaN. */
function indexOf(field: string, value: number | null | undefined): number {
  return value === undefined || value === null ? Number.NaN : checkIndex(field, value);
}

/** Checked texts of a sample; null where it has none. */
type Texts = { readonly description: string | null; readonly metadata: string | null };

function textsOf(options: LogMetricOptions | undefined): Texts | null {
  const hasDescription = isGiven(options?.description);
  const hasMetadata = isGiven(options?.metadata);
  if (!hasDescription && !hasMetadata) return null;
  return {
    description: hasDescription ? checkText('description', options?.description) : null,
    metadata: hasMetadata ? encodeJsonObject('metadata', options?.metadata) : null,
  };
}

/** The texts as a record has them. */
function notesOf({ description, metadata }: Texts): MetricNotes {
  const own = metadata === null ? null : freezeJson(JSON.parse(metadata) as JsonObject);
  return { description, metadata: own };
}

function checkColumn(field: string, column: ArrayLike<number>, length: number): void {
  if (typeof column !== 'object' || column === null || column.length !== length) {
    throw invalidInput(`${field}.length`, column?.length, `${length}, the number of values`);
  }
  for (let i = 0; i < length; i++) checkIndex(`${field}[${i}]`, column[i] ?? -1);
}

function checkText(field: string, value: unknown): string {
  if (typeof value !== 'string' || value.length > MAX_DESCRIPTION_CHARS) {
    throw invalidInput(field, value, `text of at most ${MAX_DESCRIPTION_CHARS} characters`);
  }
  return value;
}

function hasPosition(position: unknown): Error {
  return invalidInput('position', position, '"none", and then without a step and an epoch');
}
