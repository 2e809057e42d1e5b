/** Alerts of one cause as one: the cause, with its consequences beneath it. */
import type { AlertRecord } from '../../records/alert.ts';
import { ALERT_SEVERITIES, type AlertSeverity } from '../../records/literals.ts';

/** A cause and what follows from it. */
export type AlertGroup<A = AlertRecord> = {
  readonly cause: A;
  /** The worst severity of the cause and its consequences. */
  readonly severity: AlertSeverity;
  /** In the order of the analysis; empty where the cause is all there is. */
  readonly consequences: readonly A[];
};

/**
 * What a fault leads to, by the rule that finds it: the consequence has the same cause, wherever both are found. A reward that falls
 * leads to nothing that is certain: what the losses of a policy do beside it has causes of its own.
 */
const LEADS_TO: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  Object.entries({
    input_not_normalised: `poor_initialization update_ratio_high loss_divergence exploding_gradients
      dying_relu activation_collapse non_finite loss_not_decreasing oscillating_loss loss_spike grad_spike`,
    data_leakage: 'suspicious_validation',
    sorted_samples: 'oscillating_loss loss_spike grad_spike',
    unrelated_labels: 'suspicious_validation overfitting_onset plateau',
    poor_initialization: `exploding_gradients dying_relu gradient_depth_ratio vanishing_gradients
      activation_collapse stagnant_layers loss_not_decreasing plateau loss_spike grad_spike`,
    regularisation_overwhelms: 'update_ratio_low loss_not_decreasing plateau activation_collapse',
    update_ratio_high: `loss_divergence reward_decline exploding_gradients oscillating_loss dying_relu
      activation_collapse non_finite loss_not_decreasing loss_spike grad_spike`,
    exploding_gradients: 'loss_divergence non_finite loss_spike grad_spike oscillating_loss',
    non_finite: `loss_divergence reward_decline exploding_gradients dying_relu activation_collapse
      loss_spike grad_spike loss_not_decreasing plateau nothing_recorded`,
    loss_divergence: 'loss_spike grad_spike oscillating_loss overfitting_onset plateau',
    dying_relu: `activation_collapse vanishing_gradients unchanged_parameters update_ratio_low stagnant_layers
      loss_not_decreasing plateau`,
    gradient_depth_ratio: 'vanishing_gradients stagnant_layers',
    vanishing_gradients: 'stagnant_layers update_ratio_low loss_not_decreasing plateau',
    unchanged_parameters: 'update_ratio_low stagnant_layers loss_not_decreasing plateau',
    update_ratio_low: 'stagnant_layers loss_not_decreasing plateau',
    activation_collapse: 'stagnant_layers loss_not_decreasing plateau',
    grad_spike: 'loss_spike',
    loss_not_decreasing: 'plateau',
    overfitting_onset: 'plateau',
    memory_growth: 'run_end',
    nothing_recorded: 'stalled_run',
    run_end: 'stalled_run nothing_recorded',
    data_loading_bottleneck: 'runtime_bottleneck_risk step_time_outlier',
    runtime_bottleneck_risk: 'step_time_outlier',
  }).map(([cause, consequences]) => [cause, consequences.split(/\s+/u)]),
);

/**
 * Alerts by their causes, the worst group first; of equals the cause that comes first. Each alert is in one group, once.
 *
 * @param alerts in the order of the analysis: causes before consequences, remarks last
 * @example
 * ```js
 * import { analyzeColumns, createMetricSeries, createRunColumns, groupAlerts } from 'quark-sdk/analysis';
 *
 * const values = Float64Array.from({ length: 100 }, (_, step) => (step < 60 ? 1 / (step + 1) : Number.NaN));
 * const loss = createMetricSeries('train/loss', { steps: values.map((_, step) => step), values });
 * const { alerts } = analyzeColumns(createRunColumns({ metrics: [loss] }));
 * for (const { cause, consequences, severity } of groupAlerts(alerts)) console.log(severity, cause.title, consequences.length);
 * ```
 */
export function groupAlerts<A extends Pick<AlertRecord, 'ruleId' | 'severity'>>(
  alerts: readonly A[],
): readonly AlertGroup<A>[] {
  const causes: { readonly cause: A; readonly consequences: A[] }[] = [];
  // A remark is never the cause of something worse.
  for (const alert of alerts) {
    const group = causes.find(
      ({ cause }) =>
        LEADS_TO[cause.ruleId]?.includes(alert.ruleId) === true &&
        (cause.severity !== 'info' || alert.severity === 'info'),
    );
    if (group === undefined) causes.push({ cause: alert, consequences: [] });
    else group.consequences.push(alert);
  }
  return causes
    .map(({ cause, consequences }) => ({
      cause,
      consequences,
      severity: worstOf([cause, ...consequences]),
    }))
    .toSorted((a, b) => rankOf(b.severity) - rankOf(a.severity));
}

function worstOf(alerts: readonly Pick<AlertRecord, 'severity'>[]): AlertSeverity {
  return alerts.reduce<AlertSeverity>(
    (worst, { severity }) => (rankOf(severity) > rankOf(worst) ? severity : worst),
    'info',
  );
}

function rankOf(severity: AlertSeverity): number {
  return ALERT_SEVERITIES.indexOf(severity);
}
