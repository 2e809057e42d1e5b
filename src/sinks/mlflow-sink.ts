/**
 * A run at an MLflow server, over REST, while it goes on. MLflow takes several requests for a batch, and an answer may be lost: where it is
 * not known what has arrived, the histories of the metrics are read and samples that are there are left out.
 */
import { warn } from '../base/console.ts';
import { asGivenOr, optional, readOptions, text } from '../base/options.ts';
import type { JsonObject } from '../base/json.ts';
import type { TerminalRunStatus } from '../records/literals.ts';
import {
  MLFLOW_LIMITS,
  isMlflowError,
  MlflowClient,
  sampleText,
  type MlflowBatch,
  type MlflowEntry,
  type MlflowMetric,
  type MlflowRun,
} from './mlflow-client.ts';
import { artifactsOf, type MlflowFile } from './mlflow-artifacts.ts';
import { MlflowNames, paramsOf } from './mlflow-names.ts';
import type { OpenedSink, Sink, SinkBatch, SinkRun } from './sink.ts';

/** Options of {@link mlflowSink}. */
export type MlflowSinkOptions = {
  /** Where the server is: `http://127.0.0.1:5000`. */
  readonly url: string;
  /** Name of the experiment. Default: the project of the run. */
  readonly experiment?: string | undefined;
  /** Sent with each request, such as `{ authorization: 'Bearer ...' }`. They are not stored. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Default: the `fetch` of the platform. */
  readonly fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined;
};

const STATUS = { completed: 'FINISHED', failed: 'FAILED', interrupted: 'KILLED' } as const;
/** Links a run at the server with the run here. */
const RUN_TAG = 'quark.run_id';

/**
 * Sends a run to an MLflow server: metrics in batches within the limits of its API, parameters, tags, name, status. MLflow has
 * integers for times and steps: times are cut to milliseconds, a sample without a step gets its epoch, one without either 0. Parameters
 * cannot be changed there: the first value stays. Texts become tags, of which the last counts, cut at 5,000 characters. Images and
 * sounds become artifacts, where the server serves artifacts. Distributions have no counterpart and are left out.
 *
 * Written after the documentation of the REST API 2.0, and tested with a server written after the same documentation.
 *
 * @throws {QuarkError} `invalid_input`
 * @example
 * ```js
 * import { MetricsLogger, startRun } from 'quark-sdk';
 * import { mirrorRun, mlflowSink } from 'quark-sdk/tracker';
 *
 * const session = await startRun({ project: 'digits', storageDir: 'quark-runs' });
 * const mirror = mirrorRun(session, mlflowSink({ url: 'http://127.0.0.1:59999', experiment: 'digits' })); // nobody answers there
 * new MetricsLogger(session).log('train/loss', 0.5, { step: 0 });
 * await session.flush();
 * await mirror.flush(); // never throws because of the server
 * console.log(mirror.status.state); // failing
 * await session.endRun();
 * ```
 */
export function mlflowSink(options: MlflowSinkOptions): Sink {
  const settings = readOptions('options', options, {
    url: text(undefined, 'an http: or https: URL', (url) => /^https?:\/\/./.test(url)),
    experiment: optional(text()),
    headers: asGivenOr({}),
    fetch: asGivenOr(globalThis.fetch.bind(globalThis)),
  });
  return new MlflowSink(new MlflowClient(settings), settings.url, settings.experiment);
}

class MlflowSink implements Sink {
  readonly name = 'mlflow';
  readonly #client: MlflowClient;
  readonly #url: string;
  readonly #experiment: string | undefined;
  readonly #metricNames = new MlflowNames();
  readonly #paramNames = new MlflowNames();
  readonly #tagNames = new MlflowNames();
  readonly #sentParams = new Set<string>();
  #run: MlflowRun = { runId: '', artifactUri: '' };
  #hasImages = false;
  #isArtifactLossTold = false;

  constructor(client: MlflowClient, url: string, experiment: string | undefined) {
    this.#client = client;
    this.#url = url;
    this.#experiment = experiment;
  }

  async open(run: SinkRun, memory: JsonObject | null): Promise<OpenedSink> {
    const known = memory?.['run_id'];
    const there = typeof known === 'string' ? await this.#client.getRun(known) : undefined;
    if (there !== undefined) {
      this.#run = there;
      await this.#client.updateRun({ run_id: there.runId, status: 'RUNNING' });
      return { memory: this.#memory(), has: 'all' };
    }
    const experiment = await this.#client.experiment(this.#experiment ?? run.project);
    // An earlier attempt may have made it, and its answer was lost: it is not known what it has.
    const found = await this.#client.findRun(experiment, { key: RUN_TAG, value: run.id });
    this.#run = found ?? (await this.#create(experiment, run));
    await this.#sendParams(run.config);
    return { memory: this.#memory(), has: found === undefined ? 'nothing' : 'unknown' };
  }

  async write(batch: SinkBatch): Promise<JsonObject> {
    let metrics = this.#metrics(batch);
    if (batch.isRepeated) metrics = await this.#without(metrics);
    // Their names say what they are: one that is stored again is the same.
    for (const file of artifactsOf(batch)) await this.#putArtifact(batch.run, file);
    if (batch.parameters !== null) await this.#sendParams(batch.parameters);
    const tags = new Map(
      batch.texts.map(({ key, text: value }) => [
        this.#tagNames.nameOf(key),
        value.slice(0, MLFLOW_LIMITS.tagChars),
      ]),
    );
    const entries = Array.from(tags, ([key, value]): MlflowEntry => ({ key, value }));
    if (batch.images.length > 0 && !this.#hasImages) {
      entries.push({ key: 'mlflow.loggedImages', value: 'True' });
      this.#hasImages = true;
    }
    for (const part of cut(entries, MLFLOW_LIMITS.tags)) await this.#send({ tags: part });
    for (const part of cut(metrics, MLFLOW_LIMITS.metrics)) await this.#send({ metrics: part });
    return this.#memory();
  }

  async end(status: TerminalRunStatus, endedAtMs: number): Promise<void> {
    await this.#client.updateRun({
      run_id: this.#run.runId,
      status: STATUS[status],
      end_time: Math.trunc(endedAtMs),
    });
  }

