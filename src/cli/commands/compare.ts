/** `quark compare RUN|PATH RUN|PATH...`: two runs side by side, or groups of many. */
import {
  ComparisonEngine,
  RUN_GROUPINGS,
  type GroupComparison,
  type MetricDiff,
  type MetricTargetSpec,
  type RunComparisonResult,
  type RunGrouping,
} from '../../analysis.ts';
import { compareCode } from '../../media.ts';
import { codeJson, codeText } from '../support/code-text.ts';
import {
  PATTERN_OPTION,
  SOURCE_NOTE,
  withRuns,
  type NamedRun,
} from '../support/analysis-source.ts';
import { columns, UsageError } from '../support/args.ts';
import { CONFIG_OPTIONS, judging } from '../support/config.ts';
import {
  EXIT,
  JSON_OPTION,
  jsonText,
  STORAGE_OPTIONS,
  type Command,
  type CommandContext,
} from '../support/command.ts';
import {
  askedQuantity,
  importanceJson,
  importanceOf,
  importanceText,
  paretoJson,
  paretoOf,
  paretoText,
} from '../support/sweep-text.ts';
import { onTerminal, shortNumber, table, type Style } from '../support/text.ts';

export const compareCommand: Command = {
  spec: {
    name: 'compare',
    summary: 'Compare two runs, or many in groups of the same configuration.',
    positionals: ['RUN|PATH', 'RUN|PATH...'],
    options: {
      ...STORAGE_OPTIONS,
      ...PATTERN_OPTION,
      ...CONFIG_OPTIONS,
      target: {
        kind: 'list',
        value: 'KEY>=VALUE',
        help: 'A value that two runs are to reach, such as val/accuracy>=0.8 or val/loss<=0.5.',
      },
      baseline: { kind: 'flag', help: 'Take the second run for the baseline.' },
      by: {
        kind: 'text',
        value: 'WHAT',
        help: 'What makes runs a group: config (but for seeds; the default), group, tag, job_type, or config.PATH of a setting.',
      },
      importance: {
        kind: 'text',
        value: 'METRIC',
        help: 'Say instead which settings this metric depends on; KEY, or KEY.last, .best, .min or .max.',
      },
      pareto: {
        kind: 'text',
        value: 'A,B',
        help: 'Say instead which runs are not beaten in both of these metrics.',
      },
      system: { kind: 'flag', help: 'Show what the machine did (system/...), too.' },
      code: { kind: 'flag', help: 'Compare the code and the environments of two runs instead.' },
      json: JSON_OPTION,
    },
    notes: [
      'A difference is the value of run 1 minus that of run 2. Of three runs and more, those whose configuration differs in seeds only\n' +
        'make a group; each metric is the mean of a group with its 95 % interval. --by groups them by something else, two runs as well.',
      SOURCE_NOTE,
    ],
  },
  run: ({ io, args, style }) => {
    const metricTargets = (args.list('target') ?? []).map(parseTarget);
    const groupBy = askedGrouping(args.text('by') ?? 'config');
    return withRuns({ io, args }, args.positionals, async (runs) => {
      const [first, second, ...others] = runs;
      const answer = await ofMany(runs, { io, args, style });
      if (answer !== undefined) {
        await io.stdout.write(answer);
        return EXIT.ok;
      }
      if (first === undefined || second === undefined)
        throw new UsageError('A comparison needs two runs', 'compare');
      if (args.flag('code')) {
        if (others.length > 0) throw new UsageError('--code is for two runs', 'compare');
        const comparison = await compareCode(first.reader, second.reader);
        await io.stdout.write(
          args.flag('json') ? jsonText(codeJson(comparison)) : codeText(comparison, style),
        );
        return EXIT.ok;
      }
      const settingsFor = await judging({ args, io });
      const keys = await Promise.all(runs.map(({ reader }) => reader.metricKeys()));
      const analyzer = settingsFor(keys.flat());
      const engine = new ComparisonEngine(first.reader, { metricTargets, analyzer, groupBy });
      const width = io.stdout.columns;
      if (others.length > 0 || args.text('by') !== undefined) {
        if (args.flag('baseline'))
          throw new UsageError(
            `--baseline is for two runs; there are ${runs.length}: ${runs.map(({ name }) => onTerminal(name)).join(', ')}`,
            'compare',
          );
        const groups = await engine.compareGroups([second, ...others].map(({ reader }) => reader));
        await io.stdout.write(
          args.flag('json')
            ? jsonText(groups.toDict())
            : describeGroups(groups, args.flag('system'), width, style),
        );
        return EXIT.ok;
      }
      const result = await engine.compare(second.reader, { baseline: args.flag('baseline') });
      const compared = columns([
        ['1', namedRun(first)],
        ['2', namedRun(second)],
      ]);
      await io.stdout.write(
        args.flag('json')
          ? jsonText(result.toDict())
          : `${compared}\n${describe(result, args.flag('system'), width, style)}`,
      );
      return EXIT.ok;
    });
  },
};

