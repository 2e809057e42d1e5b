/** Where the texts of a page are: what is cut off without a sign, and what lies over each other. */
import type { Frame, Page } from 'playwright';

/** Fonts in which pages are measured, as far as they are installed; `Carried` is the one that the tests bring. */
export const FONTS: readonly string[] = ['Carried', 'DejaVu Sans', 'Liberation Serif', 'Noto Sans'];

/** Whether a page can be written in a font: its letters are then not those of the fallback. */
export async function hasFont(page: Page | Frame, family: string): Promise<boolean> {
  return page.evaluate(async (name) => {
    // One that a script has added is loaded when somebody asks for it.
    await document.fonts.load(`40px "${name}"`);
    const canvas = document.createElement('canvas').getContext('2d');
    if (canvas === null) return false;
    const width = (font: string): number => {
      canvas.font = `40px ${font}`;
      return canvas.measureText('The quick brown fox, 0123456789 mWil').width;
    };
    // The font may be one of the generic ones itself.
    return ['serif', 'monospace'].some(
      (generic) => width(`"${name}", ${generic}`) !== width(generic),
    );
  }, family);
}

/**
 * Texts that are cut off by a box without an ellipsis or a tooltip, and pairs of texts that lie over each other. What is scrolled
 * away, only read aloud, or covered by what floats above the page is left out.
 */
export async function wrongTexts(page: Page | Frame): Promise<readonly string[]> {
  return page.evaluate(() => {
    type Box = { left: number; right: number; top: number; bottom: number };
    type Text = Box & { element: Element; text: string; layer: Element | null };
    const found = new Set<string>();
    const nameOf = (element: Element): string => {
      const name = element.getAttribute('class') ?? '';
      const of = element.closest('[class]:not([class=""])')?.getAttribute('class') ?? '';
      return `${element.tagName.toLowerCase()}.${name || `? in .${of}`}`;
    };
    const hasTip = (element: Element): boolean =>
      element.closest('[title], [data-tip], [aria-label]') !== null;

    /** The visible part of a text, or undefined where nothing of it is visible. */
    const seen = (box: Box, element: Element, text: string): Box | undefined => {
      // A rectangle of the DOM has no properties of its own to spread.
      const part = { left: box.left, right: box.right, top: box.top, bottom: box.bottom };
      let isShortened = false;
      for (let at: Element | null = element; at !== null; at = at.parentElement) {
        const style = getComputedStyle(at);
        if (style.visibility === 'hidden' || style.opacity === '0') return undefined;
        if (style.clipPath !== 'none') return undefined;
        if (style.textOverflow === 'ellipsis' || style.webkitLineClamp !== 'none')
          isShortened = true;
        if (style.display === 'contents' || style.display === 'inline') continue;
        const [sideways, upright] = [style.overflowX, style.overflowY];
        if (sideways === 'visible' && upright === 'visible') continue;
        const { left, top } = at.getBoundingClientRect();
        const inner = { left: left + at.clientLeft, top: top + at.clientTop };
        const right = inner.left + at.clientWidth;
        const bottom = inner.top + at.clientHeight;
        if (at.clientWidth === 0 || at === document.documentElement) continue;
        const cutX = Math.max(inner.left - part.left, part.right - right);
        const cutY = Math.max(inner.top - part.top, part.bottom - bottom);
        const isCut =
          (/hidden|clip/.test(sideways) && cutX > 1.5) || (/hidden|clip/.test(upright) && cutY > 3);
        if (isCut && !isShortened && !hasTip(element))
          found.add(`cut: "${text}" (${nameOf(element)}) by ${nameOf(at)}`);
        part.left = Math.max(part.left, inner.left);
        part.right = Math.min(part.right, right);
        part.top = Math.max(part.top, inner.top);
        part.bottom = Math.min(part.bottom, bottom);
        if (part.right - part.left < 2 || part.bottom - part.top < 2) return undefined;
      }
      return part;
    };

    /** What floats: texts of it may cover what is below. */
    const layerOf = (element: Element): Element | null => {
      for (let at: Element | null = element; at !== null; at = at.parentElement)
        if (/sticky|fixed/.test(getComputedStyle(at).position) || at.matches('dialog, [popover]'))
          return at;
      return null;
    };

    const texts: Text[] = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
      const element = node.parentElement;
      const text = (node.nodeValue ?? '').trim().slice(0, 40);
      if (element === null || text === '' || element.closest('script, style, option') !== null)
        continue;
      // What is folded has rectangles, too.
      if (!element.checkVisibility()) continue;
      const range = document.createRange();
      range.selectNodeContents(node);
      const layer = layerOf(element);
      for (const rect of range.getClientRects()) {
        if (rect.width < 2 || rect.height < 2) continue;
        const part = seen(rect, element, text);
        if (part === undefined) continue;
        // A line box has the height of the font; letters have less.
        const trim = (rect.bottom - rect.top) * 0.25;
        texts.push({
          ...part,
          top: part.top + trim,
          bottom: part.bottom - trim,
          element,
          text,
          layer,
        });
      }
    }
    texts.sort((a, b) => a.top - b.top);
    for (const [at, one] of texts.entries()) {
      for (let next = at + 1; next < texts.length; next += 1) {
        const other = texts[next];
        if (other === undefined || other.top > one.bottom) break;
        if (other.layer !== one.layer || other.element === one.element) continue;
        const wide = Math.min(one.right, other.right) - Math.max(one.left, other.left);
        const high = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
        if (wide > 2 && high > 1)
          found.add(
            `over each other: "${one.text}" (${nameOf(one.element)}) and "${other.text}" (${nameOf(other.element)})`,
          );
      }
    }
    return [...found].slice(0, 12);
  });
}
