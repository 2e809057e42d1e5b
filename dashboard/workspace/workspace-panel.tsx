/** A panel of a workspace: drawn while it is near the screen, moved by drag and by keys. */
import { useComputed, useSignal, type ReadonlySignal, type Signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { chartSettings, type ChartChoices, type ChartSettings } from 'quark-sdk/workspace';
import { Badges } from '../charts/chart-badges.tsx';
import { ChartBody } from '../charts/chart-body.tsx';
import { ChartSave } from '../charts/chart-save.tsx';
import { useChart, type ChartLink, type ChartProps } from '../charts/chart-state.ts';

import { ALL_PANELS } from '../charts/chart-view.ts';
import { metricOfAxis } from '../charts/plot/chart-settings.ts';
import { IconButton } from '../parts/controls.tsx';
import { useOnScreen } from '../parts/hooks.ts';
import { t } from '../parts/t.ts';
import { linkOf } from './panel-link.ts';
import { FORMULA_MARK, type ShownPanel } from './layout.ts';
import { legendName } from '../charts/group.ts';

/** Columns of a panel that goes over the whole width. */
export const WHOLE_WIDTH = 6;

/** What all panels of a workspace are drawn with. */
export type PanelSource = Omit<ChartProps, 'group' | 'settings'> & {
  /** What the workspace says of charts. */
  readonly choices: ReadonlySignal<ChartChoices>;
  readonly several?: SeveralCurves;
};

/** Metrics that have several curves each. */
export type SeveralCurves = {
  /** Keys of the curves of metrics and formulas. Another object where other curves are drawn. */
  readonly keysOf: (keys: readonly string[]) => readonly string[];
  /** Called while `chart` is near the screen with the metrics and formulas that it needs, and with undefined when it leaves. */
  readonly onNear: (chart: object, keys: readonly string[] | undefined) => void;
};

/** What is done with a panel. */
export type PanelActions = {
  /** Moves it by some positions among those beside it. */
  readonly shift: (by: number) => void;
  /** Puts it where another one is. */
  readonly dropOn: (panelId: string) => void;
  readonly setWidth: (columns: number | undefined) => void;
  readonly openFull: () => void;
  readonly openSettings: () => void;
};

/** A panel that is dragged, and the one that it is over. */
export type Dragged = { readonly id: string; readonly over: string | undefined };

type WorkspacePanelProps = {
  readonly shown: ShownPanel;
  readonly source: PanelSource;
  /** What the section says of charts. */
  readonly section: ChartChoices;
  /** Metrics of all charts of the section. */
  readonly sectionKeys: readonly string[];
  readonly actions: PanelActions;
  /** The panel that is dragged; undefined for none. */
  readonly dragged: Signal<Dragged | undefined>;
};

/** The frame of a panel; what is in it comes and goes with the screen. */
export function WorkspacePanel(props: WorkspacePanelProps): JSX.Element {
  const { dragged, shown } = props;
  const frame = useRef<HTMLElement>(null);
  const isNear = useSignal(false);
  const height = useRef<number | undefined>(undefined);
  useOnScreen(
    frame,
    (near) => {
      // A panel that goes leaves a frame of its height.
      if (!near && isNear.peek()) height.current = frame.current?.offsetHeight;
      isNear.value = near;
    },
    '800px',
  );
  const { panel } = shown;
  const width = panel.width ?? 1;
  const style: Record<string, string> = {
    ...(width > 1 && width < WHOLE_WIDTH ? { '--panel-width': String(width) } : {}),
    ...(panel.height === undefined ? {} : { '--chart-height': `${panel.height}px` }),
    ...(isNear.value || height.current === undefined
      ? {}
      : { 'min-height': `${height.current}px` }),
  };
  return (
    <section
      ref={frame}
      class="panel card"
      data-wide={width >= WHOLE_WIDTH}
      data-spans={width > 1 && width < WHOLE_WIDTH}
      data-tall={panel.height !== undefined}
      data-group={shown.id}
      data-metrics={shown.keys.length}
      data-drop={dragged.value?.over === shown.id}
      data-dragged={dragged.value?.id === shown.id}
      aria-label={shown.title}
      style={style}
    >
      {isNear.value ? <DrawnPanel {...props} /> : <h3 class="panel-head">{shown.title}</h3>}
    </section>
  );
}

function DrawnPanel(props: WorkspacePanelProps): JSX.Element {
  const { actions, shown } = props;
  const { title } = shown;
  const settings = useSettings(props);
  const link = useLink(props);
  const chart = useChart({ ...chartPropsOf(props), link, settings });
  useNearness(props, settings);
  const isWide = (shown.panel.width ?? 1) >= WHOLE_WIDTH;
  return (
    <>
      <header class="panel-head row gap-8">
        <Handle {...props} />
        <h3 class="ellipsis" title={title}>
          {title}
        </h3>
        <Badges chart={chart} />
        <span class="push row">
          <ChartSave chart={chart} />
          <IconButton
            icon={isWide ? 'shrink' : 'expand'}
            label={isWide ? t('Make this chart smaller') : t('Make this chart larger')}
            aria-pressed={isWide}
            onClick={() => actions.setWidth(isWide ? undefined : WHOLE_WIDTH)}
          />
          <IconButton
            icon="more"
            label={t('Settings of {title}', { title })}
            title={t('Size, pin, hide, full screen and settings of this chart')}
            aria-haspopup="dialog"
            onClick={actions.openSettings}
          />
        </span>
      </header>
      <ChartBody chart={chart} />
    </>
  );
}

/** What a panel is moved by: a pointer or a finger drags it, arrow keys shift it. */
function Handle({ actions, dragged, shown }: WorkspacePanelProps): JSX.Element {
  const { id, title } = shown;
  const end = (): void => {
    dragged.value = undefined;
  };
  return (
    <button
      type="button"
      class="panel-handle"
      aria-label={t('Move {title}', { title })}
      title={t('Drag, or press the arrow keys, to move this chart')}
      onKeyDown={(event) => {
        const by = shiftOf(event.key);
        if (by === 0) return;
        event.preventDefault();
        actions.shift(by);
      }}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        dragged.value = { id, over: undefined };
      }}
      onPointerMove={({ clientX, clientY }) => {
        if (dragged.peek()?.id !== id) return;
        const over = panelAt(clientX, clientY);
        if (dragged.peek()?.over !== over) dragged.value = { id, over };
      }}
      onPointerUp={() => {
        const over = dragged.peek()?.over;
        end();
        if (over !== undefined && over !== id) actions.dropOn(over);
      }}
      onPointerCancel={end}
    >
      <span aria-hidden="true">⠿</span>
    </button>
  );
}