/** A run as it was asked for, and what it is called. */
function namedRun({ name, reader }: NamedRun): string {
  const called = reader.run.name;
  return onTerminal(called === null || called === name ? name : `${name}  ${called}`);
}

function askedGrouping(text: string): RunGrouping {
  const known = RUN_GROUPINGS.find((one) => one === text);
  if (known !== undefined) return known;
  if (/^config\../u.test(text)) return `config.${text.slice('config.'.length)}`;
  throw new UsageError(
    `--by takes ${RUN_GROUPINGS.join(', ')} or config.PATH; got "${onTerminal(text)}"`,
    'compare',
  );
}

/** What is asked of all runs together; undefined where it is not. */
async function ofMany(
  runs: readonly NamedRun[],
  { args, io, style }: CommandContext,
): Promise<string | undefined> {
  const [importance, pareto] = [args.text('importance'), args.text('pareto')];
  const isJson = args.flag('json');
  const width = io.stdout.columns;
  if (importance !== undefined) {
    const quantity = askedQuantity('importance', importance, runs);
    const found = await importanceOf(quantity, runs);
    return isJson
      ? jsonText(importanceJson(found, quantity))
      : importanceText(found, quantity, width, style);
  }
  if (pareto === undefined) return undefined;
  const answer = paretoOf(pareto, runs);
  return isJson ? jsonText(paretoJson(answer)) : paretoText(answer, width, style);
}

function parseTarget(text: string): MetricTargetSpec {
  const match = /^(.+?)(>=|<=)(.+)$/u.exec(text);
  const value = Number(match?.[3]?.trim() || Number.NaN);
  if (match === null || !Number.isFinite(value))
    throw new UsageError(`--target takes KEY>=VALUE or KEY<=VALUE; got "${text}"`, 'compare');
  return {
    metricKey: (match[1] ?? '').trim(),
    targetValue: value,
    direction: match[2] === '>=' ? 'at_least' : 'at_most',
  };
}

/** What the machine did, in some twenty rows beside which the losses are hard to find. */
function foldSystem<T extends { readonly metricKey: string }>(
  all: readonly T[],
  isShown: boolean,
): { readonly shown: readonly T[]; readonly left: string } {
  const shown = isShown ? all : all.filter(({ metricKey }) => !/^system[/_.]/iu.test(metricKey));
  const count = all.length - shown.length;
  const left =
    count === 0
      ? ''
      : `${count} ${count === 1 ? 'metric' : 'metrics'} of the machine (system/...) left out; --system shows ${count === 1 ? 'it' : 'them'}.\n`;
  return { shown, left };
}

function describe(
  result: RunComparisonResult,
  isSystemShown: boolean,
  width: number | undefined,
  style: Style,
): string {
  const { comparability, metricDiffs } = result;
  const { left, shown } = foldSystem(metricDiffs, isSystemShown);
  return [
    ...comparability.reasons.map((reason) => textLine(`Not comparable: ${reason}`)),
    ...comparability.notes.map((note) => textLine(`Note: ${note}`)),
    describeParting(result),
    shown.length > 0 ? `\n${metricTable(shown, width, style)}` : '',
    left,
    ...metricDiffs.filter(({ targetValue }) => targetValue !== null).map(describeTarget),
    describeAlerts(result, style),
    describePhases(result, width, style),
    describeConfig(result, style),
  ]
    .join('')
    .replace(/^\n/u, '');
}

function textLine(text: string): string {
  return `${onTerminal(text)}\n`;
}

function describeParting({ firstPartingStep, metricDiffs }: RunComparisonResult): string {
  if (firstPartingStep === null) return '';
  const parted = metricDiffs.filter(({ partingStep }) => partingStep === firstPartingStep);
  const back = parted.find((diff) => diff.axis === 'step') ?? parted[0];
  const end = back?.rejoiningStep ?? null;
  const axis = back?.axis ?? 'step';
  return textLine(
    `The runs diverge at ${axis} ${firstPartingStep}${end === null ? '' : ` and agree again from ${axis} ${end} on (${back?.metricKey})`}.`,
  );
}

function describeTarget(one: MetricDiff): string {
  const met = (step: number | null): string => (step === null ? 'never' : `at ${step}`);
  return textLine(
    `${one.metricKey} ${one.targetDirection === 'at_least' ? '>=' : '<='} ${one.targetValue}: ${met(one.primaryTimeToTargetStep)} and ${met(one.referenceTimeToTargetStep)}`,
  );
}

