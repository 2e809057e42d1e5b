/** A report as Markdown: tables and sentences, no HTML, no pictures. */
import { escapeMarkdown } from './escape.ts';
import type { ReportModel } from './report-model.ts';
import {
  healthRows,
  metricRows,
  phaseRows,
  settingRows,
  silencedRows,
  stepsOf,
  type ReportTable,
} from './report-tables.ts';

/** The report as GitHub-flavoured Markdown. */
export function reportMarkdown(model: ReportModel): string {
  const { alerts, dataTables, facts } = model;
  const parts = [
    `# ${escapeMarkdown(model.title)}`,
    escapeMarkdown(model.verdict),
    table(['', ''], facts),
    ...section('Health', healthRows(model)),
    ...section('Phases', phaseRows(model)),
    '## Alerts',
    ...(alerts.length === 0 ? ['None.'] : alerts.map(alertText)),
    ...section('Silenced or acknowledged', silencedRows(model)),
    ...(dataTables.length === 0 ? [] : ['## Data']),
    ...dataTables.flatMap(({ note, title, ...data }) => [`### ${title}`, note, tableOf(data)]),
    ...section('Metrics', metricRows(model)),
    ...section('Configuration', settingRows(model)),
  ];
  return `${parts.join('\n\n')}\n`;
}

function alertText(alert: ReportModel['alerts'][number]): string {
  const steps = stepsOf(alert);
  const about = [alert.severity, alert.category, `\`${alert.ruleId}\``, ...(steps ? [steps] : [])];
  return [
    `### ${escapeMarkdown(alert.title)}`,
    about.join(', '),
    `${escapeMarkdown(alert.fact)} ${escapeMarkdown(alert.inference)}`,
  ].join('\n\n');
}

/** A heading and its table; nothing for a table without a row. */
function section(title: string, content: ReportTable): readonly string[] {
  return content.rows.length === 0 ? [] : [`## ${title}`, tableOf(content)];
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
