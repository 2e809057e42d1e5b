/** Markdown of a run on the page: elements of a fixed list, and text. Nothing in it can run, or be fetched. */
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import {
  parseMarkdown,
  type MarkdownBlock,
  type MarkdownItem,
  type MarkdownSpan,
} from 'quark-sdk/workspace';
import './style.css';

/** A text as it was meant. Its highest heading is one of level `topLevel`, as the page has headings of its own above it. */
export function Markdown(props: {
  readonly text: string;
  /** The level of the highest heading of the text on the page; default 3. */
  readonly topLevel?: number;
}): JSX.Element {
  const { text, topLevel = 3 } = props;
  const blocks = useMemo(() => parseMarkdown(text), [text]);
  const highest = Math.min(6, ...levelsOf(blocks));
  return (
    <div class="markdown breakable" dir="auto">
      <Blocks blocks={blocks} topLevel={topLevel - highest + 1} />
    </div>
  );
}

/** The levels of all headings, also of those in quotes and lists. */
function levelsOf(blocks: readonly MarkdownBlock[]): number[] {
  return blocks.flatMap((block) => {
    if (block.kind === 'heading') return [block.level];
    if (block.kind === 'quote') return levelsOf(block.blocks);
    return block.kind === 'list' ? block.items.flatMap((item) => levelsOf(item.blocks)) : [];
  });
}

function Blocks(props: {
  readonly blocks: readonly MarkdownBlock[];
  readonly topLevel: number;
}): JSX.Element {
  return (
    <>
      {props.blocks.map((block, at) => (
        // oxlint-disable-next-line react/no-array-index-key -- blocks are what the text says, in its order
        <Block key={at} block={block} topLevel={props.topLevel} />
      ))}
    </>
  );
}

const HEADINGS = ['h1', 'h2', 'h3', 'h4', 'h5', 'h6'] as const;

function Block(props: { readonly block: MarkdownBlock; readonly topLevel: number }): JSX.Element {
  const { block, topLevel } = props;
  switch (block.kind) {
    case 'heading': {
      const Heading = HEADINGS[Math.min(6, topLevel + block.level - 1) - 1] ?? 'h6';
      return (
        <Heading>
          <Spans spans={block.spans} />
        </Heading>
      );
    }
    case 'paragraph':
      return (
        <p>
          <Spans spans={block.spans} />
        </p>
      );
    case 'code':
      return (
        <pre tabIndex={0}>
          <code>{block.text}</code>
        </pre>
      );
    case 'quote':
      return (
        <blockquote>
          <Blocks blocks={block.blocks} topLevel={topLevel} />
        </blockquote>
      );
    case 'list':
      return <List items={block.items} start={block.start} topLevel={topLevel} />;
    case 'table':
      return <Table {...block} />;
    case 'rule':
      return <hr />;
  }
}

function List(props: {
  readonly items: readonly MarkdownItem[];
  readonly start: number | null;
  readonly topLevel: number;
}): JSX.Element {
  const items = props.items.map(({ blocks, isDone }, at) => (
    // oxlint-disable-next-line react/no-array-index-key -- as above
    <li key={at} class={isDone === null ? undefined : 'task'}>
      {isDone !== null && (
        <input type="checkbox" checked={isDone} disabled aria-label={isDone ? '✓' : '–'} />
      )}
      <Blocks blocks={blocks} topLevel={props.topLevel} />
    </li>
  ));
  return props.start === null ? <ul>{items}</ul> : <ol start={props.start}>{items}</ol>;
}

function Table(props: Extract<MarkdownBlock, { readonly kind: 'table' }>): JSX.Element {
  return (
    <div class="markdown-table" tabIndex={0}>
      <table>
        <thead>
          <tr>
            {props.head.map((spans, at) => (
              // oxlint-disable-next-line react/no-array-index-key -- as above
              <th key={at}>
                <Spans spans={spans} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {props.rows.map((row, at) => (
            // oxlint-disable-next-line react/no-array-index-key -- as above
            <tr key={at}>
              {row.map((spans, column) => (
                // oxlint-disable-next-line react/no-array-index-key -- as above
                <td key={column}>
                  <Spans spans={spans} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Spans({ spans }: { readonly spans: readonly MarkdownSpan[] }): JSX.Element {
  return (
    <>
      {spans.map((span, at) => (
        // oxlint-disable-next-line react/no-array-index-key -- as above
        <Span key={at} span={span} />
      ))}
    </>
  );
}

function Span({ span }: { readonly span: MarkdownSpan }): JSX.Element {
  switch (span.kind) {
    case 'text':
      return <>{span.text}</>;
    case 'code':
      return <code>{span.text}</code>;
    case 'break':
      return <br />;
    case 'link':
      return <MarkdownLink href={span.href} spans={span.spans} />;
    case 'strong':
    case 'em':
      return (
        <span.kind>
          <Spans spans={span.spans} />
        </span.kind>
      );
    case 'strike':
      return (
        <s>
          <Spans spans={span.spans} />
        </s>
      );
  }
}

/** Other sites open in a tab of their own, and are not told where the reader came from. */
function MarkdownLink(props: {
  readonly href: string;
  readonly spans: readonly MarkdownSpan[];
}): JSX.Element {
  const isHere = props.href.startsWith('#');
  return (
    <a
      class="link-text"
      href={props.href}
      dir="auto"
      title={props.href}
      {...(isHere ? {} : { target: '_blank', rel: 'noopener noreferrer nofollow ugc' })}
    >
      <Spans spans={props.spans} />
    </a>
  );
}
