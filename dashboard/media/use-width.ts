/** The width of an element. */
import { useSignal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useEffect } from 'preact/hooks';

/** The width of an element as it changes, in CSS pixels; 0 before it is known. */
export function useWidthOf(host: RefObject<HTMLElement | null>): number {
  const width = useSignal(0);
  useEffect(() => {
    const element = host.current;
    if (element === null) return undefined;
    const observer = new ResizeObserver(() => {
      width.value = element.clientWidth;
    });
    observer.observe(element);
    width.value = element.clientWidth;
    return () => observer.disconnect();
  }, []);
  return width.value;
}
