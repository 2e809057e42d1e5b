/** A report as Markdown: tables and sentences, no HTML, no pictures. */
import { escapeMarkdown } from './escape.ts';
import { shortText } from '../text/number-text.ts';
import type { ReportModel } from './report-model.ts';

/** The report as GitHub-flavoured Markdown. */
export function reportMarkdown(model: ReportModel): string {
  const { alerts, dataTables, facts, healthScores, metrics, phaseAxis, phases, settings } = model;
  const parts = [
    `# ${escapeMarkdown(model.title)}`,
    escapeMarkdown(model.verdict),
    table(
      ['', ''],
      facts.map(([name, value]) => [escapeMarkdown(name), escapeMarkdown(value)]),
    ),
  ];
  if (healthScores.length > 0)
    parts.push(
      '## Health',
      table(
        ['Score', 'of 100', 'Status', ''],
        healthScores.map(({ score, scoreKey, status, summary }) => [
          scoreKey,
          String(Math.round(score)),
          status,
          escapeMarkdown(summary),
        ]),
      ),
    );
  if (phases.length > 0)
    parts.push(
      '## Phases',
      table(
        ['Phase', `From ${phaseAxis}`, `To ${phaseAxis}`, 'Why'],
        phases.map(({ displayName, stepEnd, stepStart, summary }) => [
          escapeMarkdown(displayName),
          String(stepStart),
          String(stepEnd),
          escapeMarkdown(summary),
        ]),
      ),
    );
  parts.push('## Alerts');
  if (alerts.length === 0) parts.push('None.');
  for (const alert of alerts) {
    const place =
      alert.stepStart === null
        ? ''
        : `, step ${alert.stepStart}${alert.stepEnd === null || alert.stepEnd === alert.stepStart ? '' : ` to ${alert.stepEnd}`}`;
    parts.push(
      `### ${escapeMarkdown(alert.title)}\n\n${alert.severity}, ${alert.category}, \`${alert.ruleId}\`${place}\n\n${escapeMarkdown(alert.fact)} ${escapeMarkdown(alert.inference)}`,
    );
  }
  if (dataTables.length > 0) parts.push('## Data');
  for (const { columns, note, rows, title } of dataTables)
    parts.push(
      `### ${title}`,
      note,
      table(
        columns.map((column) => column.title),
        rows.map((row) => row.map(escapeMarkdown)),
      ),
    );
  if (metrics.length > 0)
    parts.push(
      '## Metrics',
      table(
        ['Metric', 'Values', 'Not finite', 'First', 'Last', 'Lowest', 'Highest', 'Best', 'at'],
        metrics.map((one) => [
          escapeMarkdown(one.key),
          String(one.count),
          String(one.nonFiniteCount),
          shortText(one.first),
          shortText(one.last),
          shortText(one.min),
          shortText(one.max),
          shortText(one.best),
          one.bestAt === null ? '–' : `${one.axis} ${one.bestAt}`,
        ]),
      ),
    );
  if (settings.length > 0)
    parts.push(
      '## Configuration',
      table(
        ['Setting', 'Value'],
        settings.map(([path, value]) => [
          escapeMarkdown(path),
          escapeMarkdown(typeof value === 'string' ? value : JSON.stringify(value)),
        ]),
      ),
    );
  return `${parts.join('\n\n')}\n`;
}

function table(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(titles), line(titles.map(() => '---')), ...rows.map(line)].join('\n');
}
