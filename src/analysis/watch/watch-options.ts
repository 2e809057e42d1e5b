/** What is done about alerts while a run goes on; checked once. */
import { checkLiteral, checkOptionNames } from '../../base/assert.ts';
import { invalidInput, messageOf } from '../../base/errors.ts';
import {
  callable,
  flag,
  literal,
  numberWhere,
  optional,
  orDefault,
  positive,
  readOptions,
} from '../../base/options.ts';
import { WORKER_MODES, type WorkerLike, type WorkerMode } from '../../kernel/workers/spawn.ts';
import type { AlertRecord } from '../../records/alert.ts';
import { ALERT_SEVERITIES, type AlertSeverity } from '../../records/literals.ts';
import type { AnyRuleId } from '../evaluate/analyzer-config.ts';

/** Every kind of {@link WatchAction}. */
export const WATCH_ACTIONS = ['log', 'callback', 'webhook', 'stop'] as const;

/** Which alerts an action is for. */
export type ActionCondition = {
  /** Rules; all unless given, for `stop` all but those of the category `runtime`: a slow run is not a lost one. */
  readonly rules?: readonly AnyRuleId[];
  /** Least severity. Default `warning`, for `stop` `critical`. */
  readonly minSeverity?: AlertSeverity;
};

/**
 * What is done about an alert: `log` records a `user_log` event; `callback` calls back; `webhook` posts
 * `{ run_id, alert }` as JSON, once, follows no redirect and gives up after ten seconds; `stop` aborts `session.signal`, which
 * the training callback stops at, as do loops that check it. A run of `TrainingSession.run` that was stopped ends as
 * `interrupted`.
 */
export type WatchAction = ActionCondition &
  (
    | { readonly kind: 'log' | 'stop' }
    | { readonly kind: 'callback'; readonly callback: (alert: AlertRecord) => void | Promise<void> }
    | {
        readonly kind: 'webhook';
        readonly url: string;
        readonly headers?: Readonly<Record<string, string>>;
      }
  );

/** Options of `AnalyzerEngine.watch`. */
export type WatchOptions = {
  /** Called with every alert. */
  readonly onAlert?: (alert: AlertRecord) => void;
  readonly actions?: readonly WatchAction[];
  /** How long a rule is silent after an alert, in milliseconds, unless it gets worse. Default 600,000. */
  readonly cooldownMs?: number;
  /** Least time between two polls, in milliseconds. Default 250. */
  readonly minIntervalMs?: number;
  /** How often a run that another process records is polled, in milliseconds. Default 2,000. */
  readonly pollMs?: number;
  /** Whether alerts are stored with the run, in the stream `alerts`, until the next analysis replaces them. Default true. */
  readonly persist?: boolean;
  /** Posts webhooks. Default: the `fetch` of the platform. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
  /**
   * How the worker that judges is made; default `auto`: by the address of its file, then from the text that the package
   * carries, and where neither works the calling thread judges, in pieces. `none` has the calling thread judge.
   */
  readonly workerMode?: WorkerMode;
  /** Makes the worker instead, for set-ups that reach neither. It runs the package's `watch-worker.js`. */
  readonly spawn?: () => WorkerLike;
};

/** Options with every default filled in. */
export type WatchSettings = Required<Omit<WatchOptions, 'spawn'>> & {
  readonly spawn: (() => WorkerLike) | undefined;
};

/**
 * @param ruleIds every rule that an action may name
 * @throws {QuarkError} `invalid_input` naming the option
 */
export function checkWatchOptions(
  options: WatchOptions,
  ruleIds: readonly string[],
): WatchSettings {
  const duration = (fallback: number) =>
    numberWhere(
      (value) => Number.isFinite(value) && value >= 0,
      'a number of milliseconds, at least 0',
      fallback,
    );
  const settings = readOptions('options', options, {
    onAlert: optional(callable<NonNullable<WatchOptions['onAlert']>>),
    actions: (field: string, given?: readonly WatchAction[]) => checkActions(field, given, ruleIds),
    cooldownMs: duration(600_000),
    minIntervalMs: duration(250),
    pollMs: orDefault(positive(), 2000),
    persist: orDefault(flag(), true),
    fetch: optional(callable<NonNullable<WatchOptions['fetch']>>),
    workerMode: orDefault(literal<WorkerMode>(WORKER_MODES), 'auto'),
    spawn: optional(callable<() => WorkerLike>),
  });
  return {
    ...settings,
    onAlert: settings.onAlert ?? (() => undefined),
    fetch: settings.fetch ?? ((...args) => globalThis.fetch(...args)),
  };
}

function checkActions(
  field: string,
  given: readonly WatchAction[] = [],
  ruleIds: readonly string[],
): readonly WatchAction[] {
  if (!Array.isArray(given)) throw invalidInput(field, given, 'a list of actions');
  given.forEach((action, i) => checkAction(`${field}[${i}]`, action, ruleIds));
  return given;
}

function checkAction(name: string, action: WatchAction, ruleIds: readonly string[]): void {
  checkOptionNames(name, action, ['kind', 'rules', 'minSeverity', 'callback', 'url', 'headers']);
  checkLiteral(`${name}.kind`, action.kind, WATCH_ACTIONS);
  if (action.minSeverity !== undefined)
    checkLiteral(`${name}.minSeverity`, action.minSeverity, ALERT_SEVERITIES);
  for (const id of action.rules ?? []) checkLiteral(`${name}.rules`, id, ruleIds);
  if (action.kind === 'callback' && typeof action.callback !== 'function')
    throw invalidInput(`${name}.callback`, action.callback, 'a function');
  if (action.kind !== 'webhook') return;
  if (typeof action.url !== 'string' || !/^https?:$/.test(parsed(action.url)?.protocol ?? ''))
    throw invalidInput(`${name}.url`, action.url, 'an http or https URL');
  try {
    void new Headers(action.headers);
  } catch (error) {
    throw invalidInput(`${name}.headers`, action.headers, `headers (${messageOf(error)})`);
  }
}

function parsed(url: string): URL | undefined {
  try {
    return new URL(url);
  } catch {
    return undefined;
  }
}

/** Whether an action is for this alert. */
export function isFor(action: WatchAction, alert: AlertRecord): boolean {
  const { rules } = action;
  if (rules !== undefined && !rules.some((id) => id === alert.ruleId)) return false;
  if (rules === undefined && action.kind === 'stop' && alert.category === 'runtime') return false;
  const least = action.minSeverity ?? (action.kind === 'stop' ? 'critical' : 'warning');
  return ALERT_SEVERITIES.indexOf(alert.severity) >= ALERT_SEVERITIES.indexOf(least);
}