  async #putArtifact({ id }: SinkRun, { bytes, path, type }: MlflowFile): Promise<void> {
    if (await this.#client.putArtifact(this.#run, path, bytes, type)) return;
    if (this.#isArtifactLossTold) return;
    this.#isArtifactLossTold = true;
    warn(
      `Quark: the MLflow server at ${new URL(this.#url).origin} does not take artifacts of run ${id} over HTTP. Images and sounds are not mirrored there.`,
    );
  }

  #create(experiment: string, run: SinkRun): Promise<MlflowRun> {
    return this.#client.createRun({
      experiment_id: experiment,
      run_name: run.name,
      start_time: Math.trunc(run.startedAtMs),
      tags: [
        { key: RUN_TAG, value: run.id },
        { key: 'quark.tags', value: JSON.stringify(run.tags).slice(0, MLFLOW_LIMITS.tagChars) },
        ...(run.description === null
          ? []
          : [
              {
                key: 'mlflow.note.content',
                value: run.description.slice(0, MLFLOW_LIMITS.tagChars),
              },
            ]),
      ],
    });
  }

  async #sendParams(values: JsonObject): Promise<void> {
    const params = paramsOf(values, this.#paramNames).filter(
      ({ key }) => !this.#sentParams.has(key),
    );
    for (const part of cut(params, MLFLOW_LIMITS.params)) {
      try {
        await this.#send({ params: part });
      } catch (error) {
        // One of them has another value there already, from a session before this one.
        if (!isMlflowError(error, 'INVALID_PARAMETER_VALUE')) throw error;
      }
      for (const { key } of part) this.#sentParams.add(key);
    }
  }

  #metrics({ scalars }: SinkBatch): readonly MlflowMetric[] {
    return Array.from({ length: scalars.rowCount }, (_, row): MlflowMetric => {
      const value = scalars.values[row] ?? Number.NaN;
      const step = scalars.steps[row] ?? Number.NaN;
      const epoch = scalars.epochs[row] ?? Number.NaN;
      return {
        key: this.#metricNames.nameOf(scalars.keys[scalars.keyIndex[row] ?? 0] ?? ''),
        value: Number.isFinite(value) ? value : String(value),
        timestamp: Math.max(0, Math.trunc(scalars.timesMs[row] ?? 0)),
        step: Number.isNaN(step) ? (Number.isNaN(epoch) ? 0 : epoch) : step,
      };
    });
  }

  /** Those that the server has not. */
  async #without(metrics: readonly MlflowMetric[]): Promise<readonly MlflowMetric[]> {
    const there = new Map<string, ReadonlySet<string>>();
    for (const key of new Set(metrics.map((metric) => metric.key)))
      there.set(key, await this.#client.history(this.#run.runId, key));
    return metrics.filter((metric) => there.get(metric.key)?.has(sampleText(metric)) !== true);
  }

  /** Halves until a request is small enough. */
  async #send(batch: MlflowBatch): Promise<void> {
    const items = [...(batch.metrics ?? []), ...(batch.params ?? []), ...(batch.tags ?? [])];
    const bytes = new TextEncoder().encode(JSON.stringify(batch)).byteLength;
    if (bytes <= MLFLOW_LIMITS.bytes - 200 || items.length < 2) {
      await this.#client.logBatch(this.#run.runId, batch);
      return;
    }
    const half = <T>(list: readonly T[] | undefined, isFirst: boolean): readonly T[] => {
      const middle = (list?.length ?? 0) >> 1;
      return (isFirst ? list?.slice(0, middle) : list?.slice(middle)) ?? [];
    };
    for (const isFirst of [true, false])
      await this.#send({
        metrics: half(batch.metrics, isFirst),
        params: half(batch.params, isFirst),
        tags: half(batch.tags, isFirst),
      });
  }

  #memory(): JsonObject {
    return { url: this.#url, run_id: this.#run.runId };
  }
}

function cut<T>(list: readonly T[], size: number): readonly T[][] {
  return Array.from({ length: Math.ceil(list.length / size) }, (_, i) =>
    list.slice(i * size, (i + 1) * size),
  );
}
