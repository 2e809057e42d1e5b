/** `quark show RUN`: everything a run says about itself. */
import { hasTimes, type ArtifactRecord, type RunReader } from '../../index.ts';
import { readDownsampling, type RunDownsampling } from '../../node.ts';
import {
  readOverhead,
  readProfiles,
  readProgress,
  type OverheadReport,
  readTimers,
  type RunProgress,
  type TimerStatistics,
} from '../../profiler.ts';
import {
  EXIT,
  findRunByPrefix,
  JSON_OPTION,
  jsonText,
  statusStyle,
  STORAGE_OPTIONS,
  summaryJson,
  withStore,
  type Command,
} from '../support/command.ts';
import { columns } from '../support/args.ts';
import { progressJson, progressText } from '../support/run-progress.ts';
import { counted, localTime, onTerminal, shortNumber, table, type Style } from '../support/text.ts';

export const showCommand: Command = {
  spec: {
    name: 'show',
    summary: 'Show one run: state, configuration, environment.',
    positionals: ['RUN'],
    options: { ...STORAGE_OPTIONS, json: JSON_OPTION },
  },
  run: ({ io, args, style }) =>
    withStore({ io, args }, async (store) => {
      const reader = await findRunByPrefix(store, args.positionals[0] ?? '');
      const metricKeys = await reader.metricKeys();
      const artifacts = countTypes(await reader.readArtifacts());
      const superseded = await reader.supersededRows();
      const thinning = await readDownsampling(reader.store, reader.run.id);
      const progress = await readProgress(reader);
      const overhead = await readOverhead(reader);
      const timers = await readTimers(reader);
      const profiles = (await readProfiles(reader)).length;
      if (args.flag('json')) {
        const rest = {
          ...(Object.keys(artifacts).length === 0 ? {} : { artifacts }),
          ...(hasShare(progress) ? { progress: progressJson(progress) } : {}),
          ...(overhead === undefined ? {} : { overhead: overheadJson(overhead) }),
          ...(timers.length === 0 ? {} : { timers: timers.map(timerJson) }),
          ...(profiles === 0 ? {} : { profile_count: profiles }),
          ...(superseded === 0 ? {} : { superseded_rows: superseded }),
          ...(thinning === undefined ? {} : { downsampled: downsamplingJson(thinning) }),
        };
        await io.stdout.write(
          jsonText({ ...summaryJson(reader), metric_keys: metricKeys, ...rest }),
        );
      } else
        await io.stdout.write(
          describe(
            reader,
            { artifacts, metricKeys, overhead, progress, profiles, superseded, thinning, timers },
            style,
          ),
        );
      return EXIT.ok;
    }),
};

type Found = {
  /** How many artifacts of each type there are. */
  readonly artifacts: Readonly<Record<string, number>>;
  readonly metricKeys: readonly string[];
  readonly superseded: number;
  readonly thinning: RunDownsampling | undefined;
  readonly overhead: OverheadReport | undefined;
  readonly progress: RunProgress | undefined;
  readonly timers: readonly TimerStatistics[];
  /** How many profiles the run has. */
  readonly profiles: number;
};

