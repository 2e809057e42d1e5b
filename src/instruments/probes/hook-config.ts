/** The settings of the hook engine: names, defaults, checks. */
import { checkFlag } from '../../base/assert.ts';
import { invalidInput } from '../../base/errors.ts';
import {
  callable,
  flag,
  numberWhere,
  optional,
  orNull,
  positive,
  readOptions,
  type OptionRule,
} from '../../base/options.ts';
import type { Kernels } from '../../kernel/tensor/kernels.ts';
import {
  DEFAULT_LAYER_FILTER_CONFIG,
  layerFilter,
  nameSet,
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
   * does, and faster again when there is room; every choice is recorded as a `probe_cadence_chosen` event. Default
   * null: the schedule as it stands. A function is asked at every choice, for a budget that others share.
   */
  readonly overheadBudget?: number | (() => number) | null;
  /** A probe whose numbers have not come by then is discarded, in milliseconds; default 30,000. */
  readonly probeTimeoutMs?: number;
  /** Kernels to compute with; the caller closes them. Default: kernels that all probes of the program share. */
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
export type ProbeSettings = Omit<Required<ProbeConfig>, 'kernels'> & {
  readonly kernels: Kernels | undefined;
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

/** A share of the training time, or null for no limit. */
export const SHARE_RULE = orNull(
  numberWhere((share) => share > 0 && share <= 1, 'above 0 and at most 1, or null'),
);

/** Rules of {@link ProbeConfig}. */
export const PROBE_RULES: {
  readonly [K in keyof ProbeConfig]-?: OptionRule<ProbeConfig[K], ProbeSettings[K]>;
} = {
  batchSize: positive(100),
  raiseOnError: orNull(checkFlag),
  overheadBudget: (field, given = null) =>
    typeof given === 'function' ? given : SHARE_RULE(field, given),
  probeTimeoutMs: positive(DEFAULT_HOOK_ENGINE_CONFIG.probeTimeoutMs),
  kernels: optional((field: string, kernels: Kernels): Kernels => {
    if (typeof kernels?.tensorStats !== 'function')
      throw invalidInput(field, kernels, 'what createKernels() gave');
    return kernels;
  }),
  now: (field, now = () => performance.now()) => callable(field, now),
};

const { deadUnitEpsilon, deadUnitProbes, saturationModuleTypes, saturationThreshold } =
  DEFAULT_HOOK_ENGINE_CONFIG;

const HOOK_RULES = {
  schedule: (_field: string, config?: HookScheduleConfig) => new Schedule(config),
  filters: (_field: string, config?: LayerFilterConfig) => layerFilter(config),
  captureForward: flag(true),
  captureBackward: flag(true),
  captureEvaluation: flag(false),
  deadUnitEpsilon: nonNegative(deadUnitEpsilon),
  saturationThreshold: orNull(nonNegative(), saturationThreshold),
  saturationModuleTypes: (field: string, given: Iterable<string> = saturationModuleTypes) =>
    new Set([...nameSet(field, given)].map(plainName)),
  deadUnitProbes: positive(deadUnitProbes),
  ...PROBE_RULES,
};

/** @throws {QuarkError} `invalid_input` naming the field */
export function checkHookConfig(config: HookEngineConfig): HookSettings {
  const {
    filters: isWanted,
    saturationModuleTypes: types,
    ...settings
  } = readOptions('config', config, HOOK_RULES, '');
  return {
    ...settings,
    isWanted,
    saturates: ({ type, qualifiedType, activation }) =>
      [type, qualifiedType, activation].some(
        (name) => name !== undefined && types.has(plainName(name)),
      ),
  };
}

/** A finite number of 0 or more. */
export function nonNegative(fallback?: number): OptionRule<number | undefined, number> {
  return numberWhere(
    (value) => value >= 0 && value < Number.POSITIVE_INFINITY,
    'a number of 0 or more',
    fallback,
  );
}

/** `hard_sigmoid`, `hardSigmoid` and `Hardsigmoid` are one. */
function plainName(name: string): string {
  return name.replaceAll('_', '').toLowerCase();
}
