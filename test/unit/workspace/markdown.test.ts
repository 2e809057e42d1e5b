import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseMarkdown } from '../../../src/workspace/markdown/blocks.ts';
import { linkAddress, parseSpans } from '../../../src/workspace/markdown/spans.ts';
import type { MarkdownBlock, MarkdownSpan } from '../../../src/workspace/markdown/tree.ts';
import { runs } from '../../support/property.ts';

const spansOf = (text: string): readonly MarkdownSpan[] => parseSpans(text, { left: 1000 });
const text = (value: string): MarkdownSpan => ({ kind: 'text', text: value });

/** All that a reader could see of spans, and where they lead. */
function flat(spans: readonly MarkdownSpan[]): { text: string; hrefs: string[] } {
  let said = '';
  const hrefs: string[] = [];
  for (const span of spans) {
    if (span.kind === 'text' || span.kind === 'code') said += span.text;
    else if (span.kind !== 'break') {
      if (span.kind === 'link') hrefs.push(span.href);
      const inside = flat(span.spans);
      said += inside.text;
      hrefs.push(...inside.hrefs);
    }
  }
  return { text: said, hrefs };
}

function flatBlocks(blocks: readonly MarkdownBlock[]): { text: string; hrefs: string[] } {
  const all = blocks.map((block) => {
    switch (block.kind) {
      case 'heading':
      case 'paragraph':
        return flat(block.spans);
      case 'code':
        return { text: block.text, hrefs: [] };
      case 'quote':
        return flatBlocks(block.blocks);
      case 'list':
        return flatBlocks(block.items.flatMap((item) => item.blocks));
      case 'table':
        return flat([...block.head, ...block.rows.flat()].flat());
      case 'rule':
        return { text: '', hrefs: [] };
    }
  });
  return { text: all.map((one) => one.text).join('\n'), hrefs: all.flatMap((one) => one.hrefs) };
}

describe('text within a block', () => {
  it('knows emphasis, code, links and line breaks', () => {
    expect(spansOf('a **b *c*** `d*e*` ~~f~~ g_h_i')).toEqual([
      text('a '),
      { kind: 'strong', spans: [text('b '), { kind: 'em', spans: [text('c')] }] },
      text(' '),
      { kind: 'code', text: 'd*e*' },
      text(' '),
      { kind: 'strike', spans: [text('f')] },
      text(' g_h_i'),
    ]);
    expect(spansOf('see [the *run*](#/runs/run_1), or https://a.example/b_(c).')).toEqual([
      text('see '),
      {
        kind: 'link',
        href: '#/runs/run_1',
        spans: [text('the '), { kind: 'em', spans: [text('run')] }],
      },
      text(', or '),
      { kind: 'link', href: 'https://a.example/b_(c', spans: [text('https://a.example/b_(c')] },
      text(').'),
    ]);
    expect(spansOf('a  \nb\\\nc\nd \\*e\\*')).toEqual([
      text('a'),
      { kind: 'break' },
      text('b'),
      { kind: 'break' },
      text('c\nd *e*'),
    ]);
    expect(spansOf('2 * 3 * 4 and a*')).toEqual([text('2 * 3 * 4 and a*')]);
    expect(spansOf('``a`b`` `c')).toEqual([{ kind: 'code', text: 'a`b' }, text(' `c')]);
  });

  it('leaves text text that only looks like a mark', () => {
    for (const one of ['*', '**', '[', ']', '![', '[a]', '[a](', '~', '`', '\\', '<', 'h', '__ __'])
      expect(flat(spansOf(one)).text).toBe(one);
  });
});

describe('blocks', () => {
  it('knows headings, lists, tasks, quotes, code, tables and rules', () => {
    const blocks = parseMarkdown(
      [
        '## Result ##',
        'One line',
        'and the next.',
        '',
        '- [x] done',
        '- [ ] to do',
        '  1. first',
        '  2. second',
        '',
        '> said',
        'and on',
        '',
        '```ts',
        '# no heading <b>',
        '```',
        '---',
        'a | b',
        '--|:-:',
        '1 | 2 | 3',
        'x',
      ].join('\n'),
    );
    expect(blocks.map(({ kind }) => kind)).toEqual([
      'heading',
      'paragraph',
      'list',
      'quote',
      'code',
      'rule',
      'table',
      'paragraph',
    ]);
    expect(blocks[0]).toMatchObject({ level: 2, spans: [text('Result')] });
    expect(blocks[2]).toMatchObject({
      start: null,
      items: [
        { isDone: true, blocks: [{ kind: 'paragraph' }] },
        { isDone: false, blocks: [{ kind: 'paragraph' }, { kind: 'list', start: 1 }] },
      ],
    });
    expect(blocks[3]).toMatchObject({ blocks: [{ spans: [text('said\nand on')] }] });
    expect(blocks[4]).toMatchObject({ language: 'ts', text: '# no heading <b>' });
    expect(blocks[6]).toMatchObject({
      head: [[text('a')], [text('b')]],
      rows: [[[text('1')], [text('2')]]],
    });
  });
});

