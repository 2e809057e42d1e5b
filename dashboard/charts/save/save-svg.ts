/** Writes SVG as text. Whatever a name from a run contains, it is only text in the file. */

/** Attributes of an element; undefined ones are left out. */
export type SvgAttributes = Readonly<Record<string, string | number | undefined>>;

/** Decimals of coordinates: a hundredth of a pixel. */
const DECIMALS = 2;

/** One element with what is inside of it, which is SVG already ({@link svgText} makes it of a text). */
export function svgTag(name: string, attributes: SvgAttributes, ...inside: string[]): string {
  const written = Object.entries(attributes)
    .flatMap(([key, value]) => (value === undefined ? [] : [` ${key}="${attributeText(value)}"`]))
    .join('');
  return inside.length === 0
    ? `<${name}${written}/>`
    : `<${name}${written}>${inside.join('')}</${name}>`;
}

/** A text between two tags. */
export function svgText(text: string): string {
  return Array.from(text)
    .filter((letter) => isXmlLetter(letter.codePointAt(0) ?? 0))
    .join('')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;');
}

/** A coordinate; what is not finite is 0, which no reader of SVG refuses. */
export function svgNumber(value: number): string {
  return Number.isFinite(value) ? String(Number(value.toFixed(DECIMALS))) : '0';
}

/** A whole file. `title` is what it shows, for those who cannot see it. */
export function svgDocument(
  options: {
    readonly width: number;
    readonly height: number;
    readonly title: string;
    readonly background: string;
    readonly fontFamily: string;
  },
  ...inside: string[]
): string {
  const { width, height, title, background, fontFamily } = options;
  return svgTag(
    'svg',
    {
      xmlns: 'http://www.w3.org/2000/svg',
      width,
      height,
      viewBox: `0 0 ${svgNumber(width)} ${svgNumber(height)}`,
      'font-family': fontFamily,
      role: 'img',
    },
    svgTag('title', {}, svgText(title)),
    svgTag('rect', { width, height, fill: background }),
    ...inside,
  );
}

function attributeText(value: string | number): string {
  return typeof value === 'number' ? svgNumber(value) : svgText(value).replaceAll('"', '&quot;');
}

/** XML has no other control characters, no halves of letters and no non-characters. */
function isXmlLetter(code: number): boolean {
  if (code < 0x20) return code === 0x09 || code === 0x0a || code === 0x0d;
  return !(code >= 0xd800 && code <= 0xdfff) && code !== 0xfffe && code !== 0xffff;
}
