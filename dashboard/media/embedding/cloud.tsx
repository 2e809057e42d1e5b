/** A cloud of points on a canvas: turned, moved and zoomed by pointer and keys; a click or Enter chooses a point. */
import { useSignal, useSignalEffect, type ReadonlySignal, type Signal } from '@preact/signals';
import type { JSX, RefObject } from 'preact';
import { useRef } from 'preact/hooks';
import { IconButton } from '../../parts/controls.tsx';
import { formatCount } from '../../parts/format.ts';
import { t } from '../../parts/t.ts';
import { seriesColor } from '../../theme/palette.ts';
import { shownTheme } from '../../theme/theme.ts';
import { useWidthOf } from '../use-width.ts';
import {
  cameraByKey,
  FIRST_CAMERA,
  pointAt,
  radiusOf,
  seenPoints,
  type Camera,
  type Seen,
} from './camera.ts';
import type { LabelGroups } from './neighbours.ts';

const HEIGHT_PX = 420;
const PICK_PX = 14;
/** Movement of a pointer that counts as a click, in pixels. */
const CLICK_PX = 4;

/** The points to draw. */
export type CloudPoints = {
  /** `[count, stride]`. */
  readonly positions: Float64Array;
  readonly stride: number;
  readonly groups: LabelGroups;
  readonly is3d: boolean;
  /** Points that stand out: those with a label that was searched for. */
  readonly marked: ReadonlySet<number>;
};

type CloudProps = {
  readonly label: string;
  readonly points: ReadonlySignal<CloudPoints>;
  readonly chosen: Signal<number | undefined>;
};

/** The cloud. */
export function Cloud(props: CloudProps): JSX.Element {
  const { chosen, points } = props;
  const host = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const width = useWidthOf(host);
  const camera = useSignal<Camera>(FIRST_CAMERA);
  const seen = useRef<Seen | undefined>(undefined);
  usePainting(props, { canvas, camera, seen, width });
  const choose = (x: number, y: number, within: number): void => {
    if (seen.current !== undefined) chosen.value = pointAt(seen.current, x, y, within);
  };
  const drag = useDrag(camera, points, choose);
  const byKey = (key: string): boolean => {
    const next = cameraByKey(key, camera.peek(), points.peek().is3d);
    if (next !== undefined) camera.value = next;
    else if (key === 'Enter') choose(width / 2, HEIGHT_PX / 2, Infinity);
    else if (key === 'Escape') chosen.value = undefined;
    else return false;
    return true;
  };
  return (
    <div ref={host} class="cloud">
      <canvas
        ref={canvas}
        tabIndex={0}
        role="application"
        aria-label={t(
          '{name}: {count} points. Arrow keys turn or move, plus and minus zoom, 0 shows all, Enter chooses the point in the middle.',
          {
            name: props.label,
            count: formatCount(points.value.positions.length / points.value.stride),
          },
        )}
        style={{ height: `${HEIGHT_PX}px` }}
        {...drag}
        onKeyDown={(event) => {
          if (byKey(event.key)) event.preventDefault();
        }}
      />
      <div class="cloud-tools row">
        <IconButton icon="expand" label={t('Zoom in')} onClick={() => byKey('+')} />
        <IconButton icon="shrink" label={t('Zoom out')} onClick={() => byKey('-')} />
        <IconButton icon="undo" label={t('Show all points')} onClick={() => byKey('0')} />
      </div>
    </div>
  );
}

type PointerHandler = (event: PointerEvent & { readonly currentTarget: HTMLCanvasElement }) => void;

