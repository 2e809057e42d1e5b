/** Tools that read: runs, curves, events, alerts, comparison, reports. */
import { AnalyzerEngine, ComparisonEngine, report, type AnalyzerResult } from '../../analysis.ts';
import {
  findRuns,
  listRuns,
  type AlertRecord,
  type JsonObject,
  type JsonValue,
} from '../../index.ts';
import { findRunByPrefix } from '../support/command.ts';
import { parseRunConditions } from '../support/run-conditions.ts';
import { runLine, runText, shownJson } from './run-texts.ts';
import { thinCurve } from './thin-curve.ts';
import { fitted, refused, shownNumber, shownText, type McpTool } from './tool.ts';

/** The argument that names a run, as all tools have it. */
export const RUN_ARGUMENT: JsonObject = {
  type: 'string',
  description: 'Id of a run, the beginning of one that no other run has, or "latest".',
};

const MOST_RUNS = 100;
const MOST_CURVES = 12;
const MOST_COMPARED = 50;
const MOST_REPORT = 40_000;

const findRunsTool: McpTool = {
  name: 'find_runs',
  title: 'Find runs',
  description:
    'Lists training runs, newest first, all or those of which conditions hold: config.lr<=0.1, val/loss.best<0.3, tags.workers>=8, name~base%, status=failed, joined by "and". A metric has .last, .best, .min and .max.',
  properties: {
    where: { type: 'string', description: 'Conditions joined by "and".' },
    project: { type: 'string', description: 'Only runs of this project.' },
    archived: { type: 'boolean', description: 'True: only runs in the archive. Default: false.' },
    limit: { type: 'integer', minimum: 1, maximum: MOST_RUNS, description: 'Default: 20.' },
  },
  required: [],
  isWriting: false,
  async run(store, args) {
    const where = args.optionalText('where');
    const project = args.optionalText('project');
    const archived = args.flag('archived', false);
    const limit = args.count('limit', 20, MOST_RUNS);
    const options = { archived, limit };
    const runs =
      where === undefined || where.trim() === ''
        ? await listRuns(store, { ...options, ...(project === undefined ? {} : { project }) })
        : await findRuns(
            store,
            {
              ...parseRunConditions([where], 'mcp'),
              ...(project === undefined ? {} : { project }),
            },
            options,
          );
    return fitted({ shown: runs.length }, 'runs', runs.map(runLine));
  },
};

const getRunTool: McpTool = {
  name: 'get_run',
  title: 'Read a run',
  description:
    'Configuration, tags, notes, status and, for each metric, its last, lowest, highest and best value with the step of the best.',
  properties: { run: RUN_ARGUMENT },
  required: ['run'],
  isWriting: false,
  async run(store, args) {
    const reader = await findRunByPrefix(store, args.text('run'));
    const found = runText(reader);
    const keys = await reader.metricKeys();
    return {
      ...found,
      metric_keys: keys.slice(0, 500),
      ...(keys.length > 500 && { metric_keys_left_out: keys.length - 500 }),
    };
  },
};

const getCurvesTool: McpTool = {
  name: 'get_curves',
  title: 'Read curves',
  description:
    'Values of metrics over steps, downsampled to the lowest and highest value of equal spans, so that no spike is lost. Ask for a span of steps to see it in full.',
  properties: {
    run: RUN_ARGUMENT,
    metrics: {
      type: 'array',
      items: { type: 'string' },
      minItems: 1,
      maxItems: MOST_CURVES,
      description: 'Keys of metrics, as get_run lists them.',
    },
    points: {
      type: 'integer',
      minimum: 2,
      maximum: 500,
      description: 'Points a curve at most. Default: 60.',
    },
    from: { type: 'number', description: 'First step.' },
    to: { type: 'number', description: 'Last step.' },
  },
  required: ['run', 'metrics'],
  isWriting: false,
  async run(store, args) {
    const keys = args.texts('metrics') ?? [];
    if (keys.length === 0 || keys.length > MOST_CURVES)
      throw refused('metrics', keys, `a list of 1 to ${MOST_CURVES} keys`);
    const span = {
      from: args.optionalNumber('from'),
      to: args.optionalNumber('to'),
      points: args.count('points', 60, 500),
    };
    const reader = await findRunByPrefix(store, args.text('run'));
    const known = await reader.metricKeys();
    const unknown = keys.filter((key) => !known.includes(key));
    if (unknown.length > 0)
      throw refused(
        'metrics',
        unknown.join(', '),
        `keys of metrics of this run, such as ${known.slice(0, 20).join(', ')}`,
      );
    const { series } = await reader.readSeries({ metricKeys: keys });
    return fitted(
      { run: reader.run.id },
      'curves',
      series.map((one) => thinCurve(one, span)),
    );
  },
};