function describeAlerts({ alertDiff }: RunComparisonResult, style: Style): string {
  const alerts: readonly (readonly [string, readonly string[]])[] = [
    ['new', alertDiff.newRuleIds],
    ['resolved', alertDiff.resolvedRuleIds],
    ['worse', alertDiff.worsenedRuleIds],
    ['better', alertDiff.improvedRuleIds],
  ];
  const changed = alerts.filter(([, ids]) => ids.length > 0);
  return changed.length === 0
    ? ''
    : `\n${style.bold('Alerts')}\n${columns(changed.map(([name, ids]) => [name, ids.join(', ')]))}`;
}

function describePhases(
  { phaseDiffs }: RunComparisonResult,
  width: number | undefined,
  style: Style,
): string {
  if (phaseDiffs.length === 0) return '';
  return `\n${table(
    [
      { title: 'PHASE', cell: ({ phaseName }) => phaseName },
      { title: 'RUN 1', cell: (one) => share(one.primaryShare), align: 'right' },
      { title: 'RUN 2', cell: (one) => share(one.referenceShare), align: 'right' },
    ],
    phaseDiffs,
    width,
    style,
  )}`;
}

function describeConfig({ configDiffs }: RunComparisonResult, style: Style): string {
  if (configDiffs.length === 0) return '';
  return `\n${style.bold('Configuration')}\n${columns(
    configDiffs.map(({ path, primaryValue, referenceValue }) => [
      onTerminal(path),
      onTerminal(`${JSON.stringify(primaryValue)} | ${JSON.stringify(referenceValue)}`),
    ]),
  )}`;
}

function metricTable(
  diffs: readonly MetricDiff[],
  width: number | undefined,
  style: Style,
): string {
  const number = (value: number | null): string => (value === null ? '-' : shortNumber(value));
  return table(
    [
      { title: 'METRIC', cell: ({ metricKey }) => onTerminal(metricKey), isElastic: true },
      { title: 'LAST 1', cell: ({ primaryLast }) => number(primaryLast), align: 'right' },
      { title: 'LAST 2', cell: ({ referenceLast }) => number(referenceLast), align: 'right' },
      { title: '1 - 2', cell: ({ lastDelta }) => number(lastDelta), align: 'right' },
      { title: 'BEST 1', cell: ({ primaryBest }) => number(primaryBest), align: 'right' },
      { title: 'BEST 2', cell: ({ referenceBest }) => number(referenceBest), align: 'right' },
      {
        title: 'DIVERGE AT',
        cell: ({ partingStep }) => (partingStep === null ? '-' : String(partingStep)),
        align: 'right',
      },
    ],
    diffs,
    width,
    style,
  );
}

function share(value: number | null): string {
  return value === null ? '-' : `${Math.round(value * 100)} %`;
}

function describeGroups(
  { confidenceLevel, groups, metrics: all, notes }: GroupComparison,
  isSystemShown: boolean,
  width: number | undefined,
  style: Style,
): string {
  const { left, shown: metrics } = foldSystem(all, isSystemShown);
  const rows = metrics.flatMap(({ best, groups: means, metricKey }) =>
    means.map((mean, i) => ({ metricKey, group: groups[i]?.name ?? '', mean, isBest: best === i })),
  );
  const text = table(
    [
      { title: 'METRIC', cell: ({ metricKey }) => onTerminal(metricKey) },
      { title: 'GROUP', cell: ({ group }) => onTerminal(group), isElastic: true },
      { title: 'RUNS', cell: ({ mean }) => String(mean.count), align: 'right' },
      { title: 'MEAN', cell: ({ mean }) => shortNumber(mean.mean), align: 'right' },
      {
        title: `${Math.round(confidenceLevel * 100)} %`,
        cell: ({ mean: { high, low } }) =>
          Number.isNaN(low) ? '-' : `${shortNumber(low)} to ${shortNumber(high)}`,
      },
      { title: '', cell: ({ isBest }) => (isBest ? 'best' : '') },
    ],
    rows,
    width,
    style,
  );
  const differences = metrics.flatMap(({ differences: list, metricKey }) =>
    list
      .filter(({ isSignificant }) => isSignificant === true)
      .map(
        ({ adjustedPValue, difference, first, second }) =>
          `${metricKey}: ${groups[first]?.name ?? ''} less ${groups[second]?.name ?? ''} is ${shortNumber(difference)} (p ${adjustedPValue < 1e-4 ? '< 0.0001' : `= ${adjustedPValue.toPrecision(2)}`})\n`,
      ),
  );
  const said = differences.length === 0 ? ['No difference is significant.\n'] : differences;
  return `${text}${left}\n${said.map((line) => onTerminal(line.trimEnd())).join('\n')}\n${notes.map((note) => `Note: ${note}\n`).join('')}`;
}
