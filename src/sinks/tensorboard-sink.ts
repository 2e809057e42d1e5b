/**
 * A run as an event file of TensorBoard, while it goes on. What is returned after each batch says how long the file was: a batch that is
 * given again is written from there, so that the file has each record once.
 */
import { QuarkError } from '../base/errors.ts';
import type { JsonObject } from '../base/json.ts';
import { text as nonEmpty } from '../base/options.ts';
import { EventEncoder } from '../codecs/tfrecord/event-encoder.ts';
import { hparamsOf } from '../codecs/tfrecord/hparams-of.ts';
import type { TerminalRunStatus } from '../records/literals.ts';
import { loadPlatform, type AppendFile } from '../session/platforms/platform.ts';
import type { OpenedSink, Sink, SinkBatch, SinkRun } from './sink.ts';

/** Options of {@link tensorBoardSink}. */
export type TensorBoardSinkOptions = {
  /** The folder of all runs, the log directory of TensorBoard. Each run gets a folder of its own in it, named after its id. */
  readonly directory: string;
};

/**
 * Writes an event file of TensorBoard. Node only. Numbers are rounded to float32, as TensorBoard reads no others; a sample without a
 * step gets its epoch, one without either the number of samples before it.
 *
 * @throws {QuarkError} `invalid_input`
 * @example
 * ```js
 * import { MetricsLogger, TrainingSession } from 'quark-sdk';
 * import { mirrorRun, tensorBoardSink } from 'quark-sdk/tracker';
 *
 * await TrainingSession.run({ project: 'digits', storageDir: 'quark-runs' }, async (session) => {
 *   const sink = tensorBoardSink({ directory: 'logs' });
 *   console.log(sink.name); // tensorboard
 *   mirrorRun(session, sink);
 *   new MetricsLogger(session).log('train/loss', 0.5, { step: 0 });
 * }); // then: tensorboard --logdir logs
 * ```
 */
export function tensorBoardSink({ directory }: TensorBoardSinkOptions): Sink {
  return new TensorBoardSink(nonEmpty(undefined, 'the path of a folder')('directory', directory));
}

const ENCODER = new TextEncoder();

class TensorBoardSink implements Sink {
  readonly name = 'tensorboard';
  readonly #directory: string;
  readonly #positions = new Map<string, number>();
  #encoder = new EventEncoder();
  #file: AppendFile | undefined;
  #fileName = '';
  /** How long the file was when the last batch was whole. */
  #wholeBytes = 0;

  constructor(directory: string) {
    this.#directory = directory;
  }

  async open(run: SinkRun, memory: JsonObject | null): Promise<OpenedSink> {
    const { openAppendFile } = await loadPlatform();
    if (openAppendFile === undefined)
      throw new QuarkError('unsupported', 'Event files of TensorBoard are written in Node only.');
    const seconds = Math.floor(run.startedAtMs / 1000);
    this.#fileName = `events.out.tfevents.${String(seconds).padStart(10, '0')}.${run.id}`;
    this.#file = await openAppendFile(`${this.#directory}/${run.id}`, this.#fileName);
    const bytes = numberOf(memory, 'bytes');
    const isEmpty = bytes === 0 || this.#file.size < bytes;
    await this.#file.cut(isEmpty ? 0 : bytes);
    this.#wholeBytes = this.#file.size;
    if (!isEmpty) {
      for (const [key, count] of Object.entries(positionsOf(memory)))
        this.#positions.set(key, count);
      return { memory: this.#memory(), has: 'all' };
    }
    this.#encoder.version(run.startedAtMs);
    this.#encoder.hparams(run.id, run.startedAtMs, hparamsOf(run.config));
    return { memory: await this.#append(), has: 'nothing' };
  }

  async write(batch: SinkBatch): Promise<JsonObject> {
    if (batch.isRepeated) await this.#file?.cut(this.#wholeBytes);
    const before = new Map(this.#positions);
    // What an attempt that failed has left.
    this.#encoder = batch.isRepeated ? new EventEncoder() : this.#encoder;
    try {
      this.#encode(batch);
      return await this.#append();
    } catch (error) {
      this.#positions.clear();
      for (const [key, count] of before) this.#positions.set(key, count);
      throw error;
    }
  }

  async end(status: TerminalRunStatus, endedAtMs: number): Promise<void> {
    this.#encoder.end(status, endedAtMs);
    await this.#append();
  }

  async close(): Promise<void> {
    await this.#file?.close();
    this.#file = undefined;
  }

  #encode({ parameters, run, scalars, ...media }: SinkBatch): void {
    const encoder = this.#encoder;
    if (parameters !== null)
      encoder.hparams(run.id, run.startedAtMs, hparamsOf({ ...run.config, ...parameters }));
    for (let row = 0; row < scalars.rowCount; row++) {
      const key = scalars.keys[scalars.keyIndex[row] ?? 0] ?? '';
      const [step, epoch] = [scalars.steps[row] ?? Number.NaN, scalars.epochs[row] ?? Number.NaN];
      const at = Number.isNaN(step) ? (Number.isNaN(epoch) ? this.#next(key) : epoch) : step;
      encoder.scalar(key, scalars.values[row] ?? Number.NaN, at, scalars.timesMs[row] ?? 0);
    }
    for (const { key, step, text, timeMs } of media.texts)
      encoder.text(key, ENCODER.encode(text), step ?? this.#next(key), timeMs);
    for (const image of media.images)
      encoder.image(image.key, image, image.step ?? this.#next(image.key), image.timeMs);
    for (const { bytes, key, step, timeMs } of media.sounds)
      encoder.audio(key, bytes, step ?? this.#next(key), timeMs);
    for (const { bins, counts, key, step, timeMs } of media.distributions) {
      const rows = counts.flatMap((count, i) => [bins[i] ?? 0, bins[i + 1] ?? 0, count]);
      encoder.histogram(key, rows, step ?? this.#next(key), timeMs);
    }
  }

  /** The position of a record that has none. */
  #next(key: string): number {
    const count = this.#positions.get(key) ?? 0;
    this.#positions.set(key, count + 1);
    return count;
  }

  async #append(): Promise<JsonObject> {
    const bytes = this.#encoder.take();
    if (bytes.byteLength > 0) await this.#file?.append(bytes);
    this.#wholeBytes = this.#file?.size ?? 0;
    return this.#memory();
  }

  #memory(): JsonObject {
    return {
      directory: this.#directory,
      file: this.#fileName,
      bytes: this.#wholeBytes,
      ...(this.#positions.size === 0 ? {} : { positions: Object.fromEntries(this.#positions) }),
    };
  }
}

function numberOf(memory: JsonObject | null, name: string): number {
  const value = memory?.[name];
  return typeof value === 'number' ? value : 0;
}

function positionsOf(memory: JsonObject | null): Readonly<Record<string, number>> {
  const value = memory?.['positions'];
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return {};
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, count]) =>
      typeof count === 'number' ? [[key, count] as const] : [],
    ),
  );
}