const getEventsTool: McpTool = {
  name: 'get_events',
  title: 'Read events',
  description:
    'What happened in a run, newest last: logs, errors, checkpoints, the start and the end.',
  properties: {
    run: RUN_ARGUMENT,
    limit: {
      type: 'integer',
      minimum: 1,
      maximum: 200,
      description: 'The last so many. Default: 50.',
    },
  },
  required: ['run'],
  isWriting: false,
  async run(store, args) {
    const limit = args.count('limit', 50, 200);
    const reader = await findRunByPrefix(store, args.text('run'));
    const events = await reader.readEvents();
    return fitted(
      { run: reader.run.id, events_in_all: events.length },
      'events',
      events.slice(-limit).map((event) => ({
        type: event.eventType,
        severity: event.severity,
        ...(event.step !== null && { step: event.step }),
        payload: shownJson(event.payload),
      })),
    );
  },
};

const getAlertsTool: McpTool = {
  name: 'get_alerts',
  title: 'Say what is wrong with a run',
  description:
    'Analyses a run as it is now and answers with alerts, the evidence behind each, what is advised, health scores and what could not be judged. Nothing is stored.',
  properties: { run: RUN_ARGUMENT },
  required: ['run'],
  isWriting: false,
  async run(store, args) {
    const reader = await findRunByPrefix(store, args.text('run'));
    const result = await new AnalyzerEngine(reader).analyze({ persist: false });
    return fitted(
      {
        run: reader.run.id,
        status: reader.effectiveStatus,
        health: shownJson(scoresOf(result)),
        not_judged: result.problems.map(({ message }) => shownText(message, 300)),
      },
      'alerts',
      result.alerts.map((alert) => alertText(alert)),
    );
  },
};

function scoresOf({ healthScores }: AnalyzerResult): JsonValue {
  return Object.fromEntries(
    healthScores.map(({ score, scoreKey, status }) => [
      scoreKey,
      { score: score === null ? null : shownNumber(score), status },
    ]),
  );
}

function alertText(alert: AlertRecord): JsonValue {
  return shownJson(JSON.parse(JSON.stringify(alert.toDict())));
}

const compareTool: McpTool = {
  name: 'compare_runs',
  title: 'Compare runs',
  description:
    'Two runs: differences of metrics, configuration, alerts and phases. Three and more: groups of the same configuration, with means, 95 % intervals and significant differences.',
  properties: {
    runs: {
      type: 'array',
      items: { type: 'string' },
      minItems: 2,
      maxItems: MOST_COMPARED,
      description: 'Ids of runs.',
    },
  },
  required: ['runs'],
  isWriting: false,
  async run(store, args) {
    const names = args.texts('runs') ?? [];
    if (names.length < 2 || names.length > MOST_COMPARED)
      throw refused('runs', names, `a list of 2 to ${MOST_COMPARED} ids`);
    const [first, second, ...others] = await Promise.all(
      names.map((name) => findRunByPrefix(store, name)),
    );
    if (first === undefined || second === undefined) throw refused('runs', names, 'two runs');
    const engine = new ComparisonEngine(first);
    const made =
      others.length === 0
        ? await engine.compare(second)
        : await engine.compareGroups([second, ...others]);
    const { metrics = [], metric_diffs: diffs = [], ...rest } = plain(made.toDict());
    const list = Array.isArray(diffs) && diffs.length > 0 ? diffs : metrics;
    return fitted(
      {
        compared: names,
        ...Object.fromEntries(Object.entries(rest).map(([k, v]) => [k, shownJson(v)])),
      },
      'metrics',
      Array.isArray(list) ? list.map(shownJson) : [],
    );
  },
};

/** A dictionary as JSON has it. */
function plain(dict: object): { readonly [name: string]: JsonValue } {
  return JSON.parse(JSON.stringify(dict));
}

const getReportTool: McpTool = {
  name: 'get_report',
  title: 'Report of a run',
  description:
    'What a run means, as Markdown: verdict, health, phases, alerts, metrics, configuration.',
  properties: { run: RUN_ARGUMENT },
  required: ['run'],
  isWriting: false,
  async run(store, args) {
    const { markdown } = await report(await findRunByPrefix(store, args.text('run')));
    return shownText(markdown, MOST_REPORT);
  },
};

/** The tools that read, in the order in which they are listed. */
export const READING_TOOLS: readonly McpTool[] = [
  findRunsTool,
  getRunTool,
  getCurvesTool,
  getEventsTool,
  getAlertsTool,
  compareTool,
  getReportTool,
];
