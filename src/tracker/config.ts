/** The configuration of a tracker: a union by provider, checked once. */
import { checkOptionNames } from '../base/assert.ts';
import type { Clock } from '../base/clock.ts';
import { invalidInput } from '../base/errors.ts';
import { copyJsonObject, type JsonObject } from '../base/json.ts';
import { checkLabel } from '../base/names.ts';
import { contextText } from '../base/series-key.ts';
import {
  asGiven,
  callable,
  literal,
  optional,
  orDefault,
  readOptions,
  text,
} from '../base/options.ts';
import type { RecordingCallback } from '../session/storing/recording-health.ts';
import type { Sink } from '../sinks/sink.ts';
import type { Store } from '../store/store.ts';
import {
  TRACKER_PROVIDERS,
  type TrackerContext,
  type TrackerProvider,
  type TrackerState,
} from './tracker.ts';

/** What every provider takes. */
export type TrackedRun = {
  /** Name of the project, experiment or folder that the run belongs to. Default: `default`. */
  readonly project?: string | undefined;
  /** How the run is called. Default: its id. */
  readonly name?: string | undefined;
  readonly description?: string | null | undefined;
  /** Parameters at the start; a JSON object. */
  readonly parameters?: JsonObject | undefined;
  /** Labels of the run. */
  readonly tags?: readonly string[] | undefined;
  /** A state that a tracker of this provider gave: its run goes on, and what was recorded after it is overtaken. */
  readonly resume?: TrackerState | undefined;
  /** For tests. */
  readonly clock?: Clock | undefined;
};

/** Records into a store of Quark. */
export type QuarkTrackerConfig = TrackedRun & {
  readonly provider: 'quark';
  /** A directory, a storage URI or an open store, as `startRun` takes it. */
  readonly storage?: string | Store | undefined;
  /** A service that the run is sent to, as `startRun` takes it. */
  readonly persistenceUrl?: string | undefined;
  readonly userKey?: string | undefined;
  /** Where the run is mirrored to while it is recorded. */
  readonly mirrors?: readonly Sink[] | undefined;
  readonly onRecordingProblem?: RecordingCallback | undefined;
};

/** Records nothing; input is checked as by any other. */
export type NullTrackerConfig = TrackedRun & { readonly provider: 'null' };

/** Prints a line a step. */
export type ConsoleTrackerConfig = TrackedRun & {
  readonly provider: 'console';
  /** Gets each line. Default: `console.log`. */
  readonly write?: ((line: string) => void) | undefined;
};

/** Writes an event file of TensorBoard, in Node. */
export type TensorBoardTrackerConfig = TrackedRun & {
  readonly provider: 'tensorboard';
  /** The folder of all runs; each run gets a folder in it. */
  readonly directory: string;
};

