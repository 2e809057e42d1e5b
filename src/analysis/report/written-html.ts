/** A report that people wrote as one HTML file: elements that are made here and texts, nothing to fetch, no script. */
import type { SeriesKernel } from '../../kernel/series/series-kernel.ts';
import { parseMarkdown } from '../../workspace/markdown/blocks.ts';
import type { MarkdownBlock, MarkdownItem, MarkdownSpan } from '../../workspace/markdown/tree.ts';
import type { ReportBlock, ReportRows, WrittenReport } from '../../workspace/report-shape.ts';
import { analysisKernel } from '../signals/analysis-kernel.ts';
import { escapeHtml } from './escape.ts';
import { htmlPage } from './report-html.ts';
import { plotSvg } from './report-plot.ts';

/** Pages of the dashboard are not where the file is. */
const LINKED = /^(?:https?:|mailto:)/iu;

/**
 * A written report as one HTML file that fetches nothing and runs no script: curves are inline SVG, colours follow the reader's choice of
 * light or dark.
 *
 * @param report of which `freezeReport` has read what is live; what is not frozen is said to be missing
 * @example
 * ```js
 * import { writeFile } from 'node:fs/promises';
 * import { createMemoryStore } from 'quark-sdk';
 * import { writtenReportHtml } from 'quark-sdk/analysis';
 * import { freezeReport } from 'quark-sdk/workspace';
 *
 * const store = createMemoryStore();
 * const frozen = await freezeReport({ store, project: 'digits' }, {
 *   title: 'Digits',
 *   blocks: [{ kind: 'text', text: 'The **second** run is better.' }],
 * });
 * const html = await writtenReportHtml(frozen);
 * await writeFile('report.html', html);
 * console.log(html.startsWith('<!doctype html>')); // true
 * ```
 */
export async function writtenReportHtml(report: WrittenReport): Promise<string> {
  const kernel = await analysisKernel();
  const blocks = report.blocks.map((block) => `<section>${blockHtml(block, kernel)}</section>`);
  return htmlPage(report.title, `<h1>${escapeHtml(report.title)}</h1>${blocks.join('\n')}`);
}

function blockHtml(block: ReportBlock, kernel: SeriesKernel): string {
  switch (block.kind) {
    case 'text':
      return blocksHtml(parseMarkdown(block.text));
    case 'chart':
      return plotSvg(
        {
          title: block.metric,
          axis: 'step',
          series: (block.frozen ?? []).map(({ label, steps, values }) => ({
            label,
            positions: Float64Array.from(steps),
            values: Float64Array.from(values),
          })),
          bands: [],
          marks: [],
        },
        kernel,
      );
    case 'runs':
      return rowsHtml(block.frozen ?? { titles: ['Run', ...block.columns], rows: [] });
  }
}

function rowsHtml({ rows, titles }: ReportRows): string {
  if (rows.length === 0) return '<p class="hint">No run matches the query.</p>';
  return tableHtml(
    titles.map(escapeHtml),
    rows.map((row) => row.map(escapeHtml)),
  );
}

function tableHtml(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = (tag: string, row: readonly string[]): string =>
    `<tr>${row.map((cell) => `<${tag}>${cell}</${tag}>`).join('')}</tr>`;
  return `<div class="scroll"><table><thead>${cells('th', head)}</thead><tbody>${rows.map((row) => cells('td', row)).join('')}</tbody></table></div>`;
}

function blocksHtml(blocks: readonly MarkdownBlock[]): string {
  return blocks.map(markdownHtml).join('');
}

function markdownHtml(block: MarkdownBlock): string {
  switch (block.kind) {
    case 'heading': {
      // The first heading of the file is its title.
      const name = `h${Math.min(6, block.level + 1)}`;
      return `<${name}>${spansHtml(block.spans)}</${name}>`;
    }
    case 'paragraph':
      return `<p>${spansHtml(block.spans)}</p>`;
    case 'code':
      return `<pre class="scroll"><code>${escapeHtml(block.text)}</code></pre>`;
    case 'quote':
      return `<blockquote>${blocksHtml(block.blocks)}</blockquote>`;
    case 'list': {
      const items = block.items.map(itemHtml).join('');
      return block.start === null
        ? `<ul>${items}</ul>`
        : `<ol start="${Math.floor(block.start)}">${items}</ol>`;
    }
    case 'table':
      return tableHtml(
        block.head.map(spansHtml),
        block.rows.map((row) => row.map(spansHtml)),
      );
    case 'rule':
      return '<hr>';
  }
}

function itemHtml({ blocks, isDone }: MarkdownItem): string {
  const box = isDone === null ? '' : isDone ? '☑ ' : '☐ ';
  return `<li>${box}${blocksHtml(blocks)}</li>`;
}

function spansHtml(spans: readonly MarkdownSpan[]): string {
  return spans.map(spanHtml).join('');
}

function spanHtml(span: MarkdownSpan): string {
  switch (span.kind) {
    case 'text':
      return escapeHtml(span.text);
    case 'code':
      return `<code>${escapeHtml(span.text)}</code>`;
    case 'break':
      return '<br>';
    case 'link':
      return LINKED.test(span.href)
        ? `<a href="${escapeHtml(span.href)}" rel="noopener noreferrer nofollow ugc">${spansHtml(span.spans)}</a>`
        : spansHtml(span.spans);
    case 'strong':
    case 'em':
      return `<${span.kind}>${spansHtml(span.spans)}</${span.kind}>`;
    case 'strike':
      return `<s>${spansHtml(span.spans)}</s>`;
  }
}
