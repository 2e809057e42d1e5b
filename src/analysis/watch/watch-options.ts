/** What is done about alerts while a run goes on; checked once. */
import { checkFlag, checkLiteral, checkOptionNames, checkPositive } from '../../base/assert.ts';
import { invalidInput, messageOf } from '../../base/errors.ts';
import { WORKER_MODES, type WorkerLike, type WorkerMode } from '../../kernel/workers/spawn.ts';
import type { AlertRecord } from '../../records/alert.ts';
import { ALERT_SEVERITIES, type AlertSeverity } from '../../records/literals.ts';
import { RULE_IDS, type RuleId } from '../rules/rules.ts';

/** Every kind of {@link WatchAction}. */
export const WATCH_ACTIONS = ['log', 'callback', 'webhook', 'stop'] as const;

/** Which alerts an action is for. */
export type ActionCondition = {
  /** Rules; all unless given, for `stop` all but those of the category `runtime`: a slow run is not a lost one. */
  readonly rules?: readonly RuleId[];
  /** Least severity. Default `warning`, for `stop` `critical`. */
  readonly minSeverity?: AlertSeverity;
};

/**
 * What is done about an alert: `log` records a `user_log` event; `callback` calls back; `webhook` posts
 * `{ run_id, alert }` as JSON, once, follows no redirect and gives up after ten seconds; `stop` aborts `session.signal`, which
 * the training callback stops at, as do loops that look at it. A run of `TrainingSession.run` that was stopped ends as
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
  /** Least time between two looks, in milliseconds. Default 250. */
  readonly minIntervalMs?: number;
  /** How often a run that another process records is looked at, in milliseconds. Default 2,000. */
  readonly pollMs?: number;
  /** Whether alerts are kept with the run, in the stream `alerts`, until the next analysis replaces them. Default true. */
  readonly persist?: boolean;
  /** Posts webhooks. Default: the `fetch` of the platform. */
  readonly fetch?: typeof globalThis.fetch;
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

/** @throws {QuarkError} `invalid_input` naming the option */
export function checkWatchOptions(options: WatchOptions): WatchSettings {
  checkOptionNames('options', options, [
    'onAlert',
    'actions',
    'cooldownMs',
    'minIntervalMs',
    'pollMs',
    'persist',
    'fetch',
    'workerMode',
    'spawn',
  ]);
  const {
    actions = [],
    cooldownMs = 600_000,
    minIntervalMs = 250,
    onAlert,
    persist,
    pollMs,
  } = options;
  if (onAlert !== undefined && typeof onAlert !== 'function')
    throw invalidInput('options.onAlert', onAlert, 'a function');
  if (options.fetch !== undefined && typeof options.fetch !== 'function')
    throw invalidInput('options.fetch', options.fetch, 'a function');
  if (options.spawn !== undefined && typeof options.spawn !== 'function')
    throw invalidInput('options.spawn', options.spawn, 'a function that returns a worker');
  if (!Array.isArray(actions)) throw invalidInput('options.actions', actions, 'a list of actions');
  actions.forEach((action, i) => checkAction(`options.actions[${i}]`, action));
  return {
    onAlert: onAlert ?? (() => undefined),
    actions,
    cooldownMs: checkDuration('options.cooldownMs', cooldownMs),
    minIntervalMs: checkDuration('options.minIntervalMs', minIntervalMs),
    pollMs: checkPositive('options.pollMs', pollMs ?? 2000),
    persist: checkFlag('options.persist', persist ?? true),
    fetch: options.fetch ?? ((...args) => globalThis.fetch(...args)),
    workerMode: checkLiteral('options.workerMode', options.workerMode ?? 'auto', WORKER_MODES),
    spawn: options.spawn,
  };
}

function checkDuration(name: string, value: unknown): number {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 0)
    throw invalidInput(name, value, 'a number of milliseconds, at least 0');
  return value;
}

function checkAction(name: string, action: WatchAction): void {
  checkOptionNames(name, action, ['kind', 'rules', 'minSeverity', 'callback', 'url', 'headers']);
  checkLiteral(`${name}.kind`, action.kind, WATCH_ACTIONS);
  if (action.minSeverity !== undefined)
    checkLiteral(`${name}.minSeverity`, action.minSeverity, ALERT_SEVERITIES);
  for (const id of action.rules ?? []) checkLiteral(`${name}.rules`, id, RULE_IDS);
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
