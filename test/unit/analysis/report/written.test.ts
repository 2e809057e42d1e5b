/** Written reports as files: what is in them runs nothing and fetches nothing, whatever people wrote. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { writtenReportHtml, writtenReportMarkdown } from '../../../../src/analysis.ts';
import { parseMarkdown } from '../../../../src/workspace/markdown/blocks.ts';
import { checkReport, type WrittenReport } from '../../../../src/workspace/report-shape.ts';
import { runs } from '../../../support/property.ts';

/** Elements of a file, and what may follow their names. */
const TAG =
  /^<\/?(?:html|head|meta|title|style|body|main|section|h[1-6]|p|pre|code|blockquote|ul|ol|li|div|table|thead|tbody|tr|th|td|hr|br|s|em|strong|a|figure|figcaption|span|svg|g|line|path|circle|rect|text|!doctype)(?: (?!on)(?:[a-z0-9-]+|viewBox)="[^"<>]*"| html)*\/?>$/;

const HOSTILE = [
  '<script>alert(1)</script>',
  '<img src=x onerror=alert(1)>',
  '"><svg onload=alert(1)>',
  '[a](javascript:alert(1))',
  '[a](JaVaScRiPt:alert(1) "x")',
  '[a](data:text/html,<script>)',
  '![p](https://evil.example/p.png)',
  '[ok](https://ok.example/"onmouseover="alert(1))',
  '<https://ok.example/<b>>',
  '</title><script>',
  '</style><script>',
  '`<b>` ```\n<i>\n```',
  '| a | <b> |\n|---|---|\n| </td><script> | [x](vbscript:1) |',
  '\u001b[31mred\u001b]8;;http://evil\u0007\u202e\u0000\ud800',
  '&lt;script&gt; &#106;avascript:',
];

function reportOf(parts: readonly string[]): WrittenReport {
  const [title = 'x', text = '', metric = '', label = '', cell = ''] = parts;
  return {
    title: title.replaceAll(/[^\P{Cc}]/gu, '').slice(0, 200) || 'x',
    blocks: [
      { kind: 'text', text },
      {
        kind: 'chart',
        metric,
        where: '',
        frozen: [{ label, steps: [0, 1, 2], values: [3, 1, 2] }],
      },
      {
        kind: 'runs',
        where: '',
        columns: [cell],
        frozen: { titles: ['Run', cell], rows: [[label, cell]] },
      },
      { kind: 'chart', metric: 'none', where: '', frozen: [] },
    ],
  };
}

/** All that stands between angle brackets, but the style sheet. */
function tagsOf(html: string): readonly string[] {
  return html.replace(/<style>[^<]*<\/style>/u, '').match(/<[^>]*>?/gu) ?? [];
}

function checkHtml(html: string): void {
  for (const tag of tagsOf(html)) expect(tag).toMatch(TAG);
  const addresses = [...html.matchAll(/ (href|src|action|data|srcset)="([^"]*)"/gu)];
  for (const [, name, address] of addresses) {
    expect(name).toBe('href');
    expect(address).toMatch(/^(?:https?:\/\/|mailto:)/iu);
  }
  expect(html).toContain(`content="default-src 'none'; style-src 'unsafe-inline'"`);
  expect(html).not.toMatch(/url\(|@import|[^\P{Cc}\t\n\r]/u);
}

describe('a file of a report', () => {
  test('has the elements that are made for it, and no others', async () => {
    const text = fc.array(fc.oneof(fc.constantFrom(...HOSTILE), fc.string({ maxLength: 8 })), {
      maxLength: 4,
    });
    await fc.assert(
      fc.asyncProperty(fc.array(text, { minLength: 5, maxLength: 5 }), async (parts) => {
        const report = reportOf(parts.map((one) => one.join('')));
        checkHtml(await writtenReportHtml(report));
        const markdown = writtenReportMarkdown(report);
        expect(markdown).not.toMatch(/[^\P{Cc}\n]/u);
        // Read as Markdown, it has no other links than the report, and no HTML but in code.
        const links = JSON.stringify(parseMarkdown(markdown)).matchAll(/"href":"([^"]*)"/gu);
        for (const [, address] of links) expect(address).toMatch(/^(?:https?:\/\/|mailto:)/iu);
      }),
      runs(150),
    );
  });

  test('shows what was written: headings, lists, code, curves, tables, links', async () => {
    const report = checkReport({
      title: 'Rates & <b>',
      blocks: [
        {
          kind: 'text',
          text: '# Found\n\n1. one\n2. *two* [page](https://a.example/?b=1&c) [here](#/runs/x)\n\n- [x] done\n\n```js\nif (a < b) `x`\n```\n\n> quoted',
        },
        {
          kind: 'chart',
          metric: 'val/loss',
          where: '',
          frozen: [{ label: 'r|1', steps: [0, 9], values: [2, 0.5] }],
        },
        {
          kind: 'runs',
          where: '',
          columns: ['config.lr'],
          frozen: { titles: ['Run', 'config.lr'], rows: [['r|1', '0.1']] },
        },
      ],
    });
    const html = await writtenReportHtml(report);
    checkHtml(html);
    for (const part of [
      '<h1>Rates &amp; &lt;b&gt;</h1>',
      '<h2>Found</h2>',
      '<a href="https://a.example/?b=1&amp;c" rel="noopener noreferrer nofollow ugc">page</a> here',
      '☑ ',
      '<code>if (a &lt; b) `x`</code>',
      '<path class="curve s0"',
      '<td>r|1</td><td>0.1</td>',
    ])
      expect(html).toContain(part);
    expect(writtenReportMarkdown(report)).toMatchInlineSnapshot(`
      "# Rates &amp; &lt;b&gt;

      ## Found

      1. one
      2. *two* [page](<https://a.example/?b=1&c>) here

      - [x] done

      \`\`\`
      if (a < b) \`x\`
      \`\`\`

      > quoted

      **val/loss**

      | Run | First | Lowest | Last | Last step |
      | --- | --- | --- | --- | --- |
      | r\\|1 | 2 | 0.5 | 0.5 | 9 |

      | Run | config.lr |
      | --- | --- |
      | r\\|1 | 0.1 |
      "
    `);
  });
});
