/** `quark analyze RUN|PATH`: alerts and health scores; `quark watch RUN`: alerts as they come. */
import {
  AnalyzerEngine,
  audibleAlerts,
  findHardBatches,
  groupAlerts,
  loadRunColumns,
  sayJudgedWith,
  sayRoles,
  tabulateHardBatches,
  type AlertGroup,
  type AlertWatch,
  type AnalyzerResult,
  type HardBatches,
} from '../../analysis.ts';
import { ALERT_SEVERITIES, type AlertRecord, type RunReader } from '../../index.ts';
import { checkSaves, PATTERN_OPTION, SOURCE_NOTE, withRuns } from '../support/analysis-source.ts';
import { CONFIG_OPTIONS, judging } from '../support/config.ts';
import {
  EXIT,
  findRunByPrefix,
  JSON_OPTION,
  jsonText,
  STORAGE_OPTIONS,
  withStore,
  type Command,
} from '../support/command.ts';
import type { CliIo } from '../support/io.ts';
import { ROLE_OPTIONS } from '../support/role-options.ts';
import { onTerminal, table, type Style } from '../support/text.ts';

export const analyzeCommand: Command = {
  spec: {
    name: 'analyze',
    summary: 'Say what is wrong with a run: alerts, health scores, hard batches and samples.',
    positionals: ['RUN|PATH...'],
    options: {
      ...STORAGE_OPTIONS,
      ...ROLE_OPTIONS,
      ...PATTERN_OPTION,
      ...CONFIG_OPTIONS,
      save: { kind: 'flag', help: 'Keep the result with the stored run.' },
      'fail-on': {
        kind: 'text',
        value: 'SEVERITY',
        choices: ALERT_SEVERITIES,
        help: 'Exit with 1 at an alert this severe or more.',
      },
      json: JSON_OPTION,
    },
    notes: [SOURCE_NOTE],
  },
  run: ({ io, args, style }) => {
    const failOn = args.text('fail-on');
    const least = ALERT_SEVERITIES.findIndex((severity) => severity === failOn);
    return withRuns({ io, args }, args.positionals, async (runs) => {
      const results: { result: AnalyzerResult; data: HardBatches | undefined }[] = [];
      const persist = checkSaves(args, runs, 'analyze');
      const settingsFor = await judging({ args, io });
      for (const { name, reader } of runs) {
        const columns = await loadRunColumns(reader);
        const settings = settingsFor(columns.metrics.keys());
        const result = await new AnalyzerEngine(reader, settings).analyze({ persist, columns });
        const data = columns.batches.rowCount === 0 ? undefined : findHardBatches(columns);
        results.push({ result, data });
        if (!args.flag('json')) {
          if (runs.length > 1) await io.stdout.write(`${style.bold(onTerminal(name))}\n`);
          await io.stdout.write(describe(result, io.stdout.columns, style));
          await io.stdout.write(describeData(data, io.stdout.columns, style));
        }
      }
      if (args.flag('json')) {
        const dicts = results.map(({ data, result }) => ({
          ...result.toDict(),
          groups: groupAlerts(heardOf(result)).map(groupDict),
          ...(data === undefined ? {} : { data: data.toDict() }),
        }));
        await io.stdout.write(jsonText(dicts.length === 1 ? dicts[0] : dicts));
      }
      const isBad = results.some(({ result }) =>
        heardOf(result).some(({ severity }) => ALERT_SEVERITIES.indexOf(severity) >= least),
      );
      return failOn !== undefined && isBad ? EXIT.failure : EXIT.ok;
    });
  },
};

/** The verdict, the findings by their causes, the worst first, and the scores. */
function describe(result: AnalyzerResult, width: number | undefined, style: Style): string {
  const overall = result.healthScores.find(({ scoreKey }) => scoreKey === 'overall');
  const headline = result.coverage.headline ?? overall?.summary ?? 'Not assessed.';
  const first = statusColor(style, overall?.status ?? 'not_assessed')(onTerminal(headline));
  const groups = groupAlerts(heardOf(result));
  const said = result.silenced.map(
    ({ alert, silence: { by, kind, reason } }) =>
      `${kind}d${by === null ? '' : ` by ${onTerminal(by)}`}: ${onTerminal(alert.title)} (${onTerminal(alert.ruleId)}): ${onTerminal(reason)}\n`,
  );
  const unjudged = result.problems.map(({ message }) => `not judged: ${onTerminal(message)}\n`);
  const notes = [...said, ...unjudged].join('');
  const scores = table(
    [
      { title: 'SCORE', cell: ({ scoreKey }) => scoreKey },
      {
        title: 'OF 100',
        cell: ({ score }) => (score === null ? '-' : String(Math.round(score))),
        align: 'right',
      },
      {
        title: 'STATUS',
        cell: ({ status }) => statusColor(style, status)(status.replace('_', ' ')),
      },
      { title: 'ASKED', cell: ({ scoreKey }) => askedText(result, scoreKey), align: 'right' },
    ],
    result.healthScores,
    width,
    style,
  );
  const found =
    groups.length > 0
      ? groups.map((group) => describeGroup(group, style)).join('\n')
      : result.alerts.length > 0
        ? 'All that was found is silenced.\n'
        : overall === undefined || overall.score === null
          ? ''
          : 'No alerts.\n';
  const judgedBy = sayRoles(result.roles);
  const by = judgedBy === '' ? '' : `Judged by ${onTerminal(judgedBy)}.\n`;
  const judgedWith = sayJudgedWith(result.judgedWith);
  const settings = judgedWith === '' ? '' : `Settings: ${onTerminal(judgedWith)}.\n`;
  return [`${first}\n`, `${by}${settings}`, found, scores, notes]
    .filter((part) => part !== '')
    .join('\n');
}

