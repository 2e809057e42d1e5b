/** The closed sets of abiotic-quark. Each array is the run-time form of the union type beside it. */

/** Every {@link RunStatus}. */
export const RUN_STATUSES = ['running', 'completed', 'failed', 'interrupted'] as const;
/** Status of a run. */
export type RunStatus = (typeof RUN_STATUSES)[number];

/** Every {@link TerminalRunStatus}. */
export const TERMINAL_RUN_STATUSES = ['completed', 'failed', 'interrupted'] as const;
/** Status a run can end with. */
export type TerminalRunStatus = (typeof TERMINAL_RUN_STATUSES)[number];

/** Every {@link EventSeverity}. */
export const EVENT_SEVERITIES = ['debug', 'info', 'warning', 'error', 'critical'] as const;
/** How serious an event is. */
export type EventSeverity = (typeof EVENT_SEVERITIES)[number];

/** Every {@link LogIdentifier}. */
export const LOG_IDENTIFIERS = ['Info', 'Warning', 'Error'] as const;
/** Kind of a log message. */
export type LogIdentifier = (typeof LOG_IDENTIFIERS)[number];

/** Every {@link AlertSeverity}. */
export const ALERT_SEVERITIES = ['info', 'warning', 'error', 'critical'] as const;
/** How serious an alert is. */
export type AlertSeverity = (typeof ALERT_SEVERITIES)[number];

/** Every {@link AlertCategory}. */
export const ALERT_CATEGORIES = [
  'optimization',
  'representation',
  'generalization',
  'runtime',
] as const;
/** What an alert is about. */
export type AlertCategory = (typeof ALERT_CATEGORIES)[number];

/** Every {@link HealthScoreKey}. */
export const HEALTH_SCORE_KEYS = [
  'overall',
  'optimization',
  'representation',
  'generalization',
  'runtime',
] as const;
/** What a health score is about. */
export type HealthScoreKey = (typeof HEALTH_SCORE_KEYS)[number];

/** Every {@link HealthStatus}. */
export const HEALTH_STATUSES = [
  'healthy',
  'watch',
  'degraded',
  'critical',
  'not_assessed',
] as const;
/** What a health score means. `not_assessed`: there was nothing to judge by, and the score is null. */
export type HealthStatus = (typeof HEALTH_STATUSES)[number];

/** Every {@link TelemetryBoundary}. */
export const TELEMETRY_BOUNDARIES = ['step', 'time'] as const;
/** What a telemetry record belongs to: a training step, or a point in time. */
export type TelemetryBoundary = (typeof TELEMETRY_BOUNDARIES)[number];

/** Every {@link LayerSummaryType}. */
export const LAYER_SUMMARY_TYPES = ['activation', 'gradient'] as const;
/** What a layer summary describes. */
export type LayerSummaryType = (typeof LAYER_SUMMARY_TYPES)[number];

/** Every {@link HookDirection}. */
export const HOOK_DIRECTIONS = ['forward', 'backward'] as const;
/** The pass in which a layer summary was captured. */
export type HookDirection = (typeof HOOK_DIRECTIONS)[number];

/** Every {@link ParameterRole}. */
export const PARAMETER_ROLES = ['weight', 'bias', 'other'] as const;
/** What a parameter is to its layer. */
export type ParameterRole = (typeof PARAMETER_ROLES)[number];

/** Every {@link ParameterDistributionType}. */
export const PARAMETER_DISTRIBUTION_TYPES = ['value', 'gradient', 'update'] as const;
/** What a parameter histogram counts. */
export type ParameterDistributionType = (typeof PARAMETER_DISTRIBUTION_TYPES)[number];

/** Every {@link ArtifactPayloadFormat}. */
export const ARTIFACT_PAYLOAD_FORMATS = ['json', 'text', 'bytes'] as const;
/** How an artifact's payload is stored. */
export type ArtifactPayloadFormat = (typeof ARTIFACT_PAYLOAD_FORMATS)[number];

/** Every {@link PhaseName}. */
export const PHASE_NAMES = [
  'initialization_adaptation',
  'rapid_learning',
  'stabilization',
  'stagnation',
  'overfitting_onset',
  'divergence',
] as const;
/** A training regime. */
export type PhaseName = (typeof PHASE_NAMES)[number];
