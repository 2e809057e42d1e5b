/**
 * One imported run on its way into a store. Everything about it follows from what is imported: the same files give the same run id and
 * the same batches, so an import that was cut off is gone on with, and one that is repeated writes nothing twice.
 */
import { invalidInput, isQuarkError, messageOf } from '../../../base/errors.ts';
import { encodeJsonObject, freezeJson, type JsonObject } from '../../../base/json.ts';
import {
  checkEventType,
  parseKey,
  splitKey,
  toLabel,
  withoutContext,
} from '../../../base/names.ts';
import {
  checkSeriesKey,
  contextKey,
  contextOf,
  type MetricContext,
} from '../../../base/series-key.ts';
import { PART_BYTES, putPayload } from '../../../instruments/artifacts/parts.ts';
import { PAYLOAD_FILE_NAMES } from '../../../instruments/artifacts/payload.ts';
import { artifactTable } from '../../../records/artifact.ts';
import { eventTable, type EventRecord } from '../../../records/event.ts';
import { isEndEvent, reasonOfEvent } from '../../../records/run-ending.ts';
import type { ArtifactPayloadFormat, RunStatus } from '../../../records/literals.ts';
import { metricTable } from '../../../records/metric.ts';
import {
  joinSummaries,
  MAX_SUMMARIZED_SERIES,
  MetricSummaries,
} from '../../../records/metric-summaries.ts';
import type { TableDefinition } from '../../../schema/table.ts';
import { batchOfRows } from '../../../segment/batch-ops.ts';
import { SEQUENCE_COLUMN } from '../../../segment/encode.ts';
import { createSegment } from '../../../segment/manifest.ts';
import type { KeyVector, RowBatch } from '../../../codecs/arrow/vectors.ts';
import { MetricBuffer } from '../../../session/metric-buffer.ts';
import type { NewSegment, Store } from '../../../store/store.ts';
import { toBoundedJson } from './import-json.ts';
import type { ImportedEvent, RowPosition, TableSink } from './importer.ts';
import { ImportMerges } from './import-merges.ts';
import { conventionalKey, type KeyRule } from './key-table.ts';
import type { ImportLimits } from '../../../codecs/limits.ts';

/** Rows of a batch, and rows that may wait to be written. Batches end where rows say, not where time does: an import that is repeated makes the same ones. */
const BATCH_ROWS = 65_536;
/** Events of a batch: readers make an object of each, and a page reads a batch at a time. */
const BATCH_EVENTS = 4096;
/** Characters of text after which a batch ends before it has its rows: a store takes segments of a bounded size. */
const BATCH_CHARS = 1 << 22;
/** Artifacts of a batch: their records are held as objects until it is cut. */
const BATCH_ARTIFACTS = 4096;
/** Segments in one append. */
const MAX_APPEND_SEGMENTS = 16;
/** Bytes of encoded segments that count as one waiting row. */
const ROW_BYTES = 512;
/** Longer names are no names. */
const MAX_ORIGINAL_CHARS = 1000;
const WRITER_ID = 'import';

/** What a {@link RunWriter} needs to know. */
export type RunWriterConfig = {
  readonly store: Store;
  readonly runId: string;
  readonly format: string;
  /** Time of rows that have none. */
  readonly startedAtMs: number;
  readonly limits: ImportLimits;
  readonly keyRules: readonly KeyRule[];
  readonly problem: (reason: string) => void;
};

/** What was imported of a run, for its record. */
export type WrittenRun = {
  readonly config: JsonObject;
  readonly environment: JsonObject;
  readonly tags: readonly string[];
  readonly status: Exclude<RunStatus, 'running'>;
  /** Why it failed or was interrupted, where an event says so. */
  readonly statusReason: string | null;
  readonly names: Readonly<Record<string, string>>;
  /** The same, as far as a run record has room. */
  readonly listedNames: JsonObject;
  readonly rowCount: number;
  readonly metricSummaries: JsonObject;
  readonly firstTimeMs: number | null;
  readonly lastTimeMs: number | null;
};

