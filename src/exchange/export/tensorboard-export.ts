/**
 * Runs for TensorBoard: one event file with scalars, histograms, texts and hyperparameters.
 */
import { inSpanOf } from '../../base/profiling.ts';
import { ProfileStep } from '../../base/profile-steps.ts';
import { loadBytes } from '../../instruments/artifacts/load-artifact.ts';
import {
  COMMON_MEDIA_TYPES,
  commonMediumOf,
  keyInContext,
} from '../../instruments/media/common-media.ts';
import { readArtifacts } from '../../read/artifacts.ts';
import type { MetricColumns, MetricFilter } from '../../read/metric-columns.ts';
import type { RunReader } from '../../read/run-reader.ts';
import type { ArtifactRecord } from '../../records/artifact.ts';
import type { RunRecord } from '../../records/run.ts';
import { fileNameOf } from './file-names.ts';
import { EventEncoder } from '../../codecs/tfrecord/event-encoder.ts';
import { hparamsOf } from '../../codecs/tfrecord/hparams-of.ts';

const BYTES_PER_PIECE = 1 << 18;
/** Larger histograms and texts are left out: TensorBoard keeps whole records in memory. */
const MAX_PAYLOAD_BYTES = 1 << 24;
/**
 * The name of the file: TensorBoard looks for `tfevents` in it, and takes files of a folder as one run in the order of their names.
 *
 * @returns `events.out.tfevents.<seconds>.<run id>`
 * @example
 * ```js
 * import { createMemoryStore, MetricsLogger, openRun, TrainingSession } from 'quark-sdk';
 * import { tensorBoardFileName } from 'quark-sdk/exchange';
 *
 * const store = createMemoryStore();
 * const runId = await TrainingSession.run({ project: 'digits', storage: store }, (session) => {
 *   new MetricsLogger(session).logColumns('train/loss', [0, 1, 2], [0.9, 0.5, 0.4]);
 *   return session.runId;
 * });
 * const reader = await openRun(store, runId);
 * const name = tensorBoardFileName(reader.run);
 * console.log(name.startsWith('events.out.tfevents.'), name.endsWith(reader.run.id)); // true true
 * ```
 */
export function tensorBoardFileName(run: RunRecord): string {
  const seconds = Math.floor(Date.parse(run.startedAt) / 1000);
  return `events.out.tfevents.${String(seconds).padStart(10, '0')}.${fileNameOf(run.id)}`;
}

/**
 * A run as one event file of TensorBoard, in chunks of about 256 kB; the numbers of the run are held in memory, 44 bytes a sample. Put it into
 * a folder of its own under the name that {@link tensorBoardFileName} gives.
 *
 * - Metrics become scalars under their keys, rounded to float32: TensorBoard reads no others. NaN and infinities stay. A sample without a
 *   step gets its epoch, one without either its position among the samples of its key.
 * - Artifacts of type `histogram` and distributions become histograms, texts, images and audio what they are, where they are at most
 *   16 MiB.
 * - The configuration becomes hyperparameters: numbers, texts and booleans; nested names are joined by ".". At most 1,000.
 *
 * Events, alerts, telemetry and other artifacts have no place in the format.
 *
 * @param filter which metrics; `stepMin` and the like hold for artifacts too
 * @yields bytes of the file, in order
 * @throws {QuarkError} `invalid_input` naming the filter
 * @throws {SessionStoreError} when an artifact cannot be read
 * @example
 * ```js
 * import { mkdir, writeFile } from 'node:fs/promises';
 * import { createMemoryStore, MetricsLogger, openRun, TrainingSession } from 'quark-sdk';
 * import { exportTensorBoard, tensorBoardFileName } from 'quark-sdk/exchange';
 *
 * const store = createMemoryStore();
 * const runId = await TrainingSession.run({ project: 'digits', storage: store }, (session) => {
 *   new MetricsLogger(session).logColumns('train/loss', [0, 1, 2], [0.9, 0.5, 0.4]);
 *   return session.runId;
 * });
 * const reader = await openRun(store, runId);
 * const name = tensorBoardFileName(reader.run);
 * await mkdir('logs/digits', { recursive: true });
 * await writeFile(`logs/digits/${name}`, exportTensorBoard(reader)); // then: tensorboard --logdir logs
 * console.log(name.startsWith('events.out.tfevents.')); // true
 * ```
 */
export function exportTensorBoard(
  reader: RunReader,
  filter: MetricFilter = {},
): AsyncGenerator<Uint8Array<ArrayBuffer>, void, undefined> {
  return inSpanOf(ProfileStep.EXPORT, tensorBoardChunks(reader, filter));
}

async function* tensorBoardChunks(
  reader: RunReader,
  filter: MetricFilter,
): AsyncGenerator<Uint8Array<ArrayBuffer>, void, undefined> {
  const points = await reader.readMetricColumns(filter);
  const { config, endedAt, id, startedAt, status } = reader.run;
  const events = new RunEvents();
  const file = events.encoder;
  file.version(Date.parse(startedAt));
  file.hparams(id, Date.parse(startedAt), hparamsOf(config));
  for (let row = 0; row < points.rowCount; row++) {
    events.scalar(points, row);
    if (file.size >= BYTES_PER_PIECE) yield file.take();
  }
  const { metricKey: _key, namespace: _namespace, metricName: _name, ...position } = filter;
  const { records } = await readArtifacts(reader, {
    ...position,
    artifactTypes: COMMON_MEDIA_TYPES,
  });
  for (const record of records) {
    if (record.sizeBytes > MAX_PAYLOAD_BYTES) continue;
    events.artifact(record, await loadBytes(reader.store, record));
    if (file.size >= BYTES_PER_PIECE) yield file.take();
  }
  if (endedAt !== null) file.end(status, Date.parse(endedAt));
  yield file.take();
}

/** Writes the rows of a run as events. */
class RunEvents {
  readonly encoder = new EventEncoder();
  readonly #positions = new Map<string, number>();

  scalar(points: MetricColumns, row: number): void {
    const key = points.keys[points.keyIndex[row] ?? 0] ?? '';
    const value = points.values[row] ?? Number.NaN;
    const count = this.#positions.get(key) ?? 0;
    this.#positions.set(key, count + 1);
    const step = firstNumber(points.steps[row], points.epochs[row], count);
    this.encoder.scalar(key, value, step, points.timesMs[row] ?? Number.NaN);
  }

  artifact(record: ArtifactRecord, payload: Uint8Array<ArrayBuffer>): void {
    const { epoch, step, timestamp } = record;
    const medium = commonMediumOf(record, payload);
    if (medium !== undefined)
      this.encoder.medium(keyInContext(record), medium, step ?? epoch ?? 0, Date.parse(timestamp));
  }
}

function firstNumber(...values: readonly (number | undefined)[]): number {
  return values.find((value) => value !== undefined && value === value) ?? 0;
}
