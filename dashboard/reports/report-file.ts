/** A report as one HTML file: elements of a fixed list, no script, nothing to fetch. */

/** Elements that a file has, each with the attributes that it may have. Others are left out with all that is in them. */
const ELEMENTS: ReadonlyMap<string, readonly string[]> = new Map<string, readonly string[]>([
  ...'article section div p span b strong em s del code pre blockquote ul li hr br table thead tbody tr h1 h2 h3 h4 h5 h6 figure figcaption'
    .split(' ')
    .map((name): [string, readonly string[]] => [name, []]),
  ['ol', ['start']],
  ['th', ['scope']],
  ['td', []],
  ['a', ['href']],
  ['svg', ['viewBox', 'role', 'aria-label']],
  ['g', []],
  ['line', ['x1', 'x2', 'y1', 'y2']],
  ['text', ['x', 'y', 'text-anchor']],
  ['path', ['d']],
]);
const VOID = new Set(['hr', 'br']);
const LINK = /^(?:https?:|mailto:)/i;

const STYLE = `
:root{color-scheme:light dark;--fg:#1b1f24;--soft:#57606a;--line:#d0d7de;--bg:#fff;--c0:#0072b2;--c1:#d55e00;--c2:#00805d;--c3:#b0518a;--c4:#8a6d00;--c5:#56718a;--c6:#7a3fb0;--c7:#a02c2c}
@media(prefers-color-scheme:dark){:root{--fg:#e6edf3;--soft:#9198a1;--line:#30363d;--bg:#0d1117;--c0:#56b4e9;--c1:#ff9d57;--c2:#3fd0a3;--c3:#e9a6c9;--c4:#f0d64a;--c5:#9fb8cf;--c6:#c3a0f0;--c7:#f08a8a}}
body{margin:0;background:var(--bg);color:var(--fg);font:16px/1.6 system-ui,sans-serif}article{max-width:48rem;margin:0 auto;padding:1.5rem;overflow-wrap:anywhere}
table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.3rem .6rem;border-bottom:1px solid var(--line)}pre{overflow-x:auto}blockquote{margin:0;padding-left:1rem;border-left:3px solid var(--line);color:var(--soft)}
figure{margin:1rem 0}figcaption{font-weight:600}svg{width:100%;height:auto}text{fill:var(--soft);font-size:12px}.grid{stroke:var(--line)}.curve{fill:none;stroke:currentColor;stroke-width:1.5}
.report-legend{display:flex;flex-wrap:wrap;gap:.2rem 1rem;list-style:none;margin:0;padding:0}${Array.from({ length: 8 }, (_, at) => `.s${at}{color:var(--c${at})}`).join('')}`;

/** Classes that the style sheet of a file knows. */
const CLASSES = /^(?:curve|grid|report-legend|s[0-7])$/;

/** The HTML of a report whose elements are on the page. */
export function reportFile(title: string, body: Element): string {
  return (
    '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">' +
    '<meta name="viewport" content="width=device-width, initial-scale=1">' +
    `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">` +
    `<title>${escaped(title)}</title><style>${STYLE}</style></head>` +
    `<body><article><h1>${escaped(title)}</h1>${contentOf(body)}</article></body></html>\n`
  );
}

function contentOf(element: Element): string {
  let html = '';
  for (const node of element.childNodes) {
    if (node instanceof Text) html += escaped(node.data);
    else if (node instanceof Element) html += htmlOf(node);
  }
  return html;
}

function htmlOf(element: Element): string {
  const name = element.localName;
  const allowed = ELEMENTS.get(name);
  if (allowed === undefined) return '';
  const attributes = allowed.flatMap((attribute) => {
    const value = element.getAttribute(attribute);
    if (value === null || (attribute === 'href' && !LINK.test(value))) return [];
    return [` ${attribute}="${escaped(value)}"`];
  });
  const classes = [...element.classList].filter((one) => CLASSES.test(one));
  if (classes.length > 0) attributes.push(` class="${classes.join(' ')}"`);
  const start = `<${name}${attributes.join('')}>`;
  return VOID.has(name) ? start : `${start}${contentOf(element)}</${name}>`;
}

const ENTITIES: ReadonlyMap<string, string> = new Map([
  ['&', '&amp;'],
  ['<', '&lt;'],
  ['>', '&gt;'],
  ['"', '&quot;'],
]);

function escaped(text: string): string {
  return text.replaceAll(/[&<>"]/g, (sign) => ENTITIES.get(sign) ?? sign);
}
