/** What of a page does not fit into the width of its window. */
import type { Frame, Page } from 'playwright';

/** A way in which somebody's browser writes wider than the one that the page was drawn with. */
export type Writing = { readonly name: string; readonly css: string };

/**
 * Fonts that systems bring, as far as they are installed here, and settings that need none: letters and words set as
 * far apart as WCAG 1.4.12 lets readers set them, a smallest size of text, and letters half as wide again as any font's.
 */
export const WRITINGS: readonly Writing[] = [
  { name: 'as it is', css: '' },
  { name: 'DejaVu Sans', css: familyOf('"DejaVu Sans"', '"DejaVu Sans Mono"') },
  { name: 'Liberation Sans', css: familyOf('"Liberation Sans"', '"Liberation Mono"') },
  { name: 'Noto Sans', css: familyOf('"Noto Sans"', '"Noto Sans Mono"') },
  { name: 'Verdana or Courier', css: familyOf('Verdana, "Courier New", monospace', 'monospace') },
  {
    name: 'text set apart',
    css: '* { letter-spacing: 0.12em !important; word-spacing: 0.16em !important; line-height: 1.5 !important; }',
  },
  { name: 'text of 20 px', css: '#app * { font-size: 20px !important; }' },
  {
    name: 'wide letters',
    css: `${familyOf('monospace', 'monospace')} * { letter-spacing: 0.2em !important; font-weight: 700 !important; }`,
  },
];

function familyOf(sans: string, mono: string): string {
  return `:root { --font: ${sans} !important; --mono: ${mono} !important; }`;
}

/** Widths of phones, and of a window of 640 px at twice its size. */
export const WIDTHS: readonly number[] = [320, 390];

const STYLE_ID = 'writing-of-the-test';

/** Makes the page be written so from now on. */
export async function writeAs(page: Page | Frame, { css }: Writing): Promise<void> {
  await page.evaluate(
    ({ id, text }) => {
      // A sheet made by script is no inline style: it works under any policy of the page.
      const known: unknown = Reflect.get(globalThis, id);
      const sheet = known instanceof CSSStyleSheet ? known : new CSSStyleSheet();
      if (known === undefined) document.adoptedStyleSheets.push(sheet);
      Reflect.set(globalThis, id, sheet);
      sheet.replaceSync(text);
    },
    { id: STYLE_ID, text: css },
  );
}

/**
 * How far the page can be scrolled sideways, and which elements reach beyond the window. What lies in a box with a
 * scroll bar of its own may reach beyond it; what is cut off by its box may not.
 */
export async function beyondWindow(page: Page | Frame): Promise<readonly string[]> {
  return page.evaluate(() => {
    const width = document.documentElement.clientWidth;
    const found: string[] = [];
    const scroll = document.documentElement.scrollWidth - width;
    if (scroll > 0) found.push(`The page scrolls ${scroll} px sideways`);
    const isScrolledOrShortened = (element: Element): boolean => {
      for (let box: Element | null = element; box !== null; box = box.parentElement) {
        const style = getComputedStyle(box);
        const isBox = /auto|scroll/.test(style.overflowX) || style.textOverflow === 'ellipsis';
        if (isBox && box.getBoundingClientRect().right <= width + 1) return true;
        // Only read aloud.
        if (style.clipPath !== 'none') return true;
      }
      return false;
    };
    for (const element of document.querySelectorAll('#app *')) {
      const { left, right, width: own, height } = element.getBoundingClientRect();
      if (own === 0 || height === 0 || (right <= width + 1 && left >= -1)) continue;
      if (isScrolledOrShortened(element)) continue;
      const name = `${element.tagName.toLowerCase()}.${element.getAttribute('class') ?? ''}`;
      found.push(`${name} from ${Math.round(left)} to ${Math.round(right)}`);
    }
    return found.slice(0, 8);
  });
}
