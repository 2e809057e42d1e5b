/** `quark analyze RUN|PATH`: alerts and health scores. */
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
  type AnalyzerResult,
  type HardBatches,
} from '../../analysis.ts';
import { ALERT_SEVERITIES, type AlertRecord, type RunReader } from '../../index.ts';
import { checkSaves, PATTERN_OPTION, SOURCE_NOTE, withRuns } from '../support/analysis-source.ts';
import { CONFIG_OPTIONS, judging } from '../support/config.ts';
import { EXIT, JSON_OPTION, jsonText, STORAGE_OPTIONS, type Command } from '../support/command.ts';
import { ROLE_OPTIONS } from '../support/role-options.ts';
import { severityColor, onTerminal, table, type Style } from '../support/text.ts';

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
          await io.stdout.write(
            `${endText(reader, style)}${describe(result, io.stdout.columns, style)}`,
          );
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

/** How a run ended that was to go on: scores judge what was recorded, and say nothing of that. */
function endText({ effectiveStatus, run }: RunReader, style: Style): string {
  if (effectiveStatus !== 'failed' && effectiveStatus !== 'interrupted') return '';
  const verb = effectiveStatus === 'failed' ? 'failed' : 'was interrupted';
  const reason = run.statusReason === null ? '.' : `: ${onTerminal(run.statusReason)}`;
  return `${style.red(`The run ${verb}${reason}`)}\n`;
}

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

function statusColor(style: Style, status: string): (text: string) => string {
  if (status === 'healthy') return style.green;
  if (status === 'not_assessed') return style.blue;
  return status === 'critical' ? style.red : style.yellow;
}

/** How often the run is read, in milliseconds. */

/** `quark watch RUN`: the rules over a run that goes on in another process. */