/** What nobody has silenced: the rest is named beneath, with the reason. */
function heardOf({ alerts, silenced }: AnalyzerResult): readonly AlertRecord[] {
  return audibleAlerts(alerts, silenced);
}

function groupDict({ cause, consequences, severity }: AlertGroup): object {
  return {
    severity,
    cause_alert_id: cause.id,
    consequence_alert_ids: consequences.map(({ id }) => id),
  };
}

function askedText({ coverage }: AnalyzerResult, key: string): string {
  const one = coverage.scores.find(({ scoreKey }) => scoreKey === key);
  return one === undefined ? '' : `${one.askedCount} of ${one.askedCount + one.openCount}`;
}

function describeGroup({ cause, consequences, severity }: AlertGroup, style: Style): string {
  const { fact, inference, ruleId, title } = cause;
  const head = `${severityColor(style, severity)(severity)} ${style.bold(onTerminal(title))} (${ruleId})`;
  const after = consequences.map(
    (one) => `  - ${one.severity}: ${onTerminal(one.fact)} (${one.ruleId})\n`,
  );
  const follows = after.length === 0 ? '' : `  What follows from it:\n${after.join('')}`;
  return `${head}\n  ${onTerminal(fact)}\n  ${onTerminal(inference)}\n${follows}`;
}

function describeData(
  data: HardBatches | undefined,
  width: number | undefined,
  style: Style,
): string {
  if (data === undefined) return '';
  return tabulateHardBatches(data)
    .map(({ columns, note, rows, title }) => {
      const shown = columns.map((column, at) => ({
        title: column.title.toUpperCase(),
        cell: (row: readonly string[]) => row[at] ?? '',
        ...(column.isNumber ? { align: 'right' as const } : { isElastic: true }),
      }));
      return `\n${style.bold(title)}\n${note}\n${table(shown, rows, width, style)}`;
    })
    .join('');
}

/** The colour of a severity. */
export function severityColor(style: Style, severity: string): (text: string) => string {
  if (severity === 'critical' || severity === 'error') return style.red;
  return severity === 'warning' ? style.yellow : style.blue;
}

function statusColor(style: Style, status: string): (text: string) => string {
  if (status === 'healthy') return style.green;
  if (status === 'not_assessed') return style.blue;
  return status === 'critical' ? style.red : style.yellow;
}

/** How often the run is read, in milliseconds. */
const POLL_MS = 2000;

/** `quark watch RUN`: the rules over a run that goes on in another process. */
export const watchCommand: Command = {
  spec: {
    name: 'watch',
    summary: 'Show the alerts of a run while it goes on in another process.',
    positionals: ['RUN'],
    options: {
      ...STORAGE_OPTIONS,
      ...CONFIG_OPTIONS,
      json: { ...JSON_OPTION, help: 'Write a JSON line for each alert; errors, too.' },
    },
    notes: ['Nothing is stored. It ends when the run has ended, or with Ctrl-C.'],
  },
  run: (context) =>
    withStore(context, async (store) => {
      const { args, io, style } = context;
      const reader = await findRunByPrefix(store, args.positionals[0] ?? '');
      const config = (await judging(context))(await reader.metricKeys());
      const writes: Promise<void>[] = [];
      const watch = new AnalyzerEngine(reader, config).watch({
        persist: false,
        pollMs: POLL_MS,
        onAlert: (alert) => {
          const text = args.flag('json')
            ? `${JSON.stringify(alert.toDict())}\n`
            : textOf(alert, style);
          writes.push(io.stdout.write(text));
        },
      });
      try {
        await untilEnded(io, reader, watch);
      } finally {
        await watch.close();
        await Promise.all(writes);
      }
      const { lastError } = watch.status;
      if (lastError !== null && watch.status.evaluations === 0) throw lastError;
      return EXIT.ok;
    }),
};

function textOf({ fact, inference, ruleId, severity, title }: AlertRecord, style: Style): string {
  return `${severityColor(style, severity)(severity)} ${style.bold(onTerminal(title))} (${onTerminal(ruleId)})\n  ${onTerminal(fact)}\n  ${onTerminal(inference)}\n`;
}

/** Until the run has ended or nobody records it any more, or Ctrl-C. */
async function untilEnded(io: CliIo, reader: RunReader, watch: AlertWatch): Promise<void> {
  const over = new AbortController();
  let wake = (): void => undefined;
  const undo = io.onInterrupt(() => {
    over.abort();
    wake();
  });
  try {
    while (!over.signal.aborted) {
      await watch.check();
      await reader.reload();
      if (!reader.isLive) return;
      if (over.signal.aborted) return;
      await new Promise<void>((resolve) => {
        wake = resolve;
        setTimeout(resolve, POLL_MS);
      });
    }
  } finally {
    undo();
  }
}
