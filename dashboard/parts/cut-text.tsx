/** Texts that are cut where there is no room for them, and the tip that says all of them. */
import { useSignal, type Signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';

/** So many letters at the end of a name are never cut: the ends of names differ. */
const END_CHARS = 10;
/** Shorter names are cut at their end. */
const CUT_CHARS = 2 * END_CHARS;

/** A name that is cut in its middle. */
export function CutName({ text }: { readonly text: string }): JSX.Element {
  const letters = Array.from(text);
  if (letters.length < CUT_CHARS) return <span class="cut-start">{text}</span>;
  return (
    <span class="cut-name">
      <span class="cut-start">{letters.slice(0, -END_CHARS).join('')}</span>
      <span class="cut-end">{letters.slice(-END_CHARS).join('')}</span>
    </span>
  );
}

type Tip = { readonly text: string; readonly at: DOMRect };

/** Before the tip of what the pointer is on appears, in milliseconds. */
const HOVER_MS = 350;

/**
 * Shows the text of `data-tip` beside the element in `frame` that is pointed at or has the focus: where the element is cut, and always
 * with `data-tip-always`. Escape and scrolling hide it.
 */
export function Tips({
  frame,
}: {
  readonly frame: { readonly current: HTMLElement | null };
}): JSX.Element | null {
  const tip = useSignal<Tip | undefined>(undefined);
  const box = useRef<HTMLDivElement>(null);
  useFollowed(frame, tip);
  const shown = tip.value;
  useLayoutEffect(() => {
    const { current } = box;
    if (shown === undefined || current === null) return;
    const { bottom, left, top } = shown.at;
    const isLow = bottom + current.offsetHeight + 8 > innerHeight;
    current.style.top = `${isLow ? Math.max(4, top - current.offsetHeight - 6) : bottom + 6}px`;
    current.style.left = `${Math.max(8, Math.min(left, innerWidth - current.offsetWidth - 8))}px`;
  }, [shown]);
  if (shown === undefined) return null;
  return (
    <div ref={box} class="tip floating breakable" role="tooltip">
      {shown.text}
    </div>
  );
}

function isTold(element: Element): boolean {
  if (element.hasAttribute('data-tip-always')) return true;
  return [element, ...element.querySelectorAll('*')].some(
    ({ scrollWidth, clientWidth }) => clientWidth > 0 && scrollWidth > clientWidth + 1,
  );
}

/** Has the tip follow the pointer and the focus. */
function useFollowed(
  frame: { readonly current: HTMLElement | null },
  tip: Signal<Tip | undefined>,
): void {
  useEffect(() => {
    const { current } = frame;
    if (current === null) return undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const show = (target: EventTarget | null): void => {
      const element = target instanceof Element ? target.closest('[data-tip]') : null;
      const text = element?.getAttribute('data-tip') ?? '';
      tip.value =
        element === null || text === '' || !isTold(element)
          ? undefined
          : { text, at: element.getBoundingClientRect() };
    };
    const listening = new AbortController();
    const { signal } = listening;
    const hide = (): void => {
      clearTimeout(timer);
      tip.value = undefined;
    };
    current.addEventListener(
      'pointerover',
      ({ target, pointerType }) => {
        clearTimeout(timer);
        if (pointerType !== 'touch') timer = setTimeout(() => show(target), HOVER_MS);
      },
      { signal },
    );
    current.addEventListener('pointerleave', hide, { signal });
    current.addEventListener(
      'focusin',
      ({ target }) => {
        if (target instanceof Element && target.matches(':focus-visible')) show(target);
      },
      { signal },
    );
    current.addEventListener('focusout', hide, { signal });
    addEventListener('scroll', hide, { signal, capture: true, passive: true });
    addEventListener('keydown', ({ key }) => key === 'Escape' && hide(), { signal });
    return () => {
      hide();
      listening.abort();
    };
  }, []);
}