/** The panel at a position of the window. */
function panelAt(x: number, y: number): string | undefined {
  const panel = document.elementFromPoint(x, y)?.closest('.workspace-section .panel');
  return panel?.getAttribute('data-group') ?? undefined;
}

/** The same chart without its frame, as large as what it is in. */
export function FullPanel(
  props: Pick<WorkspacePanelProps, 'shown' | 'source' | 'section' | 'sectionKeys'>,
): JSX.Element {
  const settings = useSettings(props);
  const link = useLink(props);
  const chart = useChart({ ...chartPropsOf(props), link, settings });
  useNearness(props, settings);
  return (
    <div class="panel panel-full">
      <ChartBody chart={chart} />
    </div>
  );
}

function chartPropsOf({
  shown,
  source,
}: Pick<WorkspacePanelProps, 'shown' | 'source'>): ChartProps {
  const { id, keys, title } = shown;
  const { nameOf, several } = source;
  if (several !== undefined) return { ...source, group: { id, title, keys: several.keysOf(keys) } };
  return {
    ...source,
    group: { id, title, keys },
    nameOf: (key) => {
      if (key.startsWith(FORMULA_MARK)) return key.slice(FORMULA_MARK.length);
      return nameOf?.(key) ?? legendName(key, title);
    },
  };
}

/** Says what the chart needs for as long as it is there: its metrics, and that of its axis. */
function useNearness(
  { shown, source }: Pick<WorkspacePanelProps, 'shown' | 'source'>,
  settings: ReadonlySignal<ChartSettings>,
): void {
  const { several } = source;
  const axis = metricOfAxis(settings.value.axis);
  useEffect(() => {
    if (several === undefined) return undefined;
    const chart = {};
    several.onNear(chart, axis === undefined ? shown.keys : [...shown.keys, axis]);
    return () => several.onNear(chart, undefined);
  }, [several, shown.keys.join('|'), axis]);
}

function useSettings({
  section,
  shown,
  source,
}: Pick<WorkspacePanelProps, 'section' | 'shown' | 'source'>): ReadonlySignal<ChartSettings> {
  const own = useSignal<readonly ChartChoices[]>([]);
  const levels = [section, shown.panel];
  if (own.peek()[0] !== section || own.peek()[1] !== shown.panel) own.value = levels;
  return useComputed(() => {
    // Where the axis that was chosen separates no points, another one is shown.
    const workspace = { ...source.choices.value, axis: source.view.axis.value };
    return chartSettings([workspace, ...own.value]);
  });
}

/** The charts that this one shares its range with, as its panel, its section and the workspace say. */
function useLink({
  section,
  sectionKeys,
  shown,
  source,
}: Pick<WorkspacePanelProps, 'section' | 'sectionKeys' | 'shown' | 'source'>): ReadonlySignal<
  ChartLink | undefined
> {
  const given = useSignal({ section, sectionKeys, shown });
  const before = given.peek();
  const isSame =
    before.section === section &&
    before.shown.panel === shown.panel &&
    before.shown.sectionId === shown.sectionId &&
    before.sectionKeys.join('|') === sectionKeys.join('|');
  if (!isSame) given.value = { section, sectionKeys, shown };
  return useComputed(() => {
    const { section: choices, sectionKeys: keys, shown: panel } = given.value;
    const { value: isLinked } = source.view.isLinked;
    const id = linkOf(isLinked, choices, panel.panel, panel.sectionId);
    return id === undefined ? undefined : { id, keys: id === ALL_PANELS ? undefined : keys };
  });
}

function shiftOf(key: string): number {
  if (key === 'ArrowLeft' || key === 'ArrowUp') return -1;
  return key === 'ArrowRight' || key === 'ArrowDown' ? 1 : 0;
}
