/** Which alerts were silenced or acknowledged: an alert is known again by its rule, its layer and its metric. */
import type { AlertRecord } from '../../records/alert.ts';
import { isSilenceEvent, silencesOfEvents } from '../../records/silence.ts';
import type { Silence } from '../../records/shapes/silence.ts';
import type { EventColumns } from '../columns/run-columns.ts';

/** What an alert is known again by. */
export type AlertIdentity = {
  readonly ruleId: string;
  /** The layer or the parameter's layer that the alert is about; null for none. */
  readonly moduleName: string | null;
  /** The metric that the alert is about; null for none. */
  readonly metricKey: string | null;
};

/** An alert that was silenced or acknowledged. */
export type SilencedAlert = { readonly alert: AlertRecord; readonly silence: Silence };

/**
 * The identity of an alert: its rule, and the layer and the metric of its first evidence.
 *
 * @example
 * ```js
 * import { alertIdentity, analyzeColumns, createMetricSeries, createRunColumns } from 'quark-sdk/analysis';
 *
 * const values = Float64Array.from({ length: 100 }, (_, step) => (step < 60 ? 1 / (step + 1) : Number.NaN));
 * const loss = createMetricSeries('train/loss', { steps: values.map((_, step) => step), values });
 * const { alerts } = analyzeColumns(createRunColumns({ metrics: [loss] }));
 * console.log(alertIdentity(alerts[0])); // { ruleId: 'non_finite', moduleName: null, metricKey: 'train/loss' }
 * ```
 */
export function alertIdentity({
  evidence,
  ruleId,
}: Pick<AlertRecord, 'evidence' | 'ruleId'>): AlertIdentity {
  const [first]: readonly unknown[] = Array.isArray(evidence) ? evidence : [];
  const isMetric = fieldOf(first, 'kind') === 'metric';
  return {
    ruleId,
    moduleName: textOrNull(fieldOf(fieldOf(first, 'metadata'), 'module_name')),
    metricKey: isMetric ? textOrNull(fieldOf(first, 'source')) : null,
  };
}

/** When something was said of alerts last, or taken back, in UTC epoch milliseconds; -Infinity for never. */
export function lastSaidMs({ eventTypes, timesMs }: EventColumns): number {
  let last = Number.NEGATIVE_INFINITY;
  eventTypes.forEach((eventType, row) => {
    if (isSilenceEvent(eventType)) last = Math.max(last, timesMs[row] ?? last);
  });
  return last;
}

/** The silences that the events of a run leave, in the order they were said; those that have ended included. */
export function silencesOf({ eventTypes, payloads, timesMs }: EventColumns): readonly Silence[] {
  return silencesOfEvents(
    eventTypes.flatMap((eventType, row) =>
      isSilenceEvent(eventType)
        ? [{ eventType, timeMs: timesMs[row] ?? 0, payload: JSON.parse(payloads[row] ?? '{}') }]
        : [],
    ),
  );
}

/**
 * What was said of an alert and holds now; of several the silence, and else the last. Undefined where nothing was said.
 *
 * @param silences those of the run, as `AnalyzerEngine.readSilences` gives them
 * @param nowMs UTC epoch milliseconds: silences that have ended by then do not count
 * @example
 * ```js
 * import { MetricsLogger, TrainingSession } from 'quark-sdk';
 * import { AnalyzerEngine, silenceOf } from 'quark-sdk/analysis';
 *
 * await TrainingSession.run({ project: 'digits', storageDir: 'quark-runs' }, async (session) => {
 *   const metrics = new MetricsLogger(session);
 *   for (let step = 0; step < 100; step++) metrics.log('train/loss', step < 60 ? 1 / (step + 1) : Number.NaN, { step });
 *   const engine = new AnalyzerEngine(session);
 *   await engine.silence({ ruleId: 'non_finite', reason: 'Known: the rate was too high.', by: 'Ada' });
 *   const [alert] = (await engine.analyze()).alerts;
 *   const silence = silenceOf(alert, await engine.readSilences(), Date.now());
 *   console.log(silence.kind, silence.reason); // silence Known: the rate was too high.
 * });
 * ```
 */
export function silenceOf(
  alert: Pick<AlertRecord, 'evidence' | 'ruleId'>,
  silences: readonly Silence[],
  nowMs: number,
): Silence | undefined {
  const identity = alertIdentity(alert);
  const matching = silences.filter(
    ({ metricKey, moduleName, ruleId, until }) =>
      ruleId === identity.ruleId &&
      (moduleName === null || moduleName === identity.moduleName) &&
      (metricKey === null || metricKey === identity.metricKey) &&
      (until === null || Date.parse(until) > nowMs),
  );
  return matching.findLast(({ kind }) => kind === 'silence') ?? matching.at(-1);
}

/** The alerts that something was said of, each with that. */
export function silencedAlerts(
  alerts: readonly AlertRecord[],
  silences: readonly Silence[],
  nowMs: number,
): readonly SilencedAlert[] {
  if (silences.length === 0) return [];
  return alerts.flatMap((alert) => {
    const silence = silenceOf(alert, silences, nowMs);
    return silence === undefined ? [] : [{ alert, silence }];
  });
}

/**
 * The alerts that were not silenced, in their order: what a verdict and groups are made of. Those that were only acknowledged are among them.
 *
 * @param silenced what was said of these alerts, as the `silenced` of an analysis
 * @example
 * ```js
 * import { MetricsLogger, TrainingSession } from 'quark-sdk';
 * import { AnalyzerEngine, audibleAlerts, groupAlerts } from 'quark-sdk/analysis';
 *
 * await TrainingSession.run({ project: 'digits', storageDir: 'quark-runs' }, async (session) => {
 *   const metrics = new MetricsLogger(session);
 *   for (let step = 0; step < 100; step++) metrics.log('train/loss', step < 60 ? 1 / (step + 1) : Number.NaN, { step });
 *   const engine = new AnalyzerEngine(session);
 *   await engine.silence({ ruleId: 'non_finite', reason: 'Known: the rate was too high.', by: 'Ada' });
 *   const { alerts, silenced } = await engine.analyze();
 *   console.log(silenced.length, groupAlerts(audibleAlerts(alerts, silenced)).map(({ cause }) => cause.ruleId));
 * });
 * ```
 */
export function audibleAlerts(
  alerts: readonly AlertRecord[],
  silenced: readonly SilencedAlert[],
): readonly AlertRecord[] {
  const quiet = new Set(
    silenced.filter(({ silence }) => silence.kind === 'silence').map(({ alert }) => alert.id),
  );
  return quiet.size === 0 ? alerts : alerts.filter(({ id }) => !quiet.has(id));
}

/** Who silenced an alert, why and until when, as a sentence. */
export function saySilence({ by, kind, reason, until }: Silence): string {
  const what = kind === 'silence' ? 'Silenced' : 'Acknowledged';
  const who = by === null ? '' : ` by ${by}`;
  const end = until === null ? '' : ` until ${until.slice(0, 16).replace('T', ' ')}`;
  return `${what}${who}${end}: ${reason}`;
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}
