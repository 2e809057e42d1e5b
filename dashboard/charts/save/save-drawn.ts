/** Pictures of SVG that is on the page, with the colours and letters that its style sheets give it. */
import { csvBlob, type CsvCell } from './save-csv.ts';
import { downloadName, saveBlob } from './save-file.ts';
import type { SaveWay } from './save-menu.tsx';
import { pngOfSvg } from './save-png.ts';
import { svgDocument } from './save-svg.ts';
import { t } from '../../parts/t.ts';

/** What a file cannot take from a style sheet. */
const STYLES = [
  'fill',
  'fill-opacity',
  'stroke',
  'stroke-opacity',
  'stroke-width',
  'stroke-dasharray',
  'stroke-linecap',
  'opacity',
  'font-size',
  'font-weight',
  'text-anchor',
  'dominant-baseline',
] as const;

/** The elements of an SVG of the page as the text of a file. */
export function svgOfDrawn(drawn: SVGSVGElement, title: string): string {
  const copy = drawn.cloneNode(true);
  if (copy instanceof SVGSVGElement) inlineStyles(drawn, copy);
  const inside =
    copy instanceof SVGSVGElement
      ? [...copy.children].map((child) => new XMLSerializer().serializeToString(child))
      : [];
  const { height, width } = drawn.getBoundingClientRect();
  const style = getComputedStyle(drawn);
  return svgDocument(
    {
      width,
      height,
      title,
      background: style.getPropertyValue('--surface').trim(),
      fontFamily: style.fontFamily,
    },
    ...inside,
  );
}

function inlineStyles(from: Element, to: Element): void {
  const style = getComputedStyle(from);
  for (const name of STYLES) to.setAttribute(name, style.getPropertyValue(name));
  to.removeAttribute('class');
  to.removeAttribute('tabindex');
  for (const [at, child] of [...from.children].entries()) {
    const other = to.children[at];
    if (other !== undefined) inlineStyles(child, other);
  }
}

/** The ways to save a drawing: as a picture, and what it shows as a table. */
export function drawnWays(options: {
  readonly name: string;
  /** Undefined where it is not on the page. */
  readonly svg: SVGSVGElement | null | undefined;
  readonly header: readonly string[];
  readonly rows: () => Iterable<readonly CsvCell[]>;
}): readonly SaveWay[] {
  const { header, name, rows, svg } = options;
  const csv: SaveWay = {
    label: 'CSV',
    hint: t('what it shows as a table'),
    save: async () => saveBlob(downloadName([name], 'csv'), await csvBlob(header, rows())),
  };
  if (svg === null || svg === undefined) return [csv];
  return [
    {
      label: 'PNG',
      hint: t('a picture in twice the pixels'),
      save: async () => {
        const { height, width } = svg.getBoundingClientRect();
        saveBlob(downloadName([name], 'png'), await pngOfSvg(svgOfDrawn(svg, name), width, height));
      },
    },
    {
      label: 'SVG',
      hint: t('a drawing for papers and slides'),
      save: () =>
        saveBlob(
          downloadName([name], 'svg'),
          new Blob([svgOfDrawn(svg, name)], { type: 'image/svg+xml' }),
        ),
    },
    csv,
  ];
}
