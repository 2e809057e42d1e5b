/** The settings of the hook engine: names, defaults, checks. */
import { checkOptionNames, checkPositive, checkFlag } from '../../base/assert.ts';
import { invalidInput } from '../../base/errors.ts';
import type { Kernels } from '../../kernel/tensor/kernels.ts';
import {
  DEFAULT_LAYER_FILTER_CONFIG,
  layerFilter,
  texts,
  type LayerFilterConfig,
} from './layer-filter.ts';
import type { LayerInfo } from './model-source.ts';
import { DEFAULT_HOOK_SCHEDULE_CONFIG, Schedule, type HookScheduleConfig } from './schedule.ts';

/** What hooks and parameter diagnostics have in common. */
export type ProbeConfig = {
  /** Rows after which records are written; default 100. */
  readonly batchSize?: number;
  /** Whether what goes wrong is thrown, instead of being recorded as one warning event a reason; default null: in strict mode. */
  readonly raiseOnError?: boolean | null;
  /**
   * Share of the training time that probing may take, above 0 and up to 1: `0.03`. The cadence is made slower until it
   * keeps to that, and faster again when there is room; every choice is recorded as a `probe_cadence_chosen` event. Default
   * null: the schedule as it stands.
   */
  readonly overheadBudget?: number | null;
  /** A probe whose numbers have not come by then is given up, in milliseconds; default 30,000. */
  readonly probeTimeoutMs?: number;
  /** Kernels to compute with; they stay the caller's. Default: kernels that all probes of the program share. */
  readonly kernels?: Kernels;
  /** Milliseconds that only go up, for costs; default `performance.now`. */
  readonly now?: () => number;
};

/** Settings of {@link HookEngine}. */
export type HookEngineConfig = ProbeConfig & {
  /** When probes are active. */
  readonly schedule?: HookScheduleConfig;
  /** Which layers are instrumented. */
  readonly filters?: LayerFilterConfig;
  /** Records summaries of activations; default true. */
  readonly captureForward?: boolean;
  /** Records summaries of gradients with respect to layer outputs; default true. */
  readonly captureBackward?: boolean;
  /** An activation counts as dead when |x| <= this. 0 or more; default 0. */
  readonly deadUnitEpsilon?: number;
  /** An activation counts as saturated when |x| >= this. Default 0.95; null: no saturation ratios. */
  readonly saturationThreshold?: number | null;
  /**
   * Layers that saturate, by class or by the activation that is part of them; upper and lower case and "_" do not matter.
   * Default: sigmoid and tanh in all their forms, and ReLU6.
   */
  readonly saturationModuleTypes?: Iterable<string>;
  /** Records passes that train nothing as well (validation, prediction), marked `pass: "evaluation"`; default false. */
  readonly captureEvaluation?: boolean;
  /** Probes in a row after which a unit that was dead in each counts as persistently dead; default 3. */
  readonly deadUnitProbes?: number;
};

/** The defaults of {@link HookEngineConfig}. */
export const DEFAULT_HOOK_ENGINE_CONFIG = Object.freeze({
  schedule: DEFAULT_HOOK_SCHEDULE_CONFIG,
  filters: DEFAULT_LAYER_FILTER_CONFIG,
  captureForward: true,
  captureBackward: true,
  batchSize: 100,
  raiseOnError: null,
  deadUnitEpsilon: 0,
  saturationThreshold: 0.95,
  saturationModuleTypes: Object.freeze(['Sigmoid', 'Tanh', 'Hardsigmoid', 'Hardtanh', 'ReLU6']),
  captureEvaluation: false,
  deadUnitProbes: 3,
  overheadBudget: null,
  probeTimeoutMs: 30_000,
});

/** {@link ProbeConfig}, checked. */
export type ProbeSettings = {
  readonly batchSize: number;
  readonly raiseOnError: boolean | null;
  readonly overheadBudget: number | null;
  readonly probeTimeoutMs: number;
  readonly kernels: Kernels | undefined;
  readonly now: () => number;
};

