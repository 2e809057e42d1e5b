/** How wide an element is. */
import { useSignal, type ReadonlySignal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useLayoutEffect } from 'preact/hooks';

/** The inner width of an element in CSS pixels; 0 before it is on the page. */
export function useWidth(element: RefObject<HTMLElement | null>): ReadonlySignal<number> {
  const width = useSignal(0);
  useLayoutEffect(() => {
    const { current } = element;
    if (current === null) return undefined;
    const measure = (): void => {
      width.value = current.clientWidth;
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(current);
    return () => observer.disconnect();
  }, []);
  return width;
}