export class RunWriter implements TableSink {
  readonly #config: RunWriterConfig;
  readonly #merges: ImportMerges;
  readonly #buffer = new MetricBuffer();
  readonly #ids = new Map<string, number>();
  /** Original name by key. */
  readonly #names = new Map<string, string>();
  /** Original name by number. */
  readonly #originals: string[] = [];
  /** Last suffix that was tried for a key that is taken. */
  readonly #suffixes = new Map<string, number>();
  /** Next step of each metric, for rows without a position. */
  readonly #nextStep: number[] = [];
  readonly #isNoted: boolean[] = [];
  readonly #nextBatch = new Map<string, number>();
  #artifacts: object[] = [];
  #artifactCount = 0;
  #events: object[] = [];
  #eventChars = 0;
  #pending: NewSegment[] = [];
  #pendingRows = 0;
  #pendingBytes = 0;
  #rowCount = 0;
  #firstTimeMs = Infinity;
  #lastTimeMs = -Infinity;
  #refusedCount = 0;
  /** Values whose step cannot be one. */
  #badSteps = 0;
  #hasLongName = false;
  /** Of rows that come as columns, with the numbers of their series. */
  readonly #tables = new MetricSummaries();
  readonly #tableIds = new Map<string, number>();
  readonly #configuration = new Map<string, unknown>();
  readonly #environment = new Map<string, unknown>();
  readonly #tags = new Set<string>();
  #status: WrittenRun['status'] = 'completed';
  #lastEnd: Pick<EventRecord, 'eventType' | 'payload' | 'severity'> | undefined;

  constructor(config: RunWriterConfig) {
    this.#config = config;
    this.#merges = new ImportMerges(config.store, config.runId);
  }

