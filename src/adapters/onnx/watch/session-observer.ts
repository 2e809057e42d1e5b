/**
 * Watches the runs of an onnxruntime-web `InferenceSession`. The caller gets its own outputs, untouched; nothing is
 * fetched that was not asked for. onnxruntime-web is described structurally and never imported.
 */
import { checkCount, checkOptionNames } from '../../../base/assert.ts';
import { invalidInput, messageOf } from '../../../base/errors.ts';
import { parseKey } from '../../../base/names.ts';
import { EventLogger } from '../../../session/event-logger.ts';
import { MetricsLogger } from '../../../session/metrics-logger.ts';
import type { TrainingSession } from '../../../session/training-session.ts';

/** The part of an `ort.InferenceSession` that {@link observeOnnxSession} uses. */
export interface OnnxSession {
  run(...args: never[]): Promise<object>;
}

/** Options of {@link observeOnnxSession}. */
export type OnnxObserverOptions = {
  /** Outputs of one number each, and the metric key each is recorded under: `{ loss: 'train/loss' }`. */
  readonly scalars?: Readonly<Record<string, string>>;
  /** Step of the first run; each run counts one up. 0 unless given. */
  readonly initialStep?: number;
  /** The step of a run, asked when the run begins; in place of counting. */
  readonly step?: () => number;
  /** The epoch of a run, asked when the run begins; none is recorded unless given. */
  readonly epoch?: () => number;
  /** Writes the metrics; one of its own unless given. */
  readonly metrics?: MetricsLogger;
  /** Milliseconds that only go up, for run times; `performance.now` unless given. */
  readonly now?: () => number;
};

const OPTION_NAMES = ['scalars', 'initialStep', 'step', 'epoch', 'metrics', 'now'] as const;

/** Where tensors lie whose numbers can be read without waiting. */
const HOST_LOCATIONS: ReadonlySet<unknown> = new Set(['cpu', 'cpu-pinned', undefined]);

/**
 * Returns a session that does what `ortSession` does and records `onnx/run_time_ms` for every run, and the chosen
 * scalar outputs. Use it in place of the original; both may be used side by side.
 *
 * An output is recorded only when the run returns it and its numbers are in host memory. One that lies on a device is
 * left alone, and one warning event says so: keep it on the host with `preferredOutputLocation`.
 * Runs that fail are not recorded. Recording problems do not reach the caller unless the run is strict.
 *
 * @throws {QuarkError} `invalid_input` when an argument is wrong
 * @example
 * ```js
 * import * as ort from 'onnxruntime-web';
 * import { MetricsLogger, TrainingSession } from 'quark-sdk';
 * import { buildOnnxTraining, observeOnnxSession } from 'quark-sdk/onnx';
 *
 * ort.env.wasm.numThreads = 1;
 * const training = buildOnnxTraining(
 *   { inputShape: [2], layers: [{ kind: 'dense', name: 'output', units: 1 }] },
 *   { loss: { kind: 'meanSquaredError' }, optimizer: { kind: 'sgd', learningRate: 0.1 } },
 * );
 * const plain = await ort.InferenceSession.create(training.exportModel({}));
 * await TrainingSession.run({ project: 'digits', storageDir: 'quark-runs' }, async (session) => {
 *   const metrics = new MetricsLogger(session);
 *   const observed = observeOnnxSession(session, plain, { metrics });
 *   for (let i = 0; i < 3; i++) await observed.run({ x: new ort.Tensor('float32', [0, 1], [1, 2]) });
 *   const recorded = await metrics.read();
 *   console.log(recorded.map(({ metricKey }) => metricKey)); // [ 'onnx/run_time_ms', 'onnx/run_time_ms', 'onnx/run_time_ms' ]
 * });
 * ```
 */
