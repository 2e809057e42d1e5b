/** A report as Markdown: tables and sentences, no HTML, no pictures. */
import { escapeMarkdown } from './escape.ts';
import type { AlertGroup } from '../evaluate/alert-groups.ts';
import { splitInference, type ReportModel } from './report-model.ts';
import {
  healthRows,
  metricRows,
  phaseRows,
  settingRows,
  silencedRows,
  stepsOf,
  type ReportTable,
} from './report-tables.ts';

/** The report as GitHub-flavoured Markdown: the verdict, what it rests on, what to do, and all else under "More". */
export function reportMarkdown(model: ReportModel): string {
  const { advice, dataTables, facts, groups, verdict } = model;
  const [first = '', ...rest] = verdict;
  const parts = [
    `# ${escapeMarkdown(model.title)}`,
    `**${escapeMarkdown(first)}**`,
    ...rest.map(escapeMarkdown),
    ...(groups.length === 0 ? [] : ['## What was found', ...groups.map(groupText)]),
    ...(advice.length === 0 ? [] : ['## What to do', list(advice)]),
    '## More',
    table(['', ''], facts),
    ...section('Health', healthRows(model)),
    ...section('Phases', phaseRows(model)),
    ...section('Silenced or acknowledged', silencedRows(model)),
    ...dataTables.flatMap(({ note, title, ...data }) => [`### ${title}`, note, tableOf(data)]),
    ...metricSection(model),
    ...section('Configuration', settingRows(model)),
  ];
  return `${parts.join('\n\n')}\n`;
}

/** Metrics of a Markdown report, which cannot fold them; HTML has all. */
const MAX_METRICS = 40;

/** The first metrics in the order of interest, and how many more there are. */
function metricSection(model: ReportModel): readonly string[] {
  const { columns, rows } = metricRows(model);
  const more = rows.length - MAX_METRICS;
  const note = `${more} more metrics are in the HTML report.`;
  return [
    ...section('Metrics', { columns, rows: rows.slice(0, MAX_METRICS) }),
    ...(more > 0 ? [note] : []),
  ];
}

function groupText({ cause, consequences, severity }: AlertGroup): string {
  const steps = stepsOf(cause);
  const about = [severity, cause.category, `\`${cause.ruleId}\``, ...(steps ? [steps] : [])];
  return [
    `### ${escapeMarkdown(cause.title)}`,
    about.join(', '),
    `${escapeMarkdown(cause.fact)} ${escapeMarkdown(splitInference(cause).cause)}`,
    ...(consequences.length === 0
      ? []
      : [
          `What follows from it:\n\n${consequences
            .map((one) => `- ${one.severity}: ${escapeMarkdown(one.fact)} (\`${one.ruleId}\`)`)
            .join('\n')}`,
        ]),
  ].join('\n\n');
}

function list(lines: readonly string[]): string {
  return lines.map((line) => `- ${escapeMarkdown(line)}`).join('\n');
}

/** A heading and its table; nothing for a table without a row. */
function section(title: string, content: ReportTable): readonly string[] {
  return content.rows.length === 0 ? [] : [`### ${title}`, tableOf(content)];
}

function tableOf({ columns, rows }: ReportTable): string {
  return table(
    columns.map(({ title }) => title),
    rows,
  );
}

function table(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const escaped = rows.map((cells) => line(cells.map(escapeMarkdown)));
  return [line(titles), line(titles.map(() => '---')), ...escaped].join('\n');
}
