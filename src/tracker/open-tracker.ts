/** From a configuration to a tracker. */
import { systemClock } from '../base/clock.ts';
import { invalidInput } from '../base/errors.ts';
import { createId } from '../base/ids.ts';
import type { JsonObject, JsonValue } from '../base/json.ts';
import { lineSink } from '../sinks/function-sinks.ts';
import { mlflowSink } from '../sinks/mlflow-sink.ts';
import type { Sink } from '../sinks/sink.ts';
import { tensorBoardSink } from '../sinks/tensorboard-sink.ts';
import {
  checkState,
  checkTrackerConfig,
  type CheckedRun,
  type TeeTrackerConfig,
  type TrackedRun,
  type TrackerConfig,
} from './config.ts';
import { ContextTracker } from './context-tracker.ts';
import { openQuarkTarget } from './quark-target.ts';
import { SinkTarget } from './sink-target.ts';
import { TeeTarget } from './tee-target.ts';
import type { Tracker, TrackerState, TrackerTarget } from './tracker.ts';

/**
 * Opens a tracker: one interface for code that must not know where its records go. The configuration is a union by `provider`,
 * checked once, and plain JSON unless something is handed in. With `resume`, the run of a state goes on, and what was recorded after the
 * state is overtaken: `quark` sets these rows apart as superseded, `tensorboard` cuts its file, and MLflow and a console retain what they
 * have.
 *
 * @throws {QuarkError} `invalid_input` naming field, value and rule; `unsupported` where the platform or the store lacks what the
 *   provider needs
 * @throws {RunNotFoundError} when the run of a state is not there
 * @throws {InvalidRunStateError} when the run of a state is completed, or has a live session
 * @throws {SessionStoreError} when the store of a state cannot be read
 * @example
 * ```js
 * import { openTracker } from 'quark-sdk/tracker';
 *
 * const tracker = await openTracker({
 *   provider: 'quark', // or tensorboard, mlflow, console, tee, null
 *   project: 'digits',
 *   storage: 'quark-runs',
 *   parameters: { lr: 0.1 },
 * });
 * for (let step = 0; step < 3; step++) {
 *   tracker.setStep(step);
 *   tracker.scalar('loss', 1 / (step + 1), { context: { stage: 'train' } });
 * }
 * console.log((await tracker.state()).step, tracker.status().waiting); // 2 0
 * await tracker.close();
 * ```
 */
export async function openTracker(
  config: TrackerConfig | { readonly resume: TrackerState },
): Promise<Tracker> {
  const checked = checkTrackerConfig(config);
  const target = await openTarget(checked, runOf(checked));
  return new ContextTracker(checked.provider, target, checked.resume);
}

async function openTarget(config: TrackerConfig, run: CheckedRun): Promise<TrackerTarget> {
  switch (config.provider) {
    case 'quark':
      return openQuarkTarget(config, run);
    case 'null':
      return new TeeTarget([]);
    case 'console':
      return sinkTarget(lineSink(config.write), run, {});
    case 'tensorboard':
      return sinkTarget(tensorBoardSink({ directory: config.directory }), run, {
        directory: config.directory,
      });
    case 'mlflow':
      return sinkTarget(mlflowSink({ url: config.url, headers: config.headers }), run, {
        url: config.url,
      });
    case 'tee':
      return openTee(config, run);
  }
}

async function openTee(config: TeeTrackerConfig, run: CheckedRun): Promise<TrackerTarget> {
  const states = statesOf(run.resume, config.trackers);
  const opened: TrackerTarget[] = [];
  try {
    for (const [i, one] of config.trackers.entries()) {
      const resume = states[i];
      opened.push(await openTarget(withState(one, resume), { ...run, resume }));
    }
  } catch (error) {
    await Promise.allSettled(opened.map((target) => target.close('failed')));
    throw error;
  }
  return new TeeTarget(
    opened,
    config.trackers.map(({ provider }) => provider),
  );
}

/** The states of the trackers of a tee. @throws {QuarkError} `invalid_input` where they are of others */
function statesOf(
  state: TrackerState | undefined,
  trackers: readonly TrackerConfig[],
): readonly (TrackerState | undefined)[] {
  if (state === undefined) return [];
  const found = state.memory['trackers'];
  const states: readonly JsonValue[] = Array.isArray(found) ? found : [];
  return trackers.map(({ provider }, i) => {
    const one = states[i];
    const isSame = isObject(one) && one['provider'] === provider && isObject(one['memory']);
    if (!isSame || states.length !== trackers.length)
      throw invalidInput(
        `config.trackers[${i}].provider`,
        provider,
        'that of the state: the same trackers in the same order',
      );
    return checkState('config.resume', { ...state, provider, memory: one['memory'] });
  });
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function withState(config: TrackerConfig, resume: TrackerState | undefined): TrackerConfig {
  return resume === undefined ? config : { ...config, resume };
}

function runOf(config: TrackedRun): CheckedRun {
  const { clock, description = null, name, parameters = {}, project = 'default' } = config;
  return {
    project,
    name,
    description,
    parameters,
    tags: config.tags ?? [],
    resume: config.resume,
    clock,
  };
}

/** A new run of a sink, or that of a state. @param at where the sink is */
function sinkTarget(sink: Sink, run: CheckedRun, at: JsonObject): TrackerTarget {
  const { clock = systemClock, resume } = run;
  const { id, run: known, sink: memory, startedAtMs } = resume?.memory ?? {};
  const runId = typeof id === 'string' ? id : createId('run', clock.now());
  const { description, name, parameters, project, tags } = isObject(known)
    ? knownRun(run, known)
    : run;
  const sinkRun = {
    id: runId,
    project,
    name: name ?? runId,
    description,
    config: parameters,
    tags,
    startedAtMs: typeof startedAtMs === 'number' ? startedAtMs : clock.now(),
  };
  return new SinkTarget(sink, sinkRun, clock, { at, memory: isObject(memory) ? memory : null });
}

/** A run as its state has it: it goes on under its name, with parameters that may be new. */
function knownRun(run: CheckedRun, known: JsonObject): CheckedRun {
  const { config, description, name, project, tags } = known;
  return {
    ...run,
    project: typeof project === 'string' ? project : run.project,
    name: typeof name === 'string' ? name : run.name,
    description: typeof description === 'string' ? description : run.description,
    parameters: { ...(isObject(config) ? config : {}), ...run.parameters },
    tags: Array.isArray(tags) ? tags.filter((tag) => typeof tag === 'string') : run.tags,
  };
}