export function observeOnnxSession<S extends OnnxSession>(
  session: TrainingSession,
  ortSession: S,
  options: OnnxObserverOptions = {},
): S {
  if (typeof ortSession?.run !== 'function')
    throw invalidInput('ortSession', ortSession, 'an onnxruntime InferenceSession');
  checkOptionNames('options', options, OPTION_NAMES);
  const observer = new SessionObserver(session, options);
  const run = (...args: never[]): Promise<object> =>
    observer.observe(() => ortSession.run(...args));
  return new Proxy(ortSession, {
    get(target, name) {
      if (name === 'run') return run;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

type Position = { readonly step: number; readonly epoch?: number };

class SessionObserver {
  readonly #session: TrainingSession;
  readonly #metrics: MetricsLogger;
  readonly #events: EventLogger;
  readonly #scalars: readonly (readonly [output: string, key: string])[];
  readonly #step: (() => number) | undefined;
  readonly #epoch: (() => number) | undefined;
  readonly #now: () => number;
  readonly #warned = new Set<string>();
  #nextStep: number;

  constructor(session: TrainingSession, options: OnnxObserverOptions) {
    this.#session = session;
    this.#scalars = Object.entries(options.scalars ?? {});
    for (const [output, key] of this.#scalars) parseKey(`options.scalars.${output}`, key);
    this.#nextStep = checkCount('options.initialStep', options.initialStep ?? 0);
    this.#step = options.step;
    this.#epoch = options.epoch;
    this.#now = options.now ?? (() => performance.now());
    this.#metrics = options.metrics ?? new MetricsLogger(session);
    this.#events = new EventLogger(session);
  }

  async observe(run: () => Promise<object>): Promise<object> {
    const asked = this.#position();
    const beganMs = this.#now();
    const outputs = await run();
    const timeMs = this.#now() - beganMs;
    try {
      const at = asked();
      this.#metrics.log('onnx/run_time_ms', timeMs, at);
      for (const [output, key] of this.#scalars) this.#recordScalar(outputs, output, key, at);
    } catch (error) {
      if (this.#session.strictMode) throw error;
      this.#warn(
        'failed',
        `The observer of an ONNX session could not record: ${messageOf(error)}`,
        {},
      );
    }
    return outputs;
  }

  /** Asks now, and answers, or throws what asking threw, when the run is over: it must not keep the run from running. */
  #position(): () => Position {
    const count = this.#nextStep;
    this.#nextStep += 1;
    try {
      const step = this.#step === undefined ? count : this.#step();
      const at = this.#epoch === undefined ? { step } : { step, epoch: this.#epoch() };
      return () => at;
    } catch (error) {
      return () => {
        throw error;
      };
    }
  }

  #recordScalar(outputs: object, output: string, key: string, at: Position): void {
    const tensor: unknown = Reflect.get(outputs, output);
    if (tensor === undefined) return;
    const value = scalarOf(tensor);
    if (typeof value === 'number') this.#metrics.log(key, value, at);
    else this.#warn(output, `The ONNX output "${output}" is not recorded: ${value.why}`, at);
  }

  /** Once for each subject: a run is short, and the next one has the same problem. */
  #warn(subject: string, message: string, at: Partial<Position>): void {
    if (this.#warned.has(subject)) return;
    this.#warned.add(subject);
    try {
      this.#events.addLog(message, { identifier: 'Warning', ...at });
    } catch (error) {
      // The run has ended: it takes no more events, and the caller's outputs matter more than saying so.
      if (this.#session.strictMode) throw error;
    }
  }
}

/** The one number of a tensor, or why there is none. */
function scalarOf(tensor: unknown): number | { readonly why: string } {
  if (typeof tensor !== 'object' || tensor === null) return { why: 'it is not a tensor.' };
  if ('location' in tensor && !HOST_LOCATIONS.has(tensor.location)) {
    return {
      why: `it lies on ${String(tensor.location)}; ask for it on "cpu" with preferredOutputLocation.`,
    };
  }
  if ('type' in tensor && tensor.type === 'float16' && !isFloat16(tensor))
    return { why: 'float16 cannot be read here.' };
  const data: unknown = 'data' in tensor ? tensor.data : undefined;
  if (typeof data !== 'object' || data === null || !('length' in data))
    return { why: 'it holds no numbers.' };
  if (data.length !== 1) return { why: `it holds ${String(data.length)} numbers, not one.` };
  const value: unknown = Reflect.get(data, 0);
  if (typeof value === 'number') return value;
  return typeof value === 'bigint' ? Number(value) : { why: 'it holds no numbers.' };
}

/** Without a Float16Array, onnxruntime gives the raw bits of float16 in a Uint16Array. */
function isFloat16(tensor: object): boolean {
  return (
    'data' in tensor && Object.prototype.toString.call(tensor.data) === '[object Float16Array]'
  );
}