/** {@link HookEngineConfig}, checked. */
export type HookSettings = ProbeSettings & {
  readonly schedule: Schedule;
  readonly isWanted: (layer: LayerInfo) => boolean;
  readonly captureForward: boolean;
  readonly captureBackward: boolean;
  readonly captureEvaluation: boolean;
  readonly deadUnitEpsilon: number;
  readonly saturationThreshold: number | null;
  readonly saturates: (layer: LayerInfo) => boolean;
  readonly deadUnitProbes: number;
};

const PROBE_NAMES = [
  'batchSize',
  'raiseOnError',
  'overheadBudget',
  'probeTimeoutMs',
  'kernels',
  'now',
] as const;

/** @throws {QuarkError} `invalid_input` naming the field */
export function checkProbeConfig(
  config: ProbeConfig,
  otherNames: readonly string[],
): ProbeSettings {
  checkOptionNames('config', config, [...new Set([...otherNames, ...PROBE_NAMES])]);
  const { batchSize = 100, raiseOnError = null, overheadBudget = null } = config;
  const { probeTimeoutMs = DEFAULT_HOOK_ENGINE_CONFIG.probeTimeoutMs, kernels, now } = config;
  if (raiseOnError !== null && typeof raiseOnError !== 'boolean')
    throw invalidInput('raiseOnError', raiseOnError, 'true, false or null');
  if (
    overheadBudget !== null &&
    !(typeof overheadBudget === 'number' && overheadBudget > 0 && overheadBudget <= 1)
  )
    throw invalidInput('overheadBudget', overheadBudget, 'above 0 and at most 1, or null');
  if (kernels !== undefined && typeof kernels?.tensorStats !== 'function')
    throw invalidInput('kernels', kernels, 'what createKernels() gave');
  if (now !== undefined && typeof now !== 'function')
    throw invalidInput('now', now, 'a function that returns milliseconds');
  return {
    batchSize: checkPositive('batchSize', batchSize),
    raiseOnError,
    overheadBudget,
    probeTimeoutMs: checkPositive('probeTimeoutMs', probeTimeoutMs),
    kernels,
    now: now ?? (() => performance.now()),
  };
}

/** @throws {QuarkError} `invalid_input` naming the field */
export function checkHookConfig(config: HookEngineConfig): HookSettings {
  const probe = checkProbeConfig(config, Object.keys(DEFAULT_HOOK_ENGINE_CONFIG));
  const given = { ...DEFAULT_HOOK_ENGINE_CONFIG, ...givenOf(config) };
  const { deadUnitEpsilon, saturationThreshold } = given;
  if (!isNonNegative(deadUnitEpsilon))
    throw invalidInput('deadUnitEpsilon', deadUnitEpsilon, 'a number of 0 or more');
  if (saturationThreshold !== null && !isNonNegative(saturationThreshold))
    throw invalidInput(
      'saturationThreshold',
      saturationThreshold,
      'a number of 0 or more, or null',
    );
  const types = new Set(
    [...texts('saturationModuleTypes', given.saturationModuleTypes)].map(plainName),
  );
  return {
    ...probe,
    schedule: new Schedule(config.schedule),
    isWanted: layerFilter(config.filters),
    captureForward: checkFlag('captureForward', given.captureForward),
    captureBackward: checkFlag('captureBackward', given.captureBackward),
    captureEvaluation: checkFlag('captureEvaluation', given.captureEvaluation),
    deadUnitEpsilon,
    saturationThreshold,
    saturates: ({ type, qualifiedType, activation }) =>
      [type, qualifiedType, activation].some(
        (name) => name !== undefined && types.has(plainName(name)),
      ),
    deadUnitProbes: checkPositive('deadUnitProbes', given.deadUnitProbes),
  };
}

/** The settings that were given: one that is undefined was not. */
export function givenOf<T extends object>(config: T): T {
  return Object.fromEntries(Object.entries(config).filter(([, value]) => value !== undefined)) as T;
}

/** Whether it is a finite number of 0 or more. */
export function isNonNegative(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value < Number.POSITIVE_INFINITY;
}

/** `hard_sigmoid`, `hardSigmoid` and `Hardsigmoid` are one. */
function plainName(name: string): string {
  return name.replaceAll('_', '').toLowerCase();
}
