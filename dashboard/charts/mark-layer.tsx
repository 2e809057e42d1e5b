/** Marks of what happened at steps, at the upper edge of a chart: each can be pointed at, focused and read. */
import { useComputed } from '@preact/signals';
import type { JSX } from 'preact';
import type { ChartMarkKind } from 'quark-sdk/workspace';
import { t, tn } from '../parts/t.ts';
import type { ChartState } from './chart-state.ts';
import { axisPosition } from './plot/axis-ticks.ts';
import { markGroups, placedMarks, type MarkGroup } from './marks.ts';

/** Texts of a mark that are shown. */
const MOST_TEXTS = 6;

/** The marks of a chart that are in sight. */
export function MarkLayer({ chart }: { readonly chart: ChartState }): JSX.Element | null {
  const groups = useComputed((): readonly MarkGroup[] => {
    const marks = chart.props.marks?.value ?? [];
    const drawing = chart.drawn.value;
    if (marks.length === 0 || drawing === undefined) return [];
    const { curves, settings } = drawing.model;
    const [first] = curves;
    const { startMs } = chart.props.context.value.originOf(first?.key ?? '');
    const view = { settings, curves, startMs };
    return markGroups(placedMarks(marks, chart.props.view.hidden.value, view), drawing.frame);
  });
  const frame = chart.drawn.value?.frame;
  if (groups.value.length === 0 || frame === undefined) return null;
  return (
    <div class="mark-layer">
      {groups.value.map((group) => (
        <MarkButton
          key={`${group.x}`}
          group={group}
          top={frame.top}
          height={frame.height}
          isLeft={group.left > frame.left + frame.width / 2}
          position={axisPosition(group.x, chart.settings.value.axis)}
        />
      ))}
    </div>
  );
}

function MarkButton(props: {
  readonly group: MarkGroup;
  readonly top: number;
  readonly height: number;
  /** Whether the text is to the left. */
  readonly isLeft: boolean;
  readonly position: string;
}): JSX.Element {
  const { kind, left, marks } = props.group;
  const texts = marks.slice(0, MOST_TEXTS);
  const rest = marks.length - texts.length;
  // Of several the gravest kind leads on, as it gives the mark its sign.
  const href = (marks.find((mark) => mark.kind === kind && mark.href !== undefined) ?? marks[0])
    ?.href;
  const said = texts.map((mark) => `${kindWord(mark.kind)}: ${mark.text}`).join('; ');
  const shared = {
    class: `chart-mark mark-${kind}`,
    'data-side': props.isLeft ? 'left' : 'right',
    style: { left: `${left}px`, top: `${props.top}px`, '--mark-height': `${props.height}px` },
  };
  const inside = (
    <>
      <span class="mark-sign" aria-hidden="true">
        {marks.length > 1 ? marks.length : SIGNS[kind]}
      </span>
      <span class="mark-text floating" aria-hidden="true">
        <strong>{props.position}</strong>
        {texts.map((mark, at) => (
          <span key={at}>
            <em class={`mark-${mark.kind}`}>{kindWord(mark.kind)}</em> {mark.text}
          </span>
        ))}
        {rest > 0 && <span class="quiet">{tn(rest, '{count} more', '{count} more')}</span>}
        {href !== undefined && <span class="quiet">{t('Click: what it rests on')}</span>}
      </span>
    </>
  );
  if (href === undefined)
    return (
      <button type="button" aria-label={`${props.position}: ${said}`} {...shared}>
        {inside}
      </button>
    );
  return (
    <a
      href={href}
      aria-label={t('{mark}. Show what it rests on', {
        mark: `${props.position}: ${said.replace(/\.$/, '')}`,
      })}
      {...shared}
    >
      {inside}
    </a>
  );
}

const SIGNS: Readonly<Record<ChartMarkKind, string>> = {
  alert: '!',
  phase: '↦',
  event: '•',
  note: '✎',
};

/** A kind of mark in the language of the reader. */
export function kindWord(kind: ChartMarkKind): string {
  switch (kind) {
    case 'alert':
      return t('Alert');
    case 'phase':
      return t('Phase');
    case 'event':
      return t('Event');
    case 'note':
      return t('Note');
  }
}
