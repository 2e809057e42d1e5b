/**
 * What wheel, pointer and fingers do on a chart. A plain wheel always scrolls the page: only with Ctrl, Alt or the command key it zooms, at
 * the pointer, which is also what the pinch of a trackpad sends. Two fingers zoom and move; one finger that goes sideways points, and up
 * and down it scrolls the page. With Shift a drag moves what is shown, without it chooses a part (uPlot does that).
 */
import { pannedRange, pinchedRange, zoomedRange, type TwoShares } from './chart-range.ts';
import { xAt, type AxisRange, type PlotFrame } from './plot-frame.ts';

/** The chart that the gestures are for. */
export type GestureTarget = {
  readonly frame: () => PlotFrame | undefined;
  /** All there is of the x axis. */
  readonly full: () => AxisRange;
  /** `joins`: one more move of the gesture before, not a step that one goes back to. */
  readonly zoom: (range: AxisRange | undefined, joins: boolean) => void;
  /** Points at an x. */
  readonly point: (x: number | undefined) => void;
};

/** How much a wheel zooms for each pixel that it would scroll. */
const ZOOM_PER_PX = 0.0025;
/** Turns of the wheel that follow each other this closely are one gesture. */
const SAME_GESTURE_MS = 400;
/** Pixels of a line and of a page, for wheels that count in those. */
const LINE_PX = 16;
const PAGE_PX = 400;

/** Follows gestures on `host`; returns what ends it. */
export function followGestures(host: HTMLElement, target: GestureTarget): () => void {
  const ended = new AbortController();
  const { signal } = ended;
  followWheel(host, target, signal);
  followShiftDrag(host, target, signal);
  followTouch(host, target, signal);
  return () => ended.abort();
}

/** Where a client position is on the width of the plot; undefined where there is no plot. */
function shareAt(host: HTMLElement, frame: PlotFrame, clientX: number): number {
  return (clientX - host.getBoundingClientRect().left - frame.left) / frame.width;
}

function followWheel(host: HTMLElement, target: GestureTarget, signal: AbortSignal): void {
  let lastMs = Number.NEGATIVE_INFINITY;
  const turn = (event: WheelEvent): void => {
    const frame = target.frame();
    const isZoom = event.ctrlKey || event.metaKey || event.altKey;
    if (frame === undefined || !isZoom) return;
    event.preventDefault();
    const joins = event.timeStamp - lastMs < SAME_GESTURE_MS;
    lastMs = event.timeStamp;
    const unit = [1, LINE_PX, PAGE_PX][event.deltaMode] ?? 1;
    const share = Math.max(0, Math.min(1, shareAt(host, frame, event.clientX)));
    const factor = Math.exp(
      (event.deltaY === 0 ? event.deltaX : event.deltaY) * unit * ZOOM_PER_PX,
    );
    target.zoom(zoomedRange(frame.x, target.full(), factor, share, frame.x.isLog), joins);
  };
  host.addEventListener('wheel', turn, { passive: false, signal });
}

function followShiftDrag(host: HTMLElement, target: GestureTarget, signal: AbortSignal): void {
  const begin = (event: MouseEvent): void => {
    const frame = target.frame();
    if (!event.shiftKey || event.button !== 0 || frame === undefined) return;
    // Before uPlot sees it and begins to choose a part.
    event.stopPropagation();
    event.preventDefault();
    host.focus({ preventScroll: true });
    const from = shareAt(host, frame, event.clientX);
    const dragging = new AbortController();
    let joins = false;
    const move = (moved: MouseEvent): void => {
      const by = from - shareAt(host, frame, moved.clientX);
      target.zoom(pannedRange(frame.x, target.full(), by, frame.x.isLog), joins);
      joins = true;
    };
    addEventListener('mousemove', move, { signal: dragging.signal });
    addEventListener('mouseup', () => dragging.abort(), { signal: dragging.signal });
    signal.addEventListener('abort', () => dragging.abort(), { once: true });
  };
  host.addEventListener('mousedown', begin, { capture: true, signal });
}

type Pinch = { readonly frame: PlotFrame; readonly before: TwoShares };

/** The style sheet leaves vertical scrolling to the browser (`touch-action: pan-y`), all else comes here. */
function followTouch(host: HTMLElement, target: GestureTarget, signal: AbortSignal): void {
  const fingers = new Map<number, number>();
  let pinch: Pinch | undefined;
  let joins = false;
  const shares = (frame: PlotFrame): TwoShares | undefined => {
    const [a, b] = [...fingers.values()].map((clientX) => shareAt(host, frame, clientX));
    return a === undefined || b === undefined ? undefined : [a, b];
  };
  const beginPinch = (): void => {
    const frame = target.frame();
    const before = frame && shares(frame);
    pinch = frame !== undefined && before !== undefined ? { frame, before } : undefined;
    joins = false;
  };
  const down = (event: PointerEvent): void => {
    if (event.pointerType !== 'touch' || fingers.size >= 2) return;
    fingers.set(event.pointerId, event.clientX);
    beginPinch();
  };
  const move = (event: PointerEvent): void => {
    if (!fingers.has(event.pointerId)) return;
    fingers.set(event.pointerId, event.clientX);
    const frame = target.frame();
    if (pinch === undefined) {
      if (frame !== undefined)
        target.point(xAt(frame, event.clientX - host.getBoundingClientRect().left));
      return;
    }
    const now = shares(pinch.frame);
    if (now === undefined) return;
    const { before, frame: start } = pinch;
    target.zoom(pinchedRange(start.x, target.full(), { before, now }, start.x.isLog), joins);
    joins = true;
  };
  const up = (event: PointerEvent): void => {
    if (fingers.delete(event.pointerId)) beginPinch();
  };
  host.addEventListener('pointerdown', down, { signal });
  host.addEventListener('pointermove', move, { signal });
  for (const type of ['pointerup', 'pointercancel'] as const)
    host.addEventListener(type, up, { signal });
}
