/** Whether a view can be used without a pointer: what keys reach, where the focus is seen, and whether it gets away again. */
import type { Frame, Page } from 'playwright';

/** Widgets in which arrow keys move: one of their elements is a stop of Tab. */
const BY_ARROWS =
  '[role="grid"], [role="treegrid"], [role="tree"], [role="tablist"], [role="menu"], [role="menubar"], [role="listbox"], [role="radiogroup"], [role="toolbar"], [role="application"], [role="slider"], fieldset';

/** Elements that can be clicked, and that no key reaches. */
export async function withoutKeys(page: Page | Frame): Promise<readonly string[]> {
  return page.evaluate((byArrows) => {
    const found = new Set<string>();
    const nameOf = (element: Element): string =>
      `${element.tagName.toLowerCase()}.${element.getAttribute('class') ?? ''} "${(element.textContent ?? '').trim().slice(0, 30)}"`;
    const isShown = (element: Element): boolean => {
      const { width, height } = element.getBoundingClientRect();
      return width > 1 && height > 1 && element.checkVisibility({ visibilityProperty: true });
    };
    const usable =
      'a[href], button, input, select, textarea, summary, label, [role="button"], [role="link"], [tabindex]';
    for (const element of document.querySelectorAll('#app *')) {
      if (!(element instanceof HTMLElement) || !isShown(element)) continue;
      const isOut = element.tabIndex < 0 && element.closest(byArrows) === null;
      if (element.matches('a[href], button:not(:disabled), input:not(:disabled), select') && isOut)
        found.add(`no stop of Tab: ${nameOf(element)}`);
      const isPointed = getComputedStyle(element).cursor === 'pointer';
      if (isPointed && element.closest(usable) === null)
        found.add(`clicked only: ${nameOf(element)}`);
    }
    return [...found].slice(0, 12);
  }, BY_ARROWS);
}

/** Stops of Tab at most: more than any view has. */
const MAX_STOPS = 400;

type Stop = { readonly name: string; readonly wrong: string | undefined; readonly isNew: boolean };

/**
 * Walks through a view with Tab. Returns what is wrong: a stop that cannot be seen, a focus that is not shown, a walk without an end.
 */
export async function walkByTab(page: Page): Promise<readonly string[]> {
  const wrong = new Set<string>();
  await page.evaluate(() => {
    Reflect.set(globalThis, 'stopsOfTab', new WeakSet<Element>());
    if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
  });
  for (let count = 0; count < MAX_STOPS; count += 1) {
    await page.keyboard.press('Tab');
    const stop = await page.evaluate(async (): Promise<Stop | undefined> => {
      // What has the focus is scrolled to with the next frame.
      await new Promise((resolve) => {
        requestAnimationFrame(() => requestAnimationFrame(resolve));
      });
      const element = document.activeElement;
      if (element === null || element === document.body) return undefined;
      const known: unknown = Reflect.get(globalThis, 'stopsOfTab');
      const isNew = known instanceof WeakSet && !known.has(element);
      if (known instanceof WeakSet) known.add(element);
      const name = `${element.tagName.toLowerCase()}.${element.getAttribute('class') ?? ''} "${(element.getAttribute('aria-label') ?? element.textContent ?? '').trim().slice(0, 30)}"`;
      const marks = [
        element,
        element.closest('label'),
        element.parentElement,
        element.nextElementSibling,
      ];
      const isMarked = marks.some((mark) => {
        if (mark === null) return false;
        // Its own page shows where the focus is.
        if (mark instanceof HTMLIFrameElement) return true;
        const { outlineStyle, outlineWidth } = getComputedStyle(mark);
        return outlineStyle !== 'none' && Number.parseFloat(outlineWidth) >= 1;
      });
      const { left, right, top, bottom } = element.getBoundingClientRect();
      const isInside = right > 0 && bottom > 0 && left < innerWidth - 8 && top < innerHeight;
      if (!isInside) return { name, isNew, wrong: 'lies outside the window' };
      return { name, isNew, wrong: isMarked ? undefined : 'shows no focus' };
    });
    if (stop === undefined || !stop.isNew) return [...wrong];
    if (stop.wrong !== undefined) wrong.add(`${stop.name} ${stop.wrong}`);
  }
  return [...wrong, `Tab does not come to an end within ${MAX_STOPS} stops`];
}

/** Animations and transitions that go on although the reader has asked for none. */
export async function movingParts(page: Page | Frame): Promise<readonly string[]> {
  return page.evaluate(() =>
    document
      .getAnimations()
      .filter(({ playState, effect }) => {
        const { duration } = effect?.getComputedTiming() ?? {};
        return playState === 'running' && Number(duration) > 1;
      })
      .map((animation) => {
        const target = animation.effect instanceof KeyframeEffect ? animation.effect.target : null;
        return `${target?.tagName.toLowerCase() ?? ''}.${target?.getAttribute('class') ?? ''} moves`;
      }),
  );
}