  get pendingRows(): number {
    const rows = this.#buffer.rowCount + this.#events.length + this.#pendingRows;
    return Math.max(rows, Math.floor(this.#pendingBytes / ROW_BYTES));
  }

  get isFull(): boolean {
    return this.pendingRows > BATCH_ROWS;
  }

  metric(name: string): number {
    // Before it is looked up: a long path that thousands of values share would be written out for each of them.
    if (name.length > MAX_ORIGINAL_CHARS) {
      if (!this.#hasLongName)
        this.#config.problem(
          `Metric "${short(name)}" and others of over ${MAX_ORIGINAL_CHARS} characters are left out.`,
        );
      this.#hasLongName = true;
      return -1;
    }
    const known = this.#ids.get(name);
    if (known !== undefined) return known;
    const id = this.#addMetric(name);
    // A file may have any number of names: those that are refused are remembered, to be reported once, up to a bound.
    if (id >= 0 || this.#refusedCount++ < this.#config.limits.maxKeys) this.#ids.set(name, id);
    return id;
  }

  push(metric: number, value: number, step: number, epoch: number, timeMs: number): void {
    const name = metric < 0 ? undefined : this.#nextStep[metric];
    if (name === undefined) return;
    let position = isIndex(step) ? step : Number.NaN;
    if (position !== position && step === step) this.#badSteps++;
    const epochIndex = isIndex(epoch) ? epoch : Number.NaN;
    if (position !== position && epochIndex !== epochIndex) position = name;
    if (position === position) this.#nextStep[metric] = position + 1;
    const hasTime = Math.abs(timeMs) <= 8.64e15;
    if (hasTime) {
      if (timeMs < this.#firstTimeMs) this.#firstTimeMs = timeMs;
      if (timeMs > this.#lastTimeMs) this.#lastTimeMs = timeMs;
    }
    this.#buffer.push(
      metric,
      value,
      position,
      epochIndex,
      hasTime ? Math.round(timeMs) : this.#config.startedAtMs,
    );
    if (this.#isNoted[metric] !== true) this.#note(metric);
    this.#rowCount++;
    if (this.#buffer.rowCount >= BATCH_ROWS || this.#buffer.textChars >= BATCH_CHARS) this.#cut();
  }

  event(event: ImportedEvent): void {
    const { eventType, severity = 'info', step, epoch, timeMs, payload = {} } = event;
    checkEventType(eventType);
    const text = encodeJsonObject('payload', payload);
    if (isEndEvent(eventType)) this.#lastEnd = { eventType, payload, severity };
    this.#eventChars += text.length;
    this.#events.push({
      timestamp: this.#instant(timeMs),
      eventType,
      severity,
      step: isIndex(step) ? step : null,
      epoch: isIndex(epoch) ? epoch : null,
      status: null,
      payload: freezeJson(JSON.parse(text) as JsonObject),
    });
    if (this.#events.length >= BATCH_EVENTS || this.#eventChars >= BATCH_CHARS) this.#cutEvents();
  }

  config(values: Readonly<Record<string, unknown>>): void {
    for (const [name, value] of Object.entries(values)) this.#configuration.set(name, value);
  }

  environment(values: Readonly<Record<string, unknown>>): void {
    for (const [name, value] of Object.entries(values)) this.#environment.set(name, value);
  }

  tags(tags: readonly string[]): void {
    for (const tag of tags) {
      const label = toLabel(tag.replace(/\s+/g, ' '));
      if (label !== undefined) this.#tags.add(label);
    }
  }

  status(status: WrittenRun['status']): void {
    this.#status = status;
  }

  async artifact(
    type: string,
    name: string,
    payload: Uint8Array<ArrayBuffer> | string | JsonObject,
    position: Partial<RowPosition> = {},
  ): Promise<void> {
    const { maxArtifacts } = this.#config.limits;
    if (this.#artifactCount >= maxArtifacts) {
      if (this.#artifactCount++ === maxArtifacts)
        this.#config.problem(
          `Artifacts from "${short(name)}" on are left out: a run may have ${maxArtifacts} (limits.maxArtifacts).`,
        );
      return;
    }
    const key = conventionalKey(name, this.#config.format, []);
    if (key === undefined) throw invalidInput('name', name, 'a name with a letter or digit in it');
    const parts = parseKey('name', key);
    const [format, bytes] = bytesOf(payload);
    const kept = await putPayload(this.#config.store, [bytes], PART_BYTES);
    const { step, epoch, timeMs } = position;
    const id = `art_${this.#artifactCount++}_${kept.sha256.slice(0, 16)}`;
    this.#artifacts.push({
      timestamp: this.#instant(timeMs),
      id,
      artifactType: type,
      namespace: parts.namespace,
      artifactName: parts.name,
      artifactKey: parts.key,
      step: isIndex(step) ? step : null,
      epoch: isIndex(epoch) ? epoch : null,
      payloadFormat: format,
      payloadRelativePath: `artifacts/${parts.key}/${id}/${PAYLOAD_FILE_NAMES[format]}`,
      metadataRelativePath: `artifacts/${parts.key}/${id}/metadata.json`,
      ...kept,
      metadata: null,
    });
    if (this.#artifacts.length >= BATCH_ARTIFACTS) this.#cutArtifacts();
  }

  rows(table: TableDefinition, batch: RowBatch): void {
    const columns = new Map(batch.columns);
    columns.delete('run_id');
    columns.delete(SEQUENCE_COLUMN);
    const keys = columns.get('metric_key');
    if (table === metricTable && keys?.kind === 'key') {
      this.#rowCount += batch.rowCount;
      for (const key of keys.dictionary) this.#names.set(key, key);
      this.#summarize(batch, keys);
    }
    const times = columns.get('timestamp');
    if (times?.kind === 'number')
      for (const timeMs of times.values) {
        if (timeMs < this.#firstTimeMs) this.#firstTimeMs = timeMs;
        if (timeMs > this.#lastTimeMs) this.#lastTimeMs = timeMs;
      }
    this.#pendingRows += batch.rowCount;
    this.#add(table, { rowCount: batch.rowCount, columns });
  }

  /** Summaries of rows that come as columns. */
  #summarize(batch: RowBatch, keys: KeyVector): void {
    const numbers = (name: string): Float64Array => {
      const column = batch.columns.get(name);
      return column?.kind === 'number' || column?.kind === 'f64'
        ? Float64Array.from(column.values)
        : new Float64Array(batch.rowCount).fill(Number.NaN);
    };
    const ids = keys.dictionary.map((key) => {
      const id = this.#tableIds.get(key) ?? this.#tableIds.size;
      if (!this.#tableIds.has(key)) this.#tables.addSeries(id, key);
      this.#tableIds.set(key, id);
      return id;
    });
    this.#tables.addRows({
      rowCount: batch.rowCount,
      series: Int32Array.from(keys.indices, (index) => ids[index] ?? MAX_SUMMARIZED_SERIES),
      values: numbers('value'),
      steps: numbers('step'),
      timesMs: numbers('timestamp'),
    });
  }

  async flush(): Promise<void> {
    while (this.#pending.length > 0) {
      const sending = this.#pending.slice(0, MAX_APPEND_SEGMENTS);
      await this.#config.store.appendSegments(sending);
      this.#pending.splice(0, sending.length);
      this.#merges.appended(sending);
    }
    this.#pendingRows = 0;
    this.#pendingBytes = 0;
  }

  /**
   * Leaves the run for another import to go on with: writes the batches that are full, which that import makes again as they are, and
   * says how many samples of the run are in the store.
   */
  async leave(): Promise<number> {
    await this.flush();
    await this.#merges.settle();
    return this.#rowCount - this.#buffer.rowCount;
  }

  /** Writes what is left and says what was written. */
  async finish(): Promise<WrittenRun> {
    if (this.#buffer.rowCount > 0) this.#cut();
    if (this.#events.length > 0) this.#cutEvents();
    if (this.#artifacts.length > 0) this.#cutArtifacts();
    await this.flush();
    await this.#merges.finish();
    // A step is never replaced without a word.
    if (this.#badSteps > 0)
      this.#config.problem(
        `${this.#badSteps} values have a step that is no whole number from 0 to ${Number.MAX_SAFE_INTEGER}: it is left out; with no epoch either, they get the step after the one before.`,
      );
    const { maxConfigChars, maxDepth } = this.#config.limits;
    const bounded = (values: ReadonlyMap<string, unknown>): JsonObject =>
      toBoundedJson(Object.fromEntries(values), maxDepth - 2, maxConfigChars / 2);
    return {
      config: bounded(this.#configuration),
      environment: bounded(this.#environment),
      tags: [...this.#tags],
      status: this.#status,
      statusReason: this.#lastEnd === undefined ? null : reasonOfEvent(this.#status, this.#lastEnd),
      names: Object.fromEntries(this.#names),
      listedNames: bounded(this.#names),
      rowCount: this.#rowCount,
      metricSummaries: joinSummaries(this.#buffer.summaries.toJson(), this.#tables.toJson()),
      firstTimeMs: Number.isFinite(this.#firstTimeMs) ? this.#firstTimeMs : null,
      lastTimeMs: Number.isFinite(this.#lastTimeMs) ? this.#lastTimeMs : null,
    };
  }

  #addMetric(name: string): number {
    const { limits, problem } = this.#config;
    if (this.#names.size >= limits.maxKeys) {
      problem(`Metric "${short(name)}" is left out: a run may have ${limits.maxKeys} metrics.`);
      return -1;
    }
    // Two names must never become one metric: the second keeps a name of its own.
    const key = this.#keyOf(name);
    if (key === undefined) {
      problem(
        `A metric called ${JSON.stringify(short(name))} is left out: no key can be made of it.`,
      );
      return -1;
    }
    try {
      const parts = splitKey(checkSeriesKey('name', key));
      const id = this.#names.size;
      this.#buffer.addKey({ id, ...parts });
      this.#names.set(key, name);
      this.#originals[id] = name;
      this.#nextStep[id] = 0;
      this.#isNoted[id] = key === name;
      return id;
    } catch (error) {
      problem(`Metric "${short(name)}" is left out: ${messageOf(error)}`);
      return -1;
    }
  }

  /** A key for a name that has none yet; undefined where none can be made of it. */
  #keyOf(name: string): string | undefined {
    const { format, keyRules } = this.#config;
    const context = contextOf(name);
    const metric = context === null ? name : withoutContext(name);
    const wanted = [conventionalKey(metric, format, keyRules), conventionalKey(metric, format, [])];
    try {
      const key = wanted
        .map((one) => (one === undefined ? undefined : contextKey(one, context)))
        .find((candidate) => candidate !== undefined && !this.#names.has(candidate));
      return key ?? this.#freeKey(wanted[1] ?? wanted[0], context);
    } catch (error) {
      // A metric and its context may be too long together.
      if (isQuarkError(error, 'invalid_input')) return undefined;
      throw error;
    }
  }

  #freeKey(base: string | undefined, context: MetricContext | null): string | undefined {
    if (base === undefined) return undefined;
    const stem = base.slice(0, 500);
    for (let i = (this.#suffixes.get(stem) ?? 1) + 1; ; i++) {
      const candidate = contextKey(`${stem}_${i}`, context);
      if (this.#names.has(candidate)) continue;
      this.#suffixes.set(stem, i);
      return candidate;
    }
  }

  /** The original name goes with the first sample of a metric. */
  #note(metric: number): void {
    this.#isNoted[metric] = true;
    this.#buffer.annotate(null, JSON.stringify({ original_name: this.#originals[metric] ?? '' }));
  }

  #cut(): void {
    this.#pendingRows += this.#buffer.rowCount;
    // The columns are views of memory that the next rows overwrite: encoded at once.
    for (const batch of this.#buffer.take(BATCH_ROWS)) this.#add(metricTable, batch);
  }

  #cutEvents(): void {
    this.#pendingRows += this.#events.length;
    this.#add(eventTable, batchOfRows(eventTable, this.#events));
    this.#events = [];
    this.#eventChars = 0;
  }

  #cutArtifacts(): void {
    this.#pendingRows += this.#artifacts.length;
    this.#add(artifactTable, batchOfRows(artifactTable, this.#artifacts));
    this.#artifacts = [];
  }

  #add(table: TableDefinition, batch: RowBatch): void {
    const batchNumber = this.#nextBatch.get(table.table) ?? 0;
    this.#nextBatch.set(table.table, batchNumber + 1);
    const { runId } = this.#config;
    const identity = { runId, table: table.table, writerId: WRITER_ID, batchNumber };
    const segment = createSegment(table, identity, batch);
    this.#pending.push(segment);
    this.#pendingBytes += segment.bytes.byteLength;
  }

  #instant(timeMs: number | undefined): string {
    const isTime = timeMs !== undefined && Math.abs(timeMs) <= 8.64e15;
    return new Date(isTime ? timeMs : this.#config.startedAtMs).toISOString();
  }
}

function bytesOf(
  payload: Uint8Array<ArrayBuffer> | string | JsonObject,
): [ArtifactPayloadFormat, Uint8Array<ArrayBuffer>] {
  if (payload instanceof Uint8Array) return ['bytes', payload];
  if (typeof payload === 'string') return ['text', new TextEncoder().encode(payload)];
  return ['json', new TextEncoder().encode(JSON.stringify(payload))];
}

function isIndex(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function short(name: string): string {
  return name.length > 100 ? `${name.slice(0, 100)}…` : name;
}
