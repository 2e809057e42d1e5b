/** Silencing alerts of a stored run. */
import { checkInstant, isGiven } from '../../base/assert.ts';
import { checkLabel, checkModuleName } from '../../base/names.ts';
import { literal, readOptions } from '../../base/options.ts';
import type { AnalyzedRun } from '../evaluate/stored-results.ts';
import { storeEvent } from './store-event.ts';
import { SILENCE_EVENTS, type Silence } from '../alerts/silences.ts';

/** Which alerts: of a rule, and of those perhaps only the ones about a layer or a metric. */
export type AlertSelection = {
  readonly ruleId: string;
  /** Only alerts about this layer. Default: all. */
  readonly moduleName?: string | null | undefined;
  /** Only alerts about this metric. Default: all. */
  readonly metricKey?: string | null | undefined;
};

/** What to silence, and why. */
export type SilenceOptions = AlertSelection & {
  /** Why: it stands in the report. At most 512 characters on one line. */
  readonly reason: string;
  /** Who says so. Default: nobody is named. */
  readonly by?: string | null | undefined;
  /** Until when: ISO 8601 text, a Date or UTC epoch milliseconds. Default: for ever. */
  readonly until?: string | number | Date | null | undefined;
  /** Default `silence`: the alert lowers no score. `acknowledge`: it is known, and counts as before. */
  readonly kind?: 'silence' | 'acknowledge' | undefined;
};

const labelOrNull = (field: string, value: string | null | undefined): string | null =>
  isGiven(value) ? checkLabel(field, value) : null;

const selectionRules = {
  ruleId: checkLabel,
  moduleName: (field: string, value: string | null | undefined) =>
    isGiven(value) ? checkModuleName(field, value) : null,
  metricKey: labelOrNull,
};

/** @throws {QuarkError} `invalid_input` naming the option */
export async function silenceAlerts(run: AnalyzedRun, options: SilenceOptions): Promise<Silence> {
  const checked = readOptions('options', options, {
    ...selectionRules,
    reason: checkLabel,
    by: labelOrNull,
    until: (field: string, value: SilenceOptions['until']) =>
      isGiven(value) ? new Date(checkInstant(field, value)).toISOString() : null,
    kind: literal(['silence', 'acknowledge'], 'silence'),
  });
  const { kind, ...said } = checked;
  const atMs = run.clock.now();
  const { by, reason, until } = said;
  await storeEvent(run, SILENCE_EVENTS[kind], atMs, { ...payloadOf(said), reason, by, until });
  return { ...said, kind, atMs };
}

/** @throws {QuarkError} `invalid_input` naming the option */
export async function unsilenceAlerts(run: AnalyzedRun, options: AlertSelection): Promise<void> {
  const checked = readOptions('options', options, selectionRules);
  await storeEvent(run, SILENCE_EVENTS.undo, run.clock.now(), payloadOf(checked));
}

function payloadOf({ metricKey, moduleName, ruleId }: Required<AlertSelection>) {
  return {
    rule_id: ruleId,
    module_name: moduleName ?? null,
    metric_key: metricKey ?? null,
  };
}