function countTypes(records: readonly ArtifactRecord[]): Readonly<Record<string, number>> {
  const counts = new Map<string, number>();
  for (const { artifactType } of records)
    counts.set(artifactType, (counts.get(artifactType) ?? 0) + 1);
  return Object.fromEntries([...counts].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** Whether the run says how long it is. */
function hasShare(progress: RunProgress | undefined): progress is RunProgress {
  return progress !== undefined && progress.share !== null;
}

function timerJson(timer: TimerStatistics): object {
  return {
    name: timer.name,
    count: timer.count,
    skipped: timer.skipped,
    total_ms: timer.totalMs,
    mean_ms: timer.meanMs,
    std_ms: timer.stdMs,
    min_ms: timer.minMs,
    max_ms: timer.maxMs,
    p50_ms: timer.p50Ms,
    p90_ms: timer.p90Ms,
    p99_ms: timer.p99Ms,
  };
}

function timerTable(timers: readonly TimerStatistics[], style: Style): string {
  const ms = (pick: (timer: TimerStatistics) => number) => (timer: TimerStatistics) =>
    shortNumber(pick(timer));
  return table<TimerStatistics>(
    [
      { title: 'TIMER (ms)', cell: ({ name }) => name },
      { title: 'COUNT', cell: ({ count }) => String(count), align: 'right' },
      { title: 'MEAN', cell: ms((one) => one.meanMs), align: 'right' },
      { title: 'STD', cell: ms((one) => one.stdMs), align: 'right' },
      { title: 'MIN', cell: ms((one) => one.minMs), align: 'right' },
      { title: 'P50', cell: ms((one) => one.p50Ms), align: 'right' },
      { title: 'P90', cell: ms((one) => one.p90Ms), align: 'right' },
      { title: 'MAX', cell: ms((one) => one.maxMs), align: 'right' },
      { title: 'TOTAL', cell: ms((one) => one.totalMs), align: 'right' },
    ],
    timers,
    undefined,
    style,
  );
}

function downsamplingJson({ atMs, pointsPerMetric, rows, rowsBefore }: RunDownsampling): object {
  return {
    points_per_metric: pointsPerMetric,
    rows_before: rowsBefore,
    rows,
    at: new Date(atMs).toISOString(),
  };
}

function overheadJson(overhead: OverheadReport): object {
  const { budget, share, spentMs, telemetrySlowdown, trainingMs } = overhead;
  return {
    budget,
    share,
    training_ms: trainingMs,
    spent_ms: spentMs,
    telemetry_slowdown: telemetrySlowdown,
  };
}

/** `2.1 % of the training time (at most 3 %): probes 1.2 %, callback 0.5 %, ...`, the largest part first. */
function overheadText({ budget, share, spentMs, trainingMs }: OverheadReport): string {
  const percent = (part: number): string => `${(100 * part).toFixed(1)} %`;
  const parts = Object.entries(spentMs)
    .filter(([, ms]) => ms >= 0.0005 * trainingMs)
    .toSorted(([, a], [, b]) => b - a)
    .map(([part, ms]) => `${part} ${percent(ms / trainingMs)}`);
  const all = `${percent(share)} of the training time (at most ${percent(budget)})`;
  return parts.length === 0 ? all : `${all}: ${parts.join(', ')}`;
}

function downsamplingText({ atMs, pointsPerMetric, rows, rowsBefore }: RunDownsampling): string {
  const when = localTime(new Date(atMs).toISOString());
  return `to ${counted(pointsPerMetric, 'point')} a metric: ${rows} of ${rowsBefore} rows are left, ${when}`;
}

function describe(
  reader: RunReader,
  { artifacts, metricKeys, overhead, profiles, progress, superseded, thinning, timers }: Found,
  style: Style,
): string {
  const { run, effectiveStatus } = reader;
  const rows: [string, string][] = [
    ...namesOf(run),
    ['status', statusStyle(style, effectiveStatus)(effectiveStatus)],
    ...optionalRow('reason', run.statusReason),
    ['started', hasTimes(run) ? localTime(run.startedAt) : '-'],
    ['ended', run.endedAt === null || !hasTimes(run) ? '-' : localTime(run.endedAt)],
    ['tags', run.tags.length === 0 ? '-' : onTerminal(run.tags.join(', '))],
    ...(typeof run.environment['step_unit'] === 'string'
      ? [['steps', `counted in ${onTerminal(run.environment['step_unit'])}`] as [string, string]]
      : []),
    ['resumed', `${run.resumeCount} times`],
    ...(superseded === 0
      ? []
      : [
          ['superseded', `${superseded} rows, written after the run was taken over`] as [
            string,
            string,
          ],
        ]),
    ...optionalRow('downsampled', thinning === undefined ? null : downsamplingText(thinning)),
    ...(hasShare(progress)
      ? [['progress', progressText(progress, reader.isLive)] as [string, string]]
      : []),
    ...optionalRow('overhead', overhead === undefined ? null : overheadText(overhead)),
    ...(profiles === 0
      ? []
      : [
          ['profile', `${counted(profiles, 'profile')}: quark profile ${run.id}`] as [
            string,
            string,
          ],
        ]),
    ['parent run', onTerminal(run.parentRunId ?? '-')],
    ...optionalRow('configuration', configurationOf(run)),
    ['git commit', onTerminal(run.gitCommit ?? '-')],
    ['files', onTerminal(run.runPath)],
  ];
  const parts = [
    `${style.bold(run.id)}\n${columns(rows)}`,
    section('Configuration', run.config, style),
    section('Summary', run.summary, style),
    section('Metadata', run.metadata, style),
    section('Environment', run.environment, style),
    section('Artifacts', artifacts, style),
    run.notes === null ? '' : `${style.bold('Notes')}\n${onTerminal(run.notes)}\n`,
  ];
  if (metricKeys.length > 0)
    parts.push(
      `${style.bold('Metrics')}\n${columns(metricKeys.map((key) => [onTerminal(key), valuesOf(run.metricSummaries[key])]))}`,
    );
  if (timers.length > 0) parts.push(timerTable(timers, style));
  return parts.filter((part) => part !== '').join('\n');
}

function namesOf(run: RunReader['run']): readonly [string, string][] {
  return [
    ...optionalRow('name', run.name),
    ...optionalRow('description', run.description),
    ['project', onTerminal(run.projectName)],
    ...optionalRow('job type', run.jobType),
    ...optionalRow('groups', run.groups.length === 0 ? null : run.groups.join(', ')),
  ];
}

function configurationOf({ configHash, configRevision }: RunReader['run']): string | null {
  if (configHash === null) return null;
  const revision = configRevision === null ? '' : `, revision ${configRevision}`;
  return `${configHash.slice(0, 12)}${revision}`;
}

function optionalRow(title: string, value: string | null): readonly [string, string][] {
  return value === null ? [] : [[title, onTerminal(value)]];
}

/** The last and the best value of a metric, as far as the run remembers them. */
function valuesOf(summary: unknown): string {
  if (typeof summary !== 'object' || summary === null) return '';
  const part = (name: string): readonly string[] => {
    const value: unknown = Reflect.get(summary, name);
    if (typeof value === 'number') return [`${name} ${shortNumber(value)}`];
    return typeof value === 'string' ? [`${name} ${value}`] : [];
  };
  return [...part('last'), ...part('best')].join(', ');
}

function section(title: string, values: Readonly<Record<string, unknown>>, style: Style): string {
  const rows = Object.entries(values).map(([key, value]): [string, string] => [
    onTerminal(key),
    onTerminal(typeof value === 'string' ? value : JSON.stringify(value)),
  ]);
  return rows.length === 0 ? '' : `${style.bold(title)}\n${columns(rows)}`;
}
