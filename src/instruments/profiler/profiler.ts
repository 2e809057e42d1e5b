/** Measures memory and disks at the steps of a program. */
import { ASYNC_DISPOSE, DISPOSE } from '../../base/dispose.ts';
import { messageOf, QuarkError } from '../../base/errors.ts';
import { createId } from '../../base/ids.ts';
import { checkLabel } from '../../base/names.ts';
import { callable } from '../../base/options.ts';
import { onSpan, type SpanEnd } from '../../base/profiling.ts';
import { isNode } from '../../base/runtime.ts';
import type { ProfileValues } from '../../profile/measures.ts';
import {
  completeProfile,
  type Profile,
  type ProfileCheckpoint,
  type ProfileReading,
  type RecordedProfile,
  type ScopeMark,
} from '../../profile/profile.ts';
import { ProfileStep } from '../../base/profile-steps.ts';
import type { RunContext } from '../../session/run-context.ts';
import { handleOf, writeFor, type RunHandle } from '../../session/run-handle.ts';
import type { TrainingSession } from '../../session/training-session.ts';
import type { GpuProcess } from './gpu-meter.ts';
import { LaterReadings } from './later-readings.ts';
import { meterPage } from './page-meter.ts';
import { meterProcess, type Meter, type ProfiledProcess } from './process-meter.ts';
import { ProfileRecorder } from './profile-recorder.ts';
import {
  checkProfilerOptions,
  ExtraMeter,
  type ProfileMetricContext,
  type ProfileMetric,
  type ProfilerOptions,
  type ProfilerSettings,
} from './profiler-options.ts';

type OpenScope = Omit<ScopeMark, 'boundary' | 'hasFailed'>;

/**
 * A scope that is open. Scopes and checkpoints made of it are inside of it, whatever else runs at the same time.
 *
 * @example
 * ```js
 * import { Profiler } from 'quark-sdk/profiler';
 *
 * const profiler = new Profiler(); // without a session: in memory only
 * const warmUp = profiler.start('Warm-up'); // an ActiveScope; with `using` it ends by itself
 * warmUp.scope('Loading', () => new Float32Array(1000));
 * warmUp.end();
 * const { scopes } = await profiler.close();
 * console.log(scopes.map(({ name, parentId }) => [name, parentId !== null])); // [ [ 'Warm-up', false ], [ 'Loading', true ] ]
 * ```
 */
export class ActiveScope {
  readonly #profiler: Inner;
  readonly #scope: OpenScope;

  /** @internal Use `profiler.scope` or `profiler.start`. */
  constructor(profiler: Inner, scope: OpenScope) {
    this.#profiler = profiler;
    this.#scope = scope;
  }

