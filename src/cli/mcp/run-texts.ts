/** Runs as an assistant reads them. */
import {
  hasTimes,
  type JsonObject,
  type JsonValue,
  type RunRecord,
  type RunStatus,
} from '../../index.ts';
import { shownNumber, shownText } from './tool.ts';

const SHOWN_METRICS = 100;

/** What is known of a run by a list, or by a reader. */
type KnownRun = {
  readonly run: RunRecord;
  readonly effectiveStatus: RunStatus;
  readonly archivedAtMs?: number | undefined;
};

/** One line of a list of runs. */
export function runLine(summary: KnownRun): JsonObject {
  const { effectiveStatus, run } = summary;
  return {
    run: run.id,
    ...(run.name !== null && { name: shownText(run.name, 200) }),
    project: run.projectName,
    status: effectiveStatus,
    ...(hasTimes(run) && { started: run.startedAt }),
    ...(run.groups.length > 0 && { groups: run.groups }),
    ...(run.tags.length > 0 && { tags: run.tags }),
    ...(summary.archivedAtMs !== undefined && { archived: true }),
  };
}

/** A run with its configuration and the summaries of its metrics. */
export function runText(summary: KnownRun): JsonObject {
  const { run } = summary;
  const metrics = Object.entries(run.metricSummaries);
  return {
    ...runLine(summary),
    ...(hasTimes(run) && { ended: run.endedAt }),
    ...(run.description !== null && { description: shownText(run.description) }),
    ...(run.notes !== null && { notes: shownText(run.notes) }),
    ...(run.parentRunId !== null && { parent: run.parentRunId }),
    ...(run.gitCommit !== null && { git_commit: run.gitCommit }),
    config: shownJson(run.config),
    summary: shownJson(run.summary),
    metrics: Object.fromEntries(
      metrics.slice(0, SHOWN_METRICS).map(([key, value]) => [key, shownJson(value)]),
    ),
    ...(metrics.length > SHOWN_METRICS && { metrics_left_out: metrics.length - SHOWN_METRICS }),
  };
}

const MOST_ENTRIES = 200;

/** JSON with short numbers and bounded texts and lists. */
export function shownJson(value: JsonValue): JsonValue {
  if (typeof value === 'number') return shownNumber(value);
  if (typeof value === 'string') return shownText(value, 500);
  if (value === null || typeof value !== 'object') return value;
  if (isList(value)) return value.slice(0, MOST_ENTRIES).map(shownJson);
  return Object.fromEntries(
    Object.entries(value)
      .slice(0, MOST_ENTRIES)
      .map(([name, one]) => [name, shownJson(one)]),
  );
}

function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}
