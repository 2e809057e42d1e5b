/** The lines of a console: only those on screen are drawn. */
import {
  useComputed,
  useSignal,
  useSignalEffect,
  type ReadonlySignal,
  type Signal,
} from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { ConsoleSpan } from 'quark-sdk/console';
import { centeredScroll, rowWindow, type RowWindow } from '../../parts/row-window.ts';
import { t } from '../../parts/t.ts';
import { lineSpans, lineText, type ConsoleColumns } from '../../worker/console-columns.ts';
import { partsOfLine, ROW_CHARS } from './line-parts.ts';
import { lineLevel } from './matching.ts';

/** The height of a line, as `style.css` has it. */
const ROW_PX = 20;
const ROWS_AROUND = 12;
/** The last line is in view where the end of the list is this near. */
const NEAR_END_PX = 2 * ROW_PX;

/** Which lines are shown, and how. */
export type LinesProps = {
  readonly columns: ReadonlySignal<ConsoleColumns>;
  /** Indices of the lines that are shown; undefined for all. */
  readonly matches: ReadonlySignal<Uint32Array | undefined>;
  /** The number of the first line, counted from 1. */
  readonly firstNumber: number;
  readonly search: string;
  /** Whether the last line stays in view as lines come. */
  readonly isFollowing: Signal<boolean>;
  /** The number of the line that the address names. */
  readonly chosen: Signal<number | undefined>;
};

/** The lines, in a box of their own that scrolls. */
export function ConsoleLines(props: LinesProps): JSX.Element {
  const { columns, isFollowing, matches } = props;
  const box = useRef<HTMLDivElement>(null);
  const scrollTop = useSignal(0);
  const height = useHeight(box);
  const count = useComputed(() => matches.value?.length ?? columns.value.ends.length);
  useSignalEffect(() => {
    const end = count.value * ROW_PX;
    // After the list has its new height.
    if (isFollowing.value) requestAnimationFrame(() => box.current?.scrollTo({ top: end }));
  });
  useGoingTo(box, props, height);
  const shown = rowWindow({
    rowCount: count.value,
    rowHeight: ROW_PX,
    scrollTop: scrollTop.value,
    height: height.value,
    around: ROWS_AROUND,
  });
  return (
    <div
      ref={box}
      class="console-box card"
      tabIndex={0}
      role="region"
      aria-label={t('Lines of the console')}
      onScroll={({ currentTarget: it }) => {
        scrollTop.value = it.scrollTop;
        isFollowing.value = it.scrollHeight - it.scrollTop - it.clientHeight < NEAR_END_PX;
      }}
    >
      <ol class="console-lines" style={{ height: `${count.value * ROW_PX}px` }}>
        <Rows {...props} shown={shown} />
      </ol>
    </div>
  );
}

function Rows(props: LinesProps & { readonly shown: RowWindow }): JSX.Element {
  const { chosen, columns, firstNumber, matches, search, shown } = props;
  const rows = Array.from(
    { length: Math.max(0, shown.end - shown.first) },
    (_, at) => shown.first + at,
  );
  return (
    <>
      {rows.map((row) => {
        const line = matches.value?.[row] ?? row;
        const number = firstNumber + line;
        return (
          <Line
            key={number}
            columns={columns.value}
            line={line}
            number={number}
            top={row * ROW_PX}
            search={search}
            chosen={chosen}
          />
        );
      })}
    </>
  );
}

/** The height of the box, whatever changes it. */
function useHeight(box: { readonly current: HTMLDivElement | null }): Signal<number> {
  const height = useSignal(600);
  useEffect(() => {
    const { current } = box;
    if (current === null) return undefined;
    const observer = new ResizeObserver(() => {
      height.value = current.clientHeight;
    });
    observer.observe(current);
    return () => observer.disconnect();
  }, []);
  return height;
}

