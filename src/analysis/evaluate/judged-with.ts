/**
 * What a run was judged with, where it is not the defaults: results say it, and an event of the run says it of what is stored, so that
 * two verdicts by different thresholds are told apart. Unlike rules without code these settings are not used by later analyses.
 */
import type { JsonObject } from '../../base/json.ts';
import { rolesAsStored, rolesOfRun, type AskedRoles } from '../../records/run-roles.ts';
import type { EventColumns } from '../columns/run-columns.ts';
import { alertIds, ownThresholds } from '../own/own-rules.ts';
import { DEFAULT_ANALYZER_THRESHOLDS } from '../rules/rules.ts';
import type { AnalyzerSettings } from './analyzer-config.ts';
import type { PhaseAnalyzerSettings } from './phase-config.ts';
import { DEFAULT_PHASE_ANALYZER_THRESHOLDS } from '../phases/thresholds.ts';
import { DEFAULT_METRIC_KEYS } from '../signals/metric-keys.ts';

/** The event that says what stored alerts and scores were found with. */
export const SETTINGS_EVENT = 'analysis_settings';
/** The event that says what stored phases were found with. */
export const PHASE_SETTINGS_EVENT = 'phase_settings';

/** What a run was judged with. Empty lists and objects mean the defaults. */
export type JudgedWith = {
  /** Thresholds that were not their defaults. */
  readonly thresholds: Readonly<Record<string, number>>;
  /** Rules that were not asked, in order of the alphabet. */
  readonly disabledRules: readonly string[];
  /** Ids of the rules of one's own that were asked, with code and without. */
  readonly ownRules: readonly string[];
  /** Metrics that were given a role; roles that were found by names, or that the run remembered, are not among them. */
  readonly roles: AskedRoles;
  /** Keys of metrics that were not the defaults, by the names of their settings. */
  readonly metricKeys: Readonly<Record<string, readonly string[]>>;
  /** `scale_free` by default. */
  readonly compatibility: AnalyzerSettings['compatibility'];
};

/** What settings say other than the defaults. */
export function judgedWithOf(settings: AnalyzerSettings): JudgedWith {
  const defaults: Readonly<Record<string, number>> = {
    ...DEFAULT_ANALYZER_THRESHOLDS,
    ...ownThresholds(settings.rules),
  };
  const own = new Set([...settings.rules.coded, ...settings.rules.declared].map(({ id }) => id));
  return {
    thresholds: differing(settings.thresholds, defaults),
    disabledRules: [...settings.disabledRules].toSorted(),
    ownRules: alertIds(settings.rules).filter((id) => own.has(id)),
    roles: settings.roles,
    metricKeys: Object.fromEntries(
      Object.entries(DEFAULT_METRIC_KEYS).flatMap(([name, keys]) => {
        const used: readonly string[] = Reflect.get(settings, name);
        return used.join('\n') === keys.join('\n') ? [] : [[name, used] as const];
      }),
    ),
    compatibility: settings.compatibility,
  };
}

function differing(
  used: Readonly<Record<string, number>>,
  defaults: Readonly<Record<string, number>>,
): Readonly<Record<string, number>> {
  const names = Object.keys(used).filter((name) => used[name] !== defaults[name]);
  return Object.fromEntries(names.toSorted().map((name) => [name, used[name] ?? 0]));
}

/** The same as a plain dictionary, without what is the default: `{}` for the defaults. */
export function judgedWithDict(one: JudgedWith): JsonObject {
  const { compatibility, disabledRules, metricKeys, ownRules, roles, thresholds } = one;
  return {
    ...(isEmpty(thresholds) ? {} : { thresholds: { ...thresholds } }),
    ...(disabledRules.length === 0 ? {} : { disabled_rules: [...disabledRules] }),
    ...(ownRules.length === 0 ? {} : { own_rules: [...ownRules] }),
    ...rolesAsStored(roles),
    ...(isEmpty(metricKeys) ? {} : { metric_keys: metricKeys }),
    ...(compatibility === 'scale_free' ? {} : { compatibility }),
  };
}

