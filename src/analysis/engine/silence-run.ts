/** Silencing alerts of a stored run. */
import { checkInstant, isGiven } from '../../base/assert.ts';
import { checkLabel, checkModuleName } from '../../base/names.ts';
import { literal, readOptions } from '../../base/options.ts';
import { silenceAlerts, unsilenceAlerts } from '../../read/silences.ts';
import { SILENCE_KINDS, type Silence } from '../../records/shapes/silence.ts';
import type { AnalyzedRun } from '../evaluate/stored-results.ts';

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
export async function silenceRun(run: AnalyzedRun, options: SilenceOptions): Promise<Silence> {
  const silence = readOptions('options', options, {
    ...selectionRules,
    reason: checkLabel,
    by: labelOrNull,
    until: (field: string, value: SilenceOptions['until']) =>
      isGiven(value) ? new Date(checkInstant(field, value)).toISOString() : null,
    kind: literal(SILENCE_KINDS, 'silence'),
  });
  return silenceAlerts(run, silence, run.clock.now());
}

/** @throws {QuarkError} `invalid_input` naming the option */
export async function unsilenceRun(run: AnalyzedRun, options: AlertSelection): Promise<void> {
  await unsilenceAlerts(run, readOptions('options', options, selectionRules), run.clock.now());
}
