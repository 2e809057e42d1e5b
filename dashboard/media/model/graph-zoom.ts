/** The zoom of a graph by wheel and keys: the point under the pointer stays where it is. */
import type { Signal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';

/** What a button or a key zooms by. */
export const ZOOM_STEP = 1.25;
const MIN_ZOOM = 0.2;
const MAX_ZOOM = 4;
/** Pixels of a wheel that double the size. */
const WHEEL_PX = 400;
/** Pixels of a line and of a page, for wheels that count in those. */
const WHEEL_UNITS = [1, 16, 400];

/** The zoom after another factor, within its bounds. */
export function scaledZoom(zoom: number, factor: number): number {
  return Math.max(MIN_ZOOM, Math.min(MAX_ZOOM, zoom * factor));
}

/** The factor of a turn of the wheel: up is larger. */
export function wheelFactor({
  deltaMode,
  deltaY,
}: Pick<WheelEvent, 'deltaMode' | 'deltaY'>): number {
  return 2 ** ((-deltaY * (WHEEL_UNITS[deltaMode] ?? 1)) / WHEEL_PX);
}

/** The zoom that a key asks for; undefined for any other key. */
export function zoomOfKey(key: string, zoom: number): number | undefined {
  if (key === '+' || key === '=') return scaledZoom(zoom, ZOOM_STEP);
  if (key === '-' || key === '_') return scaledZoom(zoom, 1 / ZOOM_STEP);
  return key === '0' ? 1 : undefined;
}

/** Where to scroll so that a point at `at` of the window of a drawing stays there. */
export function scrollAfter(scroll: number, at: number, before: number, after: number): number {
  return ((scroll + at) * after) / before - at;
}

/** A position in the window of the drawing, in pixels. */
type Anchor = { readonly x: number; readonly y: number };

/** Zooms by wheel with Ctrl, Command or Alt (a plain wheel scrolls), and gives what keys do. */
export function useZoomGestures(
  stage: RefObject<HTMLDivElement | null>,
  zoom: Signal<number>,
): (event: KeyboardEvent) => void {
  const drawn = useRef(zoom.value);
  const anchor = useRef<Anchor | undefined>(undefined);
  useEffect(() => {
    const { current } = stage;
    if (current === null) return undefined;
    const onWheel = (event: WheelEvent): void => {
      if (!event.ctrlKey && !event.metaKey && !event.altKey) return;
      event.preventDefault();
      const { left, top } = current.getBoundingClientRect();
      anchor.current = { x: event.clientX - left, y: event.clientY - top };
      zoom.value = scaledZoom(zoom.peek(), wheelFactor(event));
    };
    // The page would zoom, unless the listener says that it may prevent that.
    current.addEventListener('wheel', onWheel, { passive: false });
    return () => current.removeEventListener('wheel', onWheel);
  }, [zoom]);
  useLayoutEffect(() => {
    const { current } = stage;
    const before = drawn.current;
    drawn.current = zoom.value;
    if (current === null || before === zoom.value) return;
    const { x, y } = anchor.current ?? { x: current.clientWidth / 2, y: current.clientHeight / 2 };
    anchor.current = undefined;
    current.scrollLeft = scrollAfter(current.scrollLeft, x, before, zoom.value);
    current.scrollTop = scrollAfter(current.scrollTop, y, before, zoom.value);
  }, [zoom.value]);
  return (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const next = zoomOfKey(event.key, zoom.peek());
    if (next === undefined) return;
    event.preventDefault();
    zoom.value = next;
  };
}