describe('hostile text', () => {
  it('follows pages, mail and views of this page, and nothing else', () => {
    for (const href of ['https://a.example/', 'HTTP://a', 'mailto:a@b.example', '#/runs/run_1'])
      expect(linkAddress(href)).toBe(href);
    for (const href of [
      'javascript:alert(1)',
      'JaVaScRiPt:alert(1)',
      ' javascript:alert(1)',
      '\u0001javascript:alert(1)',
      'java\nscript:alert(1)',
      'data:text/html,<script>alert(1)</script>',
      'vbscript:x',
      'file:///etc/passwd',
      'blob:https://a.example/b',
      '//evil.example',
      '/api/v1/runs',
      'https:',
      'https:///x',
      '#x',
      '',
    ])
      expect(linkAddress(href)).toBeUndefined();
  });

  it('makes no link of an address that may not be followed', () => {
    for (const one of [
      '[a](javascript:alert(1))',
      '[a](<javascript:alert(1)>)',
      '[a](data:text/html;base64,PHNjcmlwdD4=)',
      '![a](data:image/svg+xml,<svg/onload=alert(1)>)',
      '<javascript:alert(1)>',
      '[a]( javascript:alert(1) "title")',
      '[a](java&#115;cript:alert(1))',
      '[a](\\javascript:alert(1))',
    ]) {
      expect(flat(spansOf(one)).hrefs, one).toEqual([]);
    }
  });

  it('has HTML as text, and pictures as links', () => {
    const html = '<script>alert(1)</script><img src=x onerror=alert(1)><b>x</b>&lt;';
    expect(spansOf(html)).toEqual([text(html)]);
    expect(spansOf('![cat](https://evil.example/cat.png)')).toEqual([
      { kind: 'link', href: 'https://evil.example/cat.png', spans: [text('🖼 '), text('cat')] },
    ]);
  });

  it('takes deep and long texts in bounded time, and loses none of them', () => {
    const depth = 10_000;
    for (const [open, close] of [
      ['[', ']'],
      ['![', '](https://a.example)'],
      ['*', '*'],
      ['**', '**'],
      ['> ', ''],
      ['- ', ''],
      ['~~', '~~'],
      ['`', '``'],
      ['](', '('],
      ['<https://a', ''],
      ['|', '|\n'],
      ['1. ', '\n'],
      ['# ', ' #'],
      ['``` ', 'a'],
      ['[a](', ' '],
      ['-   ', 'y'],
      [' ', ' '],
      ['a|\n-', ' '],
      ['https://', '.'],
    ]) {
      const hard = `${(open ?? '').repeat(depth)}x${(close ?? '').repeat(depth)}`;
      const blocks = parseMarkdown(hard);
      expect(flatBlocks(blocks).text).toContain('x');
      expect(countOf(blocks)).toBeLessThan(30_000);
    }
    const long = parseMarkdown('*a* '.repeat(30_000));
    // Four thousand marks, with the texts in them and between them.
    expect(countOf(long)).toBeLessThan(13_000);
    expect(flatBlocks(long).text.length).toBeGreaterThan(50_000);
  });

  it('never leads anywhere but where it may, whatever the text is', () => {
    const part = fc.constantFrom(
      ...'*_~`[]()!<>|#-\\\n \t"&;:/'.split(''),
      '](',
      'javascript:alert(1)',
      'https://a.example',
      'data:text/html,x',
      'mailto:a@b',
      '#/runs/x',
      'word',
      '**',
      '1. ',
      '> ',
      '\u202e',
      '🙂',
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 60 }), (parts) => {
        const blocks = parseMarkdown(parts.join(''));
        for (const href of flatBlocks(blocks).hrefs)
          expect(href).toMatch(/^(?:https?:\/\/|mailto:|#\/)/i);
      }),
      runs(500),
    );
  });
});

function countOf(blocks: readonly MarkdownBlock[]): number {
  return JSON.stringify(blocks).split('"kind"').length - 1;
}
