/** Names in query lines and columns, and the paths of values that they stand for. */
import { invalidInput } from '../../base/errors.ts';
import { ALERT_SEVERITIES } from '../../records/literals.ts';
import { metricOfPath, pathOfMetric, FACT_STATISTICS } from '../../records/run-paths.ts';

/** What the values of a field are. */
export type RunFieldKind = 'text' | 'number' | 'time' | 'duration';

/** A field of runs: its path, what its values are, and what it says. */
export type RunField = {
  readonly path: string;
  readonly kind: RunFieldKind;
  readonly detail: string;
  /** Other names for it. */
  readonly names?: readonly string[];
};

/** The fields that every run can have. */
export const RUN_FIELDS: readonly RunField[] = [
  { path: 'name', kind: 'text', detail: 'Name of the run' },
  { path: 'status', kind: 'text', detail: 'running, completed, failed or interrupted' },
  { path: 'tags', names: ['tag'], kind: 'text', detail: 'A tag of the run' },
  { path: 'groups', names: ['group'], kind: 'text', detail: 'A group of the run' },
  { path: 'project', kind: 'text', detail: 'Name of the project' },
  { path: 'id', kind: 'text', detail: 'Identifier of the run' },
  {
    path: 'startedAt',
    names: ['started', 'created'],
    kind: 'time',
    detail: 'When the run was started',
  },
  { path: 'endedAt', names: ['ended'], kind: 'time', detail: 'When the run ended' },
  { path: 'updatedAt', names: ['updated'], kind: 'time', detail: 'When the run was last changed' },
  {
    path: 'durationMs',
    names: ['duration'],
    kind: 'duration',
    detail: 'From the start to the end',
  },
  { path: 'jobType', names: ['job'], kind: 'text', detail: 'What the run does' },
  { path: 'host', kind: 'text', detail: 'Name of the machine' },
  { path: 'statusReason', names: ['reason'], kind: 'text', detail: 'Why the run ended as it did' },
  { path: 'problem', kind: 'text', detail: 'Why the record of the run cannot be read' },
  { path: 'health', kind: 'number', detail: 'Overall score of the last analysis, 0 to 100' },
  { path: 'alerts', kind: 'number', detail: 'Alerts of the last analysis' },
  ...ALERT_SEVERITIES.map((severity): RunField => ({
    path: `alerts.${severity}`,
    kind: 'number',
    detail: `Alerts of the last analysis that are ${severity}`,
  })),
  { path: 'notes', kind: 'text', detail: 'Notes on the run' },
  { path: 'description', kind: 'text', detail: 'What the run is about' },
  { path: 'parentRunId', names: ['parent'], kind: 'text', detail: 'The run it was started from' },
  { path: 'gitCommit', names: ['commit'], kind: 'text', detail: 'Commit of the program' },
  { path: 'configHash', kind: 'text', detail: 'Hash of the configuration' },
  { path: 'configRevision', kind: 'number', detail: 'Which run of this configuration it is' },
];

const BY_NAME: ReadonlyMap<string, RunField> = new Map(
  RUN_FIELDS.flatMap((field) =>
    [field.path, ...(field.names ?? [])].map((name): [string, RunField] => [name, field]),
  ),
);

/** What values are under, by name. */
export const OBJECTS = ['config', 'metadata', 'summary', 'tags', 'metrics'] as const;

/** The field of a name; undefined where it is none. */
export function fieldNamed(name: string): RunField | undefined {
  return BY_NAME.get(name);
}

/** Whether a name begins as values are named: with `config.`, `metrics.`, .... */
export function isUnderObject(name: string): boolean {
  return OBJECTS.some((one) => name.startsWith(`${one}.`) && name.length > one.length + 1);
}

/**
 * The paths that a name may stand for: one, or several where it does not say whether it is of the configuration or of the results. A
 * metric without a statistic is its last value.
 */
export function pathsOf(name: string): readonly string[] {
  const field = fieldNamed(name);
  if (field !== undefined) return [field.path];
  if (name.startsWith('metrics.'))
    return [metricOfPath(name) === undefined ? `${name}.last` : name];
  if (isUnderObject(name)) return [name];
  const [key, statistic] = statisticOf(name);
  if (statistic !== undefined) return [pathOfMetric(key, statistic)];
  if (name.includes('/')) return [pathOfMetric(name, 'last'), `config.${name}`];
  return [`config.${name}`, pathOfMetric(name, 'last'), `summary.${name}`, `metadata.${name}`];
}

function statisticOf(name: string): readonly [string, (typeof FACT_STATISTICS)[number]?] {
  const cut = name.lastIndexOf('.');
  const found = FACT_STATISTICS.find((one) => one === name.slice(cut + 1));
  return cut > 0 && found !== undefined ? [name.slice(0, cut), found] : [name];
}

/**
 * The path of a column: `val/loss.best` is short for `metrics.val/loss.best`, and `loss` for `metrics.loss.last`.
 *
 * @throws {QuarkError} `invalid_input`
 */
export function columnPath(name: string): string {
  if (typeof name !== 'string' || name === '' || name.length > 512)
    throw invalidInput('column', name, 'the path of a value, such as "config.lr"');
  const field = fieldNamed(name);
  if (field !== undefined) return field.path;
  if (isUnderObject(name)) return pathsOf(name)[0] ?? name;
  const [key, statistic = 'last'] = statisticOf(name);
  return pathOfMetric(key, statistic);
}
