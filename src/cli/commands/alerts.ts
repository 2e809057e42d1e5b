/** `quark alerts RUN` and `quark silence RUN RULE`. */
import { userInfo } from 'node:os';
import {
  alertIdentity,
  AnalyzerEngine,
  RULE_IDS,
  type AnalyzerResult,
  type Silence,
} from '../../analysis.ts';
import { QuarkError } from '../../index.ts';
import { UsageError } from '../support/args.ts';
import {
  EXIT,
  findRunByPrefix,
  JSON_OPTION,
  jsonText,
  STORAGE_OPTIONS,
  withStore,
  type Command,
  type CommandContext,
} from '../support/command.ts';
import { CONFIG_OPTIONS, judging } from '../support/config.ts';
import { durationMs } from '../support/durations.ts';
import { severityColor, onTerminal, table, type Style } from '../support/text.ts';

/** Options of what is said of alerts. */
const SAYING_OPTIONS = {
  metric: { kind: 'text', value: 'KEY', help: 'Only alerts about this metric.' },
  module: { kind: 'text', value: 'NAME', help: 'Only alerts about this layer.' },
  by: { kind: 'text', value: 'NAME', help: 'Who says so. Default: the user of this machine.' },
  until: {
    kind: 'text',
    value: 'WHEN',
    help: 'When it ends: a date, or a time from now such as 12h, 7d, 4w. Default: never.',
  },
  undo: { kind: 'flag', help: 'Take back what was said of the same rule, metric and layer.' },
} as const;

export const alertsCommand: Command = {
  spec: {
    name: 'alerts',
    summary: 'List the alerts of a run, and what was silenced or acknowledged; or acknowledge one.',
    positionals: ['[ack]', 'RUN', '[RULE]'],
    options: {
      ...STORAGE_OPTIONS,
      ...CONFIG_OPTIONS,
      note: { kind: 'text', value: 'TEXT', help: 'With "ack": what is known of it.' },
      ...SAYING_OPTIONS,
      json: JSON_OPTION,
    },
    notes: [
      'The run is analysed as it is now, and nothing is stored. "quark silence RUN RULE --reason TEXT" silences alerts.',
      '"quark alerts ack RUN RULE --note TEXT" says that an alert is known: it lowers the score as before, and pages fold it.',
    ],
  },
  run: async (context) => {
    const { positionals } = context.args;
    if (positionals[0] === 'ack') return acknowledge(context, positionals.slice(1));
    const [run = '', rule] = positionals;
    const saying = ['note', 'metric', 'module', 'by', 'until'].find(
      (name) => context.args.text(name) !== undefined,
    );
    if (rule !== undefined || saying !== undefined || context.args.flag('undo'))
      throw new UsageError(
        `${rule === undefined ? `--${saying ?? 'undo'}` : 'RULE'} needs "ack": quark alerts ack RUN RULE --note TEXT`,
        'alerts',
      );
    return listAlerts(context, run);
  },
};

async function acknowledge(
  context: CommandContext,
  [run, ruleId]: readonly string[],
): Promise<number> {
  if (run === undefined || ruleId === undefined)
    throw new UsageError('"quark alerts ack" needs RUN and RULE', 'alerts');
  return sayOfAlerts(context, run, ruleId, {
    command: 'alerts',
    reasonOption: 'note',
    kind: 'acknowledge',
  });
}

function listAlerts(context: CommandContext, run: string): Promise<number> {
  return withStore(context, async (store) => {
    const { args, io, style } = context;
    const reader = await findRunByPrefix(store, run);
    const config = (await judging(context))(await reader.metricKeys());
    const engine = new AnalyzerEngine(reader, config);
    const result = await engine.analyze({ persist: false });
    const silences = await engine.readSilences();
    await io.stdout.write(
      args.flag('json')
        ? jsonText({ ...alertsDict(result), silences: silences.map(silenceDict) })
        : describe(result, silences, io.stdout.columns, style),
    );
    return EXIT.ok;
  });
}

function alertsDict({ alerts, silenced }: AnalyzerResult): object {
  return {
    alerts: alerts.map((alert) => {
      const { metricKey, moduleName } = alertIdentity(alert);
      const said = silenced.find((one) => one.alert.id === alert.id)?.silence;
      return {
        ...alert.toDict(),
        module_name: moduleName,
        metric_key: metricKey,
        silence: said === undefined ? null : silenceDict(said),
      };
    }),
  };
}

function silenceDict({ atMs, by, kind, metricKey, moduleName, reason, ruleId, until }: Silence) {
  return {
    rule_id: ruleId,
    module_name: moduleName,
    metric_key: metricKey,
    kind,
    reason,
    by,
    until,
    at: new Date(atMs).toISOString(),
  };
}

