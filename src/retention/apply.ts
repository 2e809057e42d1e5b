/** Does what the rules of a space ask for, and stores the rules. */
import { checkNotAborted } from '../base/assert.ts';
import { DAY_MS, systemClock } from '../base/clock.ts';
import { isQuarkError, isStoreError, messageOf, QuarkError } from '../base/errors.ts';
import { asGiven, optional, orDefault, readOptions, text } from '../base/options.ts';
import { checkStore } from '../store/whole-store.ts';
import type { Store } from '../store/store.ts';
import { planRetention, type PlanOptions, type RetentionPlan, type RetentionStep } from './plan.ts';
import { MIN_POINTS, thinMetrics } from './thin.ts';
import { checkRetention, type CheckedSettings, type RetentionSettings } from './rules.ts';

/** Options of {@link applyRetention}. */
export type ApplyOptions = PlanOptions & {
  /** Who acts, for the tombstones of deleted runs. Default `retention`. */
  readonly by?: string | undefined;
  /** Called after each step. */
  readonly onStep?: ((step: RetentionStep) => void) | undefined;
};

/** A step that was left out, and why. */
export type SkippedStep = { readonly step: RetentionStep; readonly reason: string };

/** What applying the rules has come to. */
export type RetentionReport = {
  readonly plan: RetentionPlan;
  readonly done: readonly RetentionStep[];
  /** Runs that have changed since they were judged, or that the store refused to change. */
  readonly skipped: readonly SkippedStep[];
};

/** The note that rules are stored in. */
export const RETENTION_NOTE = 'retention/settings';

/**
 * Plans, and does what was planned, step by step. A run that has changed since it was judged, or has a live session by now, is left
 * alone. Applied again at once, the same rules do nothing more.
 *
 * @throws {QuarkError} `invalid_input`; `aborted` between two steps
 * @example
 * ```js
 * import { createMemoryStore, TrainingSession } from 'quark-sdk';
 * import { applyRetention } from 'quark-sdk/node';
 *
 * const store = createMemoryStore();
 * for (const tags of [['keep'], []]) await TrainingSession.run({ project: 'digits', storage: store, tags }, () => {});
 * const { done, skipped } = await applyRetention(store, { rules: [{ act: 'archive', olderThanDays: 0 }] });
 * console.log(done.map(({ act }) => act), skipped); // [ 'archive' ] []
 * ```
 */
export async function applyRetention(
  store: Store,
  given: RetentionSettings,
  options: ApplyOptions = {},
): Promise<RetentionReport> {
  checkStore(store);
  const { undoDays } = checkRetention(given);
  const { by, clock, onStep, signal } = readOptions('options', options, {
    by: text('retention'),
    onStep: optional(asGiven),
    clock: orDefault(asGiven, systemClock),
    signal: optional(asGiven),
  });
  const plan = await planRetention(store, given, { clock, signal });
  const context = { by, keepMs: undoDays * DAY_MS, nowMs: clock.now(), signal };
  const done: RetentionStep[] = [];
  const skipped: SkippedStep[] = [];
  for (const step of plan.steps) {
    checkNotAborted(signal);
    const outcome = await act(store, step, context);
    if (typeof outcome === 'string') skipped.push({ step, reason: outcome });
    else {
      done.push(outcome);
      onStep?.(outcome);
    }
  }
  return { plan, done, skipped };
}

/** How the steps of one call are done. */
type ActContext = {
  readonly by: string;
  readonly keepMs: number;
  readonly nowMs: number;
  readonly signal: AbortSignal | undefined;
};

/** The step as it was done; else why it was not. */
async function act(
  store: Store,
  step: RetentionStep,
  { by, keepMs, nowMs, signal }: ActContext,
): Promise<RetentionStep | string> {
  const { act: what, pointsPerMetric: points, revision, runId } = step;
  const run = await store.findRun(runId);
  if (run === undefined) return 'it is gone';
  if (run.revision !== revision) return 'it has changed since';
  if ((await store.listLeases([runId])).length > 0) return 'it has a live session';
  try {
    if (what === 'thin') {
      const rows = await thinMetrics(store, runId, { points: points ?? MIN_POINTS, nowMs, signal });
      return typeof rows === 'string' ? rows : { ...step, rows };
    }
    if (what === 'archive') await store.archiveRun(runId);
    else await store.deleteRun(runId, { by, keepMs });
    return step;
  } catch (error) {
    if (isQuarkError(error, 'run_not_found') || isStoreError(error)) return messageOf(error);
    throw error;
  }
}

/**
 * The rules that are stored with the runs of a store; undefined when there are none. @throws {QuarkError} `invalid_input`, `unsupported`
 *
 * @example
 * ```js
 * import { createMemoryStore } from 'quark-sdk';
 * import { readRetention, saveRetention } from 'quark-sdk/node';
 *
 * const store = createMemoryStore();
 * console.log(await readRetention(store)); // undefined
 * await saveRetention(store, { rules: [{ act: 'archive', olderThanDays: 90 }] });
 * console.log((await readRetention(store)).keepTags); // [ 'keep' ]
 * ```
 */
export async function readRetention(store: Store): Promise<CheckedSettings | undefined> {
  const content = await notesOf(store).read(RETENTION_NOTE);
  return content === undefined ? undefined : checkRetention(JSON.parse(content));
}

/**
 * Stores rules with the runs; maintenance of a service applies them once a day. Undefined removes them.
 *
 * @throws {QuarkError} `invalid_input` with field, value and rule; `unsupported` for a store behind a network
 * @example
 * ```js
 * import { openStorage } from 'quark-sdk';
 * import { readRetention, saveRetention } from 'quark-sdk/node';
 *
 * const store = await openStorage('quark-runs');
 * await saveRetention(store, { rules: [{ act: 'thin', olderThanDays: 30, pointsPerMetric: 1000 }], keepTags: ['paper'] });
 * console.log((await readRetention(store)).rules[0].pointsPerMetric); // 1000
 * await saveRetention(store, undefined); // no rules any more
 * await store.close();
 * ```
 */
export async function saveRetention(
  store: Store,
  settings: RetentionSettings | undefined,
): Promise<void> {
  const content = settings === undefined ? null : JSON.stringify(checkRetention(settings));
  await notesOf(store).write(RETENTION_NOTE, content);
}

function notesOf(store: Store): NonNullable<Store['notes']> {
  checkStore(store);
  if (store.notes !== undefined) return store.notes;
  throw new QuarkError(
    'unsupported',
    `Rules of ${store.uri} are stored beside its runs. Open the folder or the database itself.`,
    { details: { uri: store.uri } },
  );
}