/** Sends to a server of MLflow over REST. */
export type MlflowTrackerConfig = TrackedRun & {
  readonly provider: 'mlflow';
  /** Where the server is: `http://127.0.0.1:5000`. */
  readonly url: string;
  /** Sent with each request, such as `{ authorization: 'Bearer ...' }`. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
};

/** Records with several trackers. */
export type TeeTrackerConfig = TrackedRun & {
  readonly provider: 'tee';
  /** What the run is called and its parameters are those of the tee; here is where it goes. */
  readonly trackers: readonly TrackerConfig[];
};

/** Which tracker: a union by `provider`. Plain JSON where no store, function or sink is handed in, as from a file. */
export type TrackerConfig =
  | QuarkTrackerConfig
  | NullTrackerConfig
  | ConsoleTrackerConfig
  | TensorBoardTrackerConfig
  | MlflowTrackerConfig
  | TeeTrackerConfig;

/** What every provider takes, checked, with defaults. */
export type CheckedRun = {
  readonly project: string;
  readonly name: string | undefined;
  readonly description: string | null;
  readonly parameters: JsonObject;
  readonly tags: readonly string[];
  readonly resume: TrackerState | undefined;
  readonly clock: Clock | undefined;
};

const RUN_RULES = {
  project: orDefault(checkLabel, 'default'),
  name: optional(checkLabel),
  description: orDefault(checkText, null),
  parameters: orDefault(copyJsonObject, {}),
  tags: orDefault(checkTags, []),
  resume: asGiven<TrackerState | undefined>,
  clock: asGiven<Clock | undefined>,
};

/** The provider has been checked. */
const only =
  <const P extends TrackerProvider>(provider: P) =>
  (): P =>
    provider;

const STATE_FIELDS = ['version', 'provider', 'step', 'context', 'memory'] as const;

/**
 * The configuration that is asked for: of a state without a provider, that of the state.
 *
 * @throws {QuarkError} `invalid_input` naming field, value and rule
 */
export function checkTrackerConfig(given: unknown): TrackerConfig {
  if (typeof given !== 'object' || given === null)
    throw invalidInput('config', given, 'an object with a provider');
  const state: unknown = Reflect.get(given, 'resume');
  const resume = state === undefined ? undefined : checkState('config.resume', state);
  const asked: unknown = Reflect.get(given, 'provider') ?? resume?.provider;
  const provider = literal(TRACKER_PROVIDERS)('config.provider', asked);
  if (resume !== undefined && resume.provider !== provider)
    throw invalidInput('config.resume.provider', resume.provider, `"${provider}", as the tracker`);
  return CHECKS[provider]({ ...given, provider, ...(resume === undefined ? {} : { resume }) });
}

const CHECKS: Readonly<Record<TrackerProvider, (given: object) => TrackerConfig>> = {
  quark: (given) =>
    readOptions('config', given as QuarkTrackerConfig, {
      provider: only('quark'),
      ...RUN_RULES,
      storage: asGiven,
      persistenceUrl: asGiven,
      userKey: asGiven,
      mirrors: optional(checkSinks),
      onRecordingProblem: asGiven,
    }),
  null: (given) =>
    readOptions('config', given as NullTrackerConfig, { provider: only('null'), ...RUN_RULES }),
  console: (given) =>
    readOptions('config', given as ConsoleTrackerConfig, {
      provider: only('console'),
      ...RUN_RULES,
      write: optional(callable),
    }),
  tensorboard: (given) =>
    readOptions('config', withMemory(given, 'directory') as TensorBoardTrackerConfig, {
      provider: only('tensorboard'),
      ...RUN_RULES,
      directory: text(undefined, 'the path of a folder'),
    }),
  mlflow: (given) =>
    readOptions('config', withMemory(given, 'url') as MlflowTrackerConfig, {
      provider: only('mlflow'),
      ...RUN_RULES,
      url: text(undefined, 'an http: or https: URL', isHttp),
      headers: optional(checkHeaders),
    }),
  tee: (given) =>
    readOptions('config', withTrackers(given) as TeeTrackerConfig, {
      provider: only('tee'),
      ...RUN_RULES,
      trackers: checkTrackers,
    }),
};

/** A state says where its run is, so that it is enough by itself. */
function withMemory(given: object, field: 'directory' | 'url'): object {
  if (Reflect.get(given, field) !== undefined) return given;
  return { ...given, [field]: locationOf(Reflect.get(given, 'resume'), field) };
}

/** Where the sink of a state is: states from before 'at' say so in what the sink remembers. */
function locationOf(state: unknown, field: 'directory' | 'url'): unknown {
  return inside(state, 'memory', 'at', field) ?? inside(state, 'memory', 'sink', field);
}

/** The trackers of a tee, by its state where the configuration has none. */
function withTrackers(given: object): object {
  const states = inside(Reflect.get(given, 'resume'), 'memory', 'trackers');
  if (Reflect.get(given, 'trackers') !== undefined || !Array.isArray(states)) return given;
  const trackers = states.map((state: unknown) => {
    const provider = inside(state, 'provider');
    if (provider === 'tensorboard') return { provider, directory: locationOf(state, 'directory') };
    if (provider === 'tee') {
      // A tee in a tee: its trackers, without the state, which is that of the outer one.
      const inner = withTrackers({ resume: state });
      return { provider, trackers: inside(inner, 'trackers') };
    }
    return provider === 'mlflow' ? { provider, url: locationOf(state, 'url') } : { provider };
  });
  return { ...given, trackers };
}

function inside(value: unknown, ...path: readonly string[]): unknown {
  let found = value;
  for (const name of path)
    found = typeof found === 'object' && found !== null ? Reflect.get(found, name) : undefined;
  return found;
}

/** @throws {QuarkError} `invalid_input` */
export function checkState(field: string, value: unknown): TrackerState {
  checkOptionNames(field, value, STATE_FIELDS);
  const { context, memory, provider, step, version } = value as TrackerState;
  if (version !== 1) throw invalidInput(`${field}.version`, version, '1');
  return {
    version,
    provider: literal(TRACKER_PROVIDERS)(`${field}.provider`, provider),
    step: checkStep(`${field}.step`, step),
    context: checkContext(`${field}.context`, context),
    memory: copyJsonObject(`${field}.memory`, memory),
  };
}

/** A context that nobody can change. @throws {QuarkError} `invalid_input` */
export function checkContext(field: string, value: TrackerContext): TrackerContext {
  if (typeof value !== 'object' || value === null) throw invalidInput(field, value, 'an object');
  contextText(value, field);
  return Object.freeze({ ...value });
}

function checkStep(field: string, value: unknown): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0)
    throw invalidInput(field, value, 'a non-negative integer');
  return value;
}

function checkText(field: string, value: unknown): string {
  if (typeof value !== 'string') throw invalidInput(field, value, 'text');
  return value;
}

function checkTags(field: string, value: readonly string[]): readonly string[] {
  if (!Array.isArray(value)) throw invalidInput(field, value, 'a list of texts');
  return value.map((tag, i) => checkLabel(`${field}[${i}]`, tag));
}

function checkSinks(field: string, value: readonly Sink[]): readonly Sink[] {
  if (!Array.isArray(value) || !value.every((one) => typeof one?.write === 'function'))
    throw invalidInput(field, value, 'a list of sinks');
  return value;
}

function checkTrackers(field: string, value: unknown): readonly TrackerConfig[] {
  if (!Array.isArray(value) || value.length === 0)
    throw invalidInput(field, value, 'a list of configurations of trackers');
  return value.map((one: unknown, i) => {
    if (typeof one === 'object' && one !== null && Reflect.get(one, 'resume') !== undefined)
      throw invalidInput(
        `${field}[${i}].resume`,
        'a state',
        'left out: the state is that of the tee',
      );
    return checkTrackerConfig(one);
  });
}

function checkHeaders(field: string, value: unknown): Readonly<Record<string, string>> {
  const isTexts =
    typeof value === 'object' &&
    value !== null &&
    Object.values(value).every((one) => typeof one === 'string');
  if (!isTexts) throw invalidInput(field, '(headers)', 'an object of texts');
  return value as Readonly<Record<string, string>>;
}

function isHttp(value: string): boolean {
  return URL.canParse(value) && /^https?:$/.test(new URL(value).protocol);
}