/** Turns or moves the cloud while a pointer is down; a pointer that did not move chooses. */
function useDrag(
  camera: Signal<Camera>,
  points: ReadonlySignal<CloudPoints>,
  choose: (x: number, y: number, within: number) => void,
): Record<'onPointerDown' | 'onPointerMove' | 'onPointerUp', PointerHandler> {
  const from = useRef<{ x: number; y: number; moved: number } | undefined>(undefined);
  return {
    onPointerDown: (event) => {
      event.currentTarget.setPointerCapture(event.pointerId);
      from.current = { x: event.clientX, y: event.clientY, moved: 0 };
    },
    onPointerMove: ({ clientX, clientY, currentTarget }) => {
      const before = from.current;
      if (before === undefined) return;
      const [dx, dy] = [clientX - before.x, clientY - before.y];
      from.current = { x: clientX, y: clientY, moved: before.moved + Math.hypot(dx, dy) };
      const { clientHeight, clientWidth } = currentTarget;
      const now = camera.peek();
      camera.value = points.peek().is3d
        ? { ...now, yaw: now.yaw + dx / 120, pitch: now.pitch + dy / 120 }
        : { ...now, panX: now.panX + dx / clientWidth, panY: now.panY + dy / clientHeight };
    },
    onPointerUp: (event) => {
      const moved = from.current?.moved ?? 0;
      from.current = undefined;
      if (moved > CLICK_PX) return;
      const frame = event.currentTarget.getBoundingClientRect();
      choose(event.clientX - frame.left, event.clientY - frame.top, PICK_PX);
    },
  };
}

/** Paints in a frame whenever points, camera, size, choice or theme change. */
function usePainting(
  { chosen, points }: CloudProps,
  drawn: {
    readonly canvas: RefObject<HTMLCanvasElement | null>;
    readonly camera: ReadonlySignal<Camera>;
    readonly seen: { current: Seen | undefined };
    readonly width: number;
  },
): void {
  const width = useSignal(drawn.width);
  width.value = drawn.width;
  useSignalEffect(() => {
    const cloud = points.value;
    const camera = drawn.camera.value;
    const at = chosen.value;
    const size = { width: width.value, height: HEIGHT_PX };
    void shownTheme.value;
    const frame = requestAnimationFrame(() => {
      const { current } = drawn.canvas;
      if (current === null || size.width === 0) return;
      const { is3d, positions, stride } = cloud;
      const radius = radiusOf(positions, stride, is3d ? 3 : 2);
      const seen = seenPoints({ positions, stride, radius, is3d }, camera, size);
      drawn.seen.current = seen;
      paintCloud(current, cloud, seen, at);
    });
    return () => cancelAnimationFrame(frame);
  });
}

function paintCloud(
  canvas: HTMLCanvasElement,
  { groups, is3d, marked }: CloudPoints,
  { depths, xs, ys }: Seen,
  chosen: number | undefined,
): void {
  const ratio = devicePixelRatio;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const context = canvas.getContext('2d');
  if (context === null) return;
  context.scale(ratio, ratio);
  const style = getComputedStyle(canvas);
  const ink = style.getPropertyValue('--ink').trim();
  const other = style.getPropertyValue(groups.labels.length === 0 ? '--accent' : '--ink-3').trim();
  const side = xs.length > 4000 ? 2.5 : 4;
  context.globalAlpha = marked.size > 0 ? 0.25 : 0.8;
  // A colour at a time: changing it is what takes long.
  for (let group = -1; group < groups.labels.length; group += 1) {
    context.fillStyle = group < 0 ? other : seriesColor(group);
    for (const [i, x] of xs.entries()) {
      if ((groups.groupOf[i] ?? -1) !== group) continue;
      const own = is3d ? side * (1 + 0.45 * (depths[i] ?? 0)) : side;
      context.fillRect(x - own / 2, (ys[i] ?? 0) - own / 2, own, own);
    }
  }
  context.globalAlpha = 1;
  for (const i of marked) {
    context.fillStyle = groupColor(groups, i, other);
    context.fillRect((xs[i] ?? 0) - 3.5, (ys[i] ?? 0) - 3.5, 7, 7);
  }
  if (chosen === undefined) return;
  context.strokeStyle = ink;
  context.lineWidth = 2;
  context.beginPath();
  context.arc(xs[chosen] ?? 0, ys[chosen] ?? 0, 8, 0, 2 * Math.PI);
  context.stroke();
}

function groupColor({ groupOf }: LabelGroups, index: number, other: string): string {
  const group = groupOf[index] ?? -1;
  return group < 0 ? other : seriesColor(group);
}
