/** A report that people wrote as Markdown for any reader of it: HTML in it is text, and links are those that the page follows. */
import { parseMarkdown } from '../../workspace/markdown/blocks.ts';
import type { MarkdownBlock, MarkdownItem, MarkdownSpan } from '../../workspace/markdown/tree.ts';
import type { ReportBlock, ReportCurve, WrittenReport } from '../../workspace/report-shape.ts';
import { shortText } from '../text/number-text.ts';
import { escapeMarkdown, withoutControls } from './escape.ts';

/**
 * A written report as Markdown. A chart is a table: the first, lowest and last value of each run.
 *
 * @param report of which `freezeReport` has read what is live
 * @example
 * ```js
 * import { createMemoryStore } from 'quark-sdk';
 * import { writtenReportMarkdown } from 'quark-sdk/analysis';
 * import { freezeReport } from 'quark-sdk/workspace';
 *
 * const store = createMemoryStore();
 * const frozen = await freezeReport({ store, project: 'digits' }, {
 *   title: 'Digits',
 *   blocks: [{ kind: 'text', text: 'The **second** run is better.' }],
 * });
 * console.log(writtenReportMarkdown(frozen)); // # Digits The **second** run is better.
 * ```
 */
export function writtenReportMarkdown(report: WrittenReport): string {
  const parts = [`# ${escapeMarkdown(report.title)}`, ...report.blocks.map(blockText)];
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}

function blockText(block: ReportBlock): string {
  switch (block.kind) {
    case 'text':
      return blocksText(parseMarkdown(block.text));
    case 'chart':
      return chartText(block.metric, block.frozen ?? []);
    case 'runs': {
      const { rows, titles } = block.frozen ?? { titles: ['Run', ...block.columns], rows: [] };
      return rows.length === 0
        ? 'No run matches the query.'
        : tableText(
            titles.map(escapeMarkdown),
            rows.map((row) => row.map(escapeMarkdown)),
          );
    }
  }
}

function chartText(metric: string, curves: readonly ReportCurve[]): string {
  const title = `**${escapeMarkdown(metric)}**`;
  if (curves.length === 0) return `${title}: no run matches the query.`;
  const rows = curves.map(({ label, steps, values }) => {
    const lowest = values.reduce((low, value) => Math.min(low, value), Infinity);
    return [
      escapeMarkdown(label),
      ...[values[0], values.length === 0 ? undefined : lowest, values.at(-1), steps.at(-1)].map(
        shortText,
      ),
    ];
  });
  return `${title}\n\n${tableText(['Run', 'First', 'Lowest', 'Last', 'Last step'], rows)}`;
}

function tableText(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

function blocksText(blocks: readonly MarkdownBlock[]): string {
  return blocks.map(markdownText).join('\n\n');
}

function markdownText(block: MarkdownBlock): string {
  switch (block.kind) {
    case 'heading':
      return `${'#'.repeat(Math.min(6, block.level + 1))} ${spansText(block.spans)}`;
    case 'paragraph':
      return spansText(block.spans);
    case 'code':
      return fenced(block.text);
    case 'quote':
      return prefixed(blocksText(block.blocks), '> ', '> ');
    case 'list': {
      const { items, start } = block;
      return items
        .map((item, at) => itemText(item, start === null ? '- ' : `${start + at}. `))
        .join('\n');
    }
    case 'table':
      return tableText(
        block.head.map(spansText),
        block.rows.map((row) => row.map(spansText)),
      );
    case 'rule':
      return '---';
  }
}

function itemText({ blocks, isDone }: MarkdownItem, mark: string): string {
  const box = isDone === null ? '' : isDone ? '[x] ' : '[ ] ';
  return prefixed(`${box}${blocksText(blocks)}`, mark, ' '.repeat(mark.length));
}

function prefixed(text: string, first: string, others: string): string {
  return text
    .split('\n')
    .map((line, at) => `${at === 0 ? first : others}${line}`.trimEnd())
    .join('\n');
}

/** A fence that is longer than any in the text. */
function fenced(text: string): string {
  const longest = (text.match(/`+/gu) ?? []).reduce((most, one) => Math.max(most, one.length), 2);
  const fence = '`'.repeat(longest + 1);
  return `${fence}\n${withoutControls(text)}\n${fence}`;
}

function spansText(spans: readonly MarkdownSpan[]): string {
  return spans.map(spanText).join('');
}

function spanText(span: MarkdownSpan): string {
  switch (span.kind) {
    case 'text':
      return escapedText(span.text);
    case 'code':
      return `\`${withoutControls(span.text).replaceAll(/[`\n]/gu, "'")}\``;
    case 'break':
      return '  \n';
    case 'link':
      return span.href.startsWith('#')
        ? spansText(span.spans)
        : `[${spansText(span.spans)}](<${addressText(span.href)}>)`;
    case 'strong':
      return `**${spansText(span.spans)}**`;
    case 'em':
      return `*${spansText(span.spans)}*`;
    case 'strike':
      return `~~${spansText(span.spans)}~~`;
  }
}

/** An address between angle brackets. */
function addressText(address: string): string {
  return withoutControls(address).replaceAll(/[<>\\\s]/gu, encodeURIComponent);
}

/** Text between marks keeps the spaces at its ends. */
function escapedText(text: string): string {
  const [start = '', end = ''] = [/^\s/u.exec(text)?.[0], /\s$/u.exec(text)?.[0]];
  const inner = escapeMarkdown(text.trim());
  return inner === '' ? (start === '' ? '' : ' ') : `${start && ' '}${inner}${end && ' '}`;
}