/** Scrolls to the line that the address names, when it is there and whenever another one is named. */
function useGoingTo(
  box: { readonly current: HTMLDivElement | null },
  { chosen, columns, firstNumber, isFollowing, matches }: LinesProps,
  height: Signal<number>,
): void {
  const shown = useRef<number | undefined>(undefined);
  useSignalEffect(() => {
    const number = chosen.value;
    const list = matches.value;
    const rowCount = list?.length ?? columns.value.ends.length;
    if (number === undefined || number === shown.current) return;
    const line = number - firstNumber;
    const row = list === undefined ? line : list.indexOf(line);
    if (row < 0 || row >= rowCount) return;
    shown.current = number;
    isFollowing.value = false;
    const top = centeredScroll({ rowCount, rowHeight: ROW_PX, height: height.peek() }, row);
    requestAnimationFrame(() => {
      const { current } = box;
      if (current === null) return;
      // A line that somebody has just clicked is in view, and stays where it is.
      const isInView =
        row * ROW_PX >= current.scrollTop &&
        (row + 1) * ROW_PX <= current.scrollTop + current.clientHeight;
      if (!isInView) current.scrollTo({ top });
    });
  });
}

function Line(props: {
  readonly columns: ConsoleColumns;
  readonly line: number;
  readonly number: number;
  readonly top: number;
  readonly search: string;
  readonly chosen: Signal<number | undefined>;
}): JSX.Element {
  const { chosen, columns, line, number, search, top } = props;
  const text = lineText(columns, line);
  return (
    <li
      class="console-line"
      data-level={lineLevel(columns, line)}
      data-chosen={chosen.value === number}
      style={{ top: `${top}px` }}
    >
      <button
        type="button"
        class="console-number"
        aria-label={t('Line {number}', { number })}
        aria-pressed={chosen.value === number}
        onClick={() => {
          chosen.value = chosen.peek() === number ? undefined : number;
        }}
      >
        {number}
      </button>
      <time class="console-time">{clockText(columns.timesMs[line] ?? 0)}</time>
      <span class="console-text" dir="ltr">
        <LineText text={text} spans={lineSpans(columns, line)} search={search} />
        {text.length > ROW_CHARS && <span class="quiet"> …</span>}
      </span>
    </li>
  );
}

/** The text of a line with its colours and marks. */
export function LineText(props: {
  readonly text: string;
  readonly spans: readonly ConsoleSpan[];
  readonly search: string;
  readonly chars?: number;
}): JSX.Element {
  const parts = partsOfLine(props.text, props.spans, props.search, props.chars);
  return (
    <>
      {parts.map(({ isFound, span, text }, at) => {
        const Part = isFound ? 'mark' : 'span';
        return (
          // oxlint-disable-next-line react/no-array-index-key -- parts of a line do not move
          <Part key={at} {...(span === undefined ? {} : styleOfSpan(span))}>
            {text}
          </Part>
        );
      })}
    </>
  );
}

/** Named colours are those of the theme; others are mixed with the ink of the page, so that they can be read on it. */
function styleOfSpan(span: ConsoleSpan): {
  class: string;
  style: { color?: string; background?: string };
} {
  const { background, color, isBold, isDim, isItalic, isUnderlined } = span;
  const names = [
    isBold && 'is-bold',
    isDim && 'is-dim',
    isItalic && 'is-italic',
    isUnderlined && 'is-underlined',
    color !== null && !color.startsWith('#') && `ink-${color.replace('bright-', '')}`,
  ];
  const ground =
    background?.startsWith('#') === false
      ? `var(--console-${background.replace('bright-', '')})`
      : background;
  return {
    class: names.filter(Boolean).join(' '),
    style: {
      ...(color?.startsWith('#') === true
        ? { color: `color-mix(in oklab, ${color} 55%, var(--ink))` }
        : {}),
      ...(ground === null || ground === undefined
        ? {}
        : { background: `color-mix(in oklab, ${ground} 22%, transparent)` }),
    },
  };
}

const two = (value: number): string => String(value).padStart(2, '0');

/** `14:03:07`, in the time of the reader. */
function clockText(timeMs: number): string {
  const at = new Date(timeMs);
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}