/** What phases are found with, as a plain dictionary, without what is the default. */
export function phasesJudgedWithDict({ analyzer, thresholds }: PhaseAnalyzerSettings): JsonObject {
  const used = differing(thresholds, DEFAULT_PHASE_ANALYZER_THRESHOLDS);
  return {
    ...judgedWithDict(judgedWithOf(analyzer)),
    ...(isEmpty(used) ? {} : { phase_thresholds: { ...used } }),
  };
}

function isEmpty(one: object): boolean {
  return Object.keys(one).length === 0;
}

/**
 * What the events of a run say that was in use at an instant; `{}` for the defaults.
 *
 * @param atMs when the analysis was, in UTC epoch milliseconds
 */
export function settingsAt(
  { eventTypes, payloads, timesMs }: EventColumns,
  eventType: typeof SETTINGS_EVENT | typeof PHASE_SETTINGS_EVENT,
  atMs: number,
): JsonObject {
  const row = eventTypes.findLastIndex(
    (one, i) => one === eventType && (timesMs[i] ?? Infinity) <= atMs,
  );
  const payload: unknown = row < 0 ? {} : JSON.parse(payloads[row] ?? '{}');
  return isObject(payload) ? (payload as JsonObject) : {}; // bytes become types: it was JSON
}

/** What a dictionary says; what is of another form is left out, as anybody may have written it. */
export function readJudgedWith(dict: JsonObject): JudgedWith {
  const texts = (given: unknown): readonly string[] =>
    Array.isArray(given) ? given.filter((one: unknown) => typeof one === 'string') : [];
  const entries = (given: unknown): readonly (readonly [string, unknown])[] =>
    isObject(given) ? Object.entries(given) : [];
  return {
    thresholds: Object.fromEntries(
      entries(dict['thresholds']).flatMap(([name, value]) =>
        typeof value === 'number' ? [[name, value] as const] : [],
      ),
    ),
    disabledRules: texts(dict['disabled_rules']),
    ownRules: texts(dict['own_rules']),
    roles: rolesOfRun(dict),
    metricKeys: Object.fromEntries(
      entries(dict['metric_keys']).map(([name, keys]) => [name, texts(keys)]),
    ),
    compatibility: dict['compatibility'] === 'abiotic-quark' ? 'abiotic-quark' : 'scale_free',
  };
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * What a run was judged with, in a sentence without its end; empty for the defaults. Roles are not in it: `sayRoles` says them all.
 *
 * @example
 * ```js
 * import { analyzeColumns, createMetricSeries, createRunColumns, sayJudgedWith } from 'quark-sdk/analysis';
 *
 * const loss = createMetricSeries('train/loss', { steps: [0, 1, 2], values: [0.9, 0.5, 0.4] });
 * const config = { thresholds: { lossSpikeScore: 12 }, disabledRules: ['plateau'] };
 * const { judgedWith } = analyzeColumns(createRunColumns({ metrics: [loss] }), config);
 * console.log(sayJudgedWith(judgedWith)); // lossSpikeScore 12 instead of 8, without the rule plateau
 * ```
 */
export function sayJudgedWith(one: JudgedWith): string {
  const { compatibility, disabledRules, metricKeys, ownRules, thresholds } = one;
  const defaults: Readonly<Record<string, number>> = DEFAULT_ANALYZER_THRESHOLDS;
  return [
    ...Object.entries(thresholds).map(([name, value]) => {
      const usual = defaults[name];
      return `${name} ${value}${usual === undefined ? '' : ` instead of ${usual}`}`;
    }),
    ...(disabledRules.length === 0 ? [] : [`without the ${rules(disabledRules)}`]),
    ...(ownRules.length === 0 ? [] : [`own ${rules(ownRules)}`]),
    ...Object.entries(metricKeys).map(([name, keys]) => `${name} ${keys.join(' or ')}`),
    ...(compatibility === 'scale_free' ? [] : [`the limits of ${compatibility} alone`]),
  ].join(', ');
}

function rules(ids: readonly string[]): string {
  return `${ids.length === 1 ? 'rule' : 'rules'} ${ids.join(', ')}`;
}