  /** A scope inside of this one: see {@link Profiler.scope}. */
  scope<T>(name: string, work: (scope: ActiveScope) => T): T {
    return runScope(this.#profiler, name, work, this.#scope.id);
  }

  /** A scope inside of this one, until it is ended: see {@link Profiler.start}. */
  start(name: string): ActiveScope {
    return openScope(this.#profiler, name, { parentId: this.#scope.id });
  }

  /** Ends the scope; once is enough. */
  end(hasFailed = false): void {
    this.#profiler.end(this.#scope, hasFailed);
  }

  /** Ends the scope: `using scope = profiler.start('Loading')`. */
  [DISPOSE](): void {
    this.end();
  }
}

/** What scopes need of their profiler. */
interface Inner {
  begin(name: string, extras: ScopeExtras): OpenScope;
  end(scope: OpenScope, hasFailed: boolean): void;
}
type ScopeExtras = {
  readonly parentId?: number | undefined;
  readonly isAutomatic?: boolean;
  /** Whether it may be going on beside what the program does, so that nothing is inside of it by itself. */
  readonly isBeside?: boolean;
};

function openScope(profiler: Inner, name: string, extras: ScopeExtras = {}): ActiveScope {
  return new ActiveScope(profiler, profiler.begin(checkLabel('name', name), extras));
}

function runScope<T>(
  profiler: Inner,
  name: string,
  work: (scope: ActiveScope) => T,
  parentId?: number,
): T;
function runScope(
  profiler: Inner,
  name: string,
  work: (scope: ActiveScope) => unknown,
  parentId?: number,
): unknown {
  callable('work', work);
  const scope = openScope(profiler, name, { parentId });
  let result: unknown;
  try {
    result = work(scope);
  } catch (error) {
    scope.end(true);
    throw error;
  }
  if (isPromise(result)) return endAfter(scope, result);
  scope.end();
  return result;
}

async function endAfter(scope: ActiveScope, result: PromiseLike<unknown>): Promise<unknown> {
  let hasFailed = true;
  try {
    const settled = await result;
    hasFailed = false;
    return settled;
  } finally {
    scope.end(hasFailed);
  }
}

/**
 * Measures memory, disks and time where the steps of a program begin and end. What belongs to the process is read at each checkpoint
 * anew; what GPUs and browsers only tell later follows with its own time. The profile is part of the run ({@link readProfiles},
 * `quark profile`); without a session it is only in memory.
 *
 * A scope that is opened while another is open is inside of it. Where several run at once, open the inner ones with the scope that the
 * function is given, so that they are inside the right one.
 *
 * Capture never breaks the program: what cannot be measured is left out, and checkpoints beyond `maxCheckpoints` are counted.
 *
 * @example
 * ```js
 * import { TrainingSession } from 'quark-sdk';
 * import { Profiler, ProfileStep } from 'quark-sdk/profiler';
 *
 * await TrainingSession.run({ project: 'digits', storageDir: 'quark-runs' }, async (session) => {
 *   const profiler = new Profiler(session);
 *   const weights = await profiler.scope(ProfileStep.MODEL_LOADING, async () => new Float32Array(1_000_000));
 *   profiler.checkpoint('Data cleaned');
 *   const evaluate = profiler.profiled(ProfileStep.MODEL_EVALUATION, () => weights.reduce((sum, x) => sum + x, 0));
 *   evaluate();
 *   const { checkpoints, scopes } = await profiler.close();
 *   console.log(scopes.map(({ name }) => name), checkpoints.length); // [ 'Model Loading', 'Model Evaluation' ] 7
 * });
 * ```
 */
export class Profiler implements AsyncDisposable {
  readonly id: string;
  readonly #settings: ProfilerSettings;
  readonly #handle: RunHandle | undefined;
  readonly #recorder: ProfileRecorder | undefined;
  readonly #meter: Meter;
  readonly #extras: ExtraMeter;
  readonly #later: LaterReadings;
  readonly #now: () => number;
  readonly #originMs: number;
  readonly #startedAtMs: number;
  readonly #checkpoints: ProfileCheckpoint[] = [];
  readonly #readings: ProfileReading[] = [];
  readonly #undo: (() => void)[] = [];
  /** Scopes that are open, the innermost last. */
  readonly #open: OpenScope[] = [];
  /** Of these, those that nothing is inside of. */
  readonly #beside = new WeakSet<OpenScope>();
  readonly #inner: Inner;
  #nextScope = 0;
  #dropped = 0;
  #endedMs: number | null = null;
  #summary: ProfileValues = {};
  #closing: Promise<Profile> | undefined;
  #isEnded = false;
  #warned = new Set<string>();

  /**
   * Begins a profile with the checkpoint `Start`.
   *
   * @param session whose run the profile is stored in; without one it is in memory only
   * @throws {QuarkError} `invalid_input` naming the option; `invalid_run_state` when the run has ended
   */
  constructor(session?: TrainingSession | RunContext, options: ProfilerOptions = {}) {
    this.#settings = checkProfilerOptions(options);
    this.#handle = session === undefined ? undefined : handleOf(session);
    this.#startedAtMs = this.#handle?.clock.now() ?? Date.now();
    this.id = createId('prf', this.#startedAtMs);
    this.#now = this.#settings.now ?? (() => performance.now());
    this.#originMs = this.#now();
    const { metrics = [] } = this.#settings;
    if (this.#handle !== undefined)
      this.#recorder = new ProfileRecorder(this.#handle, this.id, () => this.#stop());
    this.#recorder?.started(metrics.map(noteOf));
    this.#extras = new ExtraMeter(this.#settings);
    const node = isNode() ? nodeProcess() : undefined;
    this.#meter = node === undefined ? meterPage() : meterProcess(node);
    const gpuProcess = this.#settings.captureGpu ? node : undefined;
    // The same origin as that of the checkpoints, so that no reading seems to come before the one that it follows.
    const laterOriginMs = this.#settings.now === undefined ? this.#originMs : performance.now();
    this.#later = new LaterReadings(laterOriginMs, gpuProcess, (reading) => {
      this.#readings.push(reading);
      this.#recorder?.read(reading);
    });
    this.#inner = {
      begin: (name, extras) => this.#begin(name, extras),
      end: (scope, hasFailed) => this.#end(scope, hasFailed),
    };
    this.#measure(ProfileStep.START, null);
    if (this.#settings.automatic)
      this.#undo.push(
        onSpan({
          open: (name, runId) => this.#automatic(name, runId),
          tensors: (source, runId) => {
            if (runId === this.#handle?.runId) this.#extras.offer(source);
          },
        }),
      );
  }

  /**
   * Runs `work` in a scope, which ends when it returns, settles or throws. Its checkpoints are `<name> Start` and `<name> End`.
   *
   * @param name one of {@link ProfileStep}, or any other
   * @param work is given the scope, for scopes inside of it
   * @returns what `work` returns
   * @throws {QuarkError} `invalid_input` for a name that is none; what `work` throws
   */
  scope<T>(name: string, work: (scope: ActiveScope) => T): T {
    return runScope(this.#inner, name, work);
  }

  /**
   * Opens a scope that `end()` or the end of a `using` block ends.
   *
   * @example
   * ```js
   * import { Profiler } from 'quark-sdk/profiler';
   *
   * const profiler = new Profiler();
   * const scope = profiler.start('Warm-up'); // `using scope = ...` ends it by itself
   * scope.end();
   * console.log((await profiler.close()).scopes[0].name); // Warm-up
   * ```
   *
   * @throws {QuarkError} `invalid_input`
   */
  start(name: string): ActiveScope {
    return openScope(this.#inner, name);
  }

  /**
   * The same function, in a scope each time it is called.
   *
   * @example
   * ```js
   * import { Profiler, ProfileStep } from 'quark-sdk/profiler';
   *
   * const profiler = new Profiler();
   * const hypot = profiler.profiled(ProfileStep.CALIBRATION, Math.hypot);
   * console.log(hypot(3, 4), profiler.profile.scopes.length); // 5 1
   * await profiler.close();
   * ```
   *
   * @throws {QuarkError} `invalid_input`
   */
  profiled<A extends unknown[], R>(name: string, work: (...values: A) => R): (...values: A) => R {
    checkLabel('name', name);
    callable('work', work);
    return (...values) => this.scope(name, () => work(...values));
  }

  /**
   * Measures now, under a name.
   *
   * @returns the checkpoint, or undefined for one beyond the limit and after the end
   * @throws {QuarkError} `invalid_input`
   */
  checkpoint(name: string): ProfileCheckpoint | undefined {
    return this.#measure(checkLabel('name', name), null);
  }

  /** The profile so far. */
  get profile(): Profile {
    const recorded: RecordedProfile = {
      id: this.id,
      runId: this.#handle?.runId ?? null,
      startedAtMs: this.#startedAtMs,
      endedMs: this.#endedMs,
      checkpoints: this.#checkpoints,
      readings: this.#readings,
      summary: this.#summary,
      metrics: (this.#settings.metrics ?? []).map(noteOf),
      droppedCheckpoints: this.#dropped,
    };
    return completeProfile(recorded);
  }

  /**
   * Ends the profile with the checkpoint `End` and the summary, and stores it. Where there is a GPU it waits for its last reading, at
   * most two seconds. The end of the run does the same. Scopes that are open stay without an end.
   */
  close(): Promise<Profile> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** Same as {@link close}. */
  async [ASYNC_DISPOSE](): Promise<void> {
    await this.close();
  }

  async #close(): Promise<Profile> {
    if (this.#handle === undefined) await this.#stop();
    else await writeFor(this.#handle, async () => this.#recorder?.close());
    return this.profile;
  }

  /** Takes the last measurements; the recorder then writes them. */
  async #stop(): Promise<void> {
    if (this.#isEnded) return;
    for (const undo of this.#undo.splice(0)) undo();
    this.#measure(ProfileStep.END, null, true);
    this.#isEnded = true;
    this.#endedMs = this.#checkpoints.at(-1)?.atMs ?? 0;
    this.#meter.close();
    await this.#later.close();
    this.#extras.close();
    const { droppedCheckpoints, summary } = this.profile;
    const own = this.#collect('summary', ProfileStep.END, {
      ...this.#checkpoints.at(-1)?.values,
      ...summary,
    });
    this.#summary = { ...summary, ...own };
    this.#recorder?.ended({ droppedCheckpoints, endedMs: this.#endedMs, summary: this.#summary });
  }

  #begin(name: string, extras: ScopeExtras): OpenScope {
    const { isAutomatic = false, isBeside = false, parentId } = extras;
    const innermost = this.#open.findLast((one) => !this.#beside.has(one));
    const around = parentId ?? innermost?.id ?? null;
    const scope = { id: this.#nextScope++, name, parentId: around, isAutomatic };
    if (isBeside) this.#beside.add(scope);
    const mark = { ...scope, boundary: 'start', hasFailed: false } as const;
    // What is begun beyond the limit is not ended either.
    if (this.#measure(`${name} Start`, mark) !== undefined) this.#open.push(scope);
    return scope;
  }

  #end(scope: OpenScope, hasFailed: boolean): void {
    const at = this.#open.indexOf(scope);
    if (at < 0) return;
    this.#open.splice(at, 1);
    this.#measure(`${scope.name} End`, { ...scope, boundary: 'end', hasFailed }, true);
  }

  #automatic(name: string, runId: string | undefined): SpanEnd | undefined {
    if (runId !== undefined && runId !== this.#handle?.runId) return undefined;
    // What belongs to no run, such as kernels that are loaded, often goes on in the background.
    const scope = this.#begin(name, { isAutomatic: true, isBeside: runId === undefined });
    return (hasFailed) => this.#end(scope, hasFailed);
  }

  /** `isEnd`: of a scope whose start is in the profile, or of the profile. There is always room for those. */
  #measure(name: string, scope: ScopeMark | null, isEnd = false): ProfileCheckpoint | undefined {
    if (this.#isEnded) return undefined;
    const room = this.#settings.maxCheckpoints - this.#checkpoints.length;
    // An end for each scope that is open, and the one of the profile.
    if (!isEnd && room < this.#open.length + (scope === null ? 2 : 3)) {
      this.#dropped++;
      return undefined;
    }
    const atMs = this.#now() - this.#originMs;
    const index = this.#checkpoints.length;
    const { peakSource, values: measured } = this.#meter.read();
    const values: Record<string, number> = { ...measured };
    this.#extras.read(values);
    Object.assign(values, this.#collect('checkpoint', name, values, atMs));
    const timeMs = this.#startedAtMs + atMs;
    const checkpoint = { index, name, atMs, timeMs, values, peakSource, scope };
    this.#checkpoints.push(checkpoint);
    this.#recorder?.add(checkpoint);
    this.#later.follow(index);
    return checkpoint;
  }

  #collect(
    kind: ProfileMetric['kind'],
    stepName: string,
    values: ProfileValues,
    atMs = this.#endedMs ?? 0,
  ): ProfileValues {
    const found: Record<string, number> = {};
    for (const { collect, kind: own, name } of this.#settings.metrics ?? []) {
      if (own !== kind) continue;
      const context: ProfileMetricContext = {
        startedAtMs: this.#startedAtMs,
        atMs,
        stepName,
        values: { ...values, ...found },
        baseline: this.#checkpoints[0]?.values ?? {},
      };
      try {
        const value = collect(context);
        if (typeof value === 'number' && Number.isFinite(value)) found[name] = value;
      } catch (error) {
        this.#warn(name, error);
      }
    }
    return found;
  }

  #warn(metric: string, error: unknown): void {
    if (this.#warned.has(metric)) return;
    this.#warned.add(metric);
    const message = `The metric "${metric}" of the profiler threw and is left out: ${messageOf(error)}`;
    this.#handle?.notify({
      eventType: 'profiler_warning',
      severity: 'warning',
      step: null,
      epoch: null,
      payload: { message: message.slice(0, 2000) },
    });
  }
}

function noteOf({ definition = '', kind, name, unit }: ProfileMetric) {
  return { name, unit, kind, definition };
}

function nodeProcess(): GpuProcess & ProfiledProcess {
  const { process } = globalThis as { process?: unknown };
  if (typeof process !== 'object' || process === null)
    throw new QuarkError('unsupported', 'There is no process to measure here.');
  return process as GpuProcess & ProfiledProcess; // isNode() says so
}

function isPromise(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === 'object' && value !== null && typeof Reflect.get(value, 'then') === 'function'
  );
}