function describe(
  { alerts, problems, silenced }: AnalyzerResult,
  silences: readonly Silence[],
  width: number | undefined,
  style: Style,
): string {
  const rows = alerts.map((alert) => ({
    alert,
    about: alertIdentity(alert),
    said: silenced.find((one) => one.alert.id === alert.id)?.silence,
  }));
  const shown =
    rows.length === 0
      ? 'No alerts.\n'
      : table(
          [
            {
              title: 'SEVERITY',
              cell: ({ alert }) => severityColor(style, alert.severity)(alert.severity),
            },
            { title: 'RULE', cell: ({ alert }) => onTerminal(alert.ruleId) },
            {
              title: 'ABOUT',
              cell: ({ about }) => onTerminal(about.metricKey ?? about.moduleName ?? '-'),
            },
            { title: 'SAID', cell: ({ said }) => (said === undefined ? '-' : said.kind) },
            { title: 'ALERT', cell: ({ alert }) => onTerminal(alert.title), isElastic: true },
          ],
          rows,
          width,
          style,
        );
  const said = silences.map((one) => `${onTerminal(silenceText(one))}\n`).join('');
  const unjudged = problems.map(({ message }) => `not judged: ${onTerminal(message)}\n`).join('');
  return `${shown}${said === '' ? '' : `\n${said}`}${unjudged === '' ? '' : `\n${unjudged}`}`;
}

function silenceText({ by, kind, metricKey, moduleName, reason, ruleId, until }: Silence): string {
  const about = [metricKey, moduleName].flatMap((one) => one ?? []).join(', ');
  const what = `${ruleId}${about === '' ? '' : ` (${about})`}`;
  const end = until === null ? '' : ` until ${until}`;
  return `${what}: ${kind}d${by === null ? '' : ` by ${by}`}${end}: ${reason}`;
}

export const silenceCommand: Command = {
  spec: {
    name: 'silence',
    summary: 'Silence or acknowledge alerts of a run, with a reason, or take that back.',
    positionals: ['RUN', 'RULE'],
    options: {
      ...STORAGE_OPTIONS,
      reason: { kind: 'text', value: 'TEXT', help: 'Why. It stands in the report.' },
      ...SAYING_OPTIONS,
      acknowledge: {
        kind: 'flag',
        help: 'Say only that it is known: the alert lowers the score as before.',
      },
      json: JSON_OPTION,
    },
    notes: [
      'RULE is the rule of the alert, as "quark alerts RUN" lists it. A silenced alert lowers no score and starts no action of a watch;\n' +
        'it is listed, and the report names it with the reason.',
    ],
  },
  run: async (context) => {
    const [run = '', ruleId = ''] = context.args.positionals;
    return sayOfAlerts(context, run, ruleId, {
      command: 'silence',
      reasonOption: 'reason',
      kind: context.args.flag('acknowledge') ? 'acknowledge' : 'silence',
    });
  },
};

/** Says something of the alerts of a rule, or takes back what was said. */
function sayOfAlerts(
  context: CommandContext,
  run: string,
  ruleId: string,
  what: {
    readonly command: 'alerts' | 'silence';
    readonly reasonOption: 'note' | 'reason';
    readonly kind: Silence['kind'];
  },
): Promise<number> {
  const { command, kind, reasonOption } = what;
  return withStore(context, async (store) => {
    const { args, io } = context;
    const reader = await findRunByPrefix(store, run);
    const engine = new AnalyzerEngine(reader);
    await checkRule(engine, ruleId);
    const selection = {
      ruleId,
      metricKey: args.text('metric') ?? null,
      moduleName: args.text('module') ?? null,
    };
    if (args.flag('undo')) {
      for (const name of [reasonOption, 'until', 'by'] as const)
        if (args.text(name) !== undefined)
          throw new UsageError(`--${name} and --undo do not go together`, command);
      await engine.unsilence(selection);
      await io.stdout.write(
        args.flag('json')
          ? jsonText({ rule_id: ruleId, silence: null })
          : `What was said of ${onTerminal(ruleId)} is taken back.\n`,
      );
      return EXIT.ok;
    }
    const reason = args.text(reasonOption);
    if (reason === undefined)
      throw new UsageError(
        `"quark ${command === 'alerts' ? 'alerts ack' : command}" needs --${reasonOption}`,
        command,
      );
    const said = await engine.silence({
      ...selection,
      reason,
      by: args.text('by') ?? userName(context),
      until: untilOf(args.text('until')),
      kind,
    });
    await io.stdout.write(
      args.flag('json') ? jsonText(silenceDict(said)) : `${onTerminal(silenceText(said))}\n`,
    );
    return EXIT.ok;
  });
}

/** A typing error would silence nothing, and say that it did. */
async function checkRule(engine: AnalyzerEngine, ruleId: string): Promise<void> {
  if (RULE_IDS.some((id) => id === ruleId)) return;
  const stored = await engine.readAlerts({ ruleId });
  const said = await engine.readSilences();
  if (stored.length > 0 || said.some((one) => one.ruleId === ruleId)) return;
  const { alerts } = await engine.analyze({ persist: false });
  if (alerts.some((alert) => alert.ruleId === ruleId)) return;
  throw new QuarkError(
    'invalid_input',
    `No rule of Quark and no alert of this run has the name "${ruleId}". "quark alerts RUN" lists them.`,
    {
      details: { field: 'RULE', value: ruleId, rule: 'a rule of Quark or of an alert of the run' },
    },
  );
}

function untilOf(text: string | undefined): string | number | null {
  if (text === undefined) return null;
  const ms = durationMs(text);
  return ms === undefined ? text : Date.now() + ms;
}

function userName({ io }: Pick<CommandContext, 'io'>): string | null {
  const named = io.env['USER'] ?? io.env['USERNAME'];
  if (named !== undefined && named !== '') return named;
  try {
    return userInfo().username;
  } catch {
    // A process without an entry among the users has no name.
    return null;
  }
}
