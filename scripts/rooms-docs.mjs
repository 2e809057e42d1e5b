// What `npm run rooms` writes from rooms.json: the short table in ARCHITECTURE.md, docs/rooms.md with all that is declared,
// and the drawing of the way of the data.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const PAGE = 'ARCHITECTURE.md';
const FULL_PAGE = 'docs/rooms.md';
const DRAWING = 'docs/images/rooms.svg';
const BEGIN = '<!-- rooms: written by `npm run rooms` from rooms.json -->';
const END = '<!-- /rooms -->';

const HEAD = ['room', 'what it is for', 'may import', 'packages'];

const FULL_INTRO = `# Rooms

Every room with the rooms and the packages that it may import. \`npm run rooms\` writes this page from \`rooms.json\`, and
\`npm run rooms -- --check\` holds every import to it. [ARCHITECTURE.md](../ARCHITECTURE.md) says what the parts are.
`;

/** The first columns of the table of the rooms, in the form that oxfmt gives a table. */
export function roomTable(rooms, columns = HEAD.length) {
  const rows = rooms.map(({ folders, purpose, imports, packages, builtins, node }) => [
    folders.map((folder) => `\`${folder}\``).join(', '),
    purpose,
    imports.map((item) => (item === '*' ? 'every room above' : item)).join(', ') || 'nothing',
    [
      ...packages,
      ...(node ? ['`node:`'] : []),
      ...builtins.map((name) => `\`node:${name}\` where there is one`),
    ].join(', '),
  ]);
  const cells = [HEAD, ...rows].map((row) =>
    row.slice(0, columns).map((cell) => cell.replaceAll('*', String.raw`\*`)),
  );
  const widths = cells[0].map((_, column) =>
    Math.max(3, ...cells.map((row) => row[column].length)),
  );
  const lines = cells.map((row) => row.map((cell, column) => cell.padEnd(widths[column])));
  lines.splice(
    1,
    0,
    widths.map((width) => '-'.repeat(width)),
  );
  return lines.map((line) => `| ${line.join(' | ')} |`).join('\n');
}

const BOX = { width: 132, height: 56 };
const GAP = { x: 44, y: 40 };
const MARGIN = 24;

/** The drawing: a box for each room that is drawn, and the arrows between them. Light or dark as the reader has it. */
export function roomDrawing(declared) {
  const { rooms, arrows } = declared;
  const drawn = rooms.filter(({ draw }) => draw);
  const boxes = new Map(drawn.map((room) => [room.name, boxOf(room)]));
  const right = Math.max(...[...boxes.values()].map(({ x }) => x + BOX.width)) + MARGIN;
  const bottom = Math.max(...[...boxes.values()].map(({ y }) => y + BOX.height)) + MARGIN;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${right} ${bottom}" role="img">`,
    '  <title>The way of the data through the rooms</title>',
    `  <desc>${escaped(arrowText(declared))}</desc>`,
    '  <style>',
    '    svg { font: 13px system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif; }',
    '    .page { fill: #ffffff; stroke: #d0d7de; }',
    '    .box { fill: #f6f8fa; stroke: #57606a; }',
    '    .arrow { fill: none; stroke: #57606a; stroke-width: 1.5; marker-end: url(#tip); }',
    '    .tip { fill: #57606a; }',
    '    text { fill: #1f2328; text-anchor: middle; }',
    '    .name { font-weight: 600; }',
    '    .says, .label { fill: #57606a; font-size: 11px; }',
    '    .label { paint-order: stroke; stroke: #ffffff; stroke-width: 4px; }',
    '    @media (prefers-color-scheme: dark) {',
    '      .page { fill: #0d1117; stroke: #30363d; }',
    '      .box { fill: #161b22; stroke: #8b949e; }',
    '      .arrow { stroke: #8b949e; }',
    '      .tip { fill: #8b949e; }',
    '      text { fill: #e6edf3; }',
    '      .says, .label { fill: #8b949e; }',
    '      .label { stroke: #0d1117; }',
    '    }',
    '  </style>',
    '  <defs>',
    '    <marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">',
    '      <path class="tip" d="M0 0 L8 4 L0 8 Z" />',
    '    </marker>',
    '  </defs>',
    `  <rect class="page" x="0.5" y="0.5" width="${right - 1}" height="${bottom - 1}" rx="8" />`,
    ...drawn.flatMap((room) => boxLines(room, boxes.get(room.name))),
    ...arrows.flatMap(([from, to, label]) => arrowLines(boxes.get(from), boxes.get(to), label)),
    '</svg>',
    '',
  ].join('\n');
}

/** The arrows in words, for those who do not see the drawing. */
const arrowText = ({ arrows }) => arrows.map(([from, to]) => `${from} to ${to}`).join(', ');

function boxOf({ draw }) {
  const [column, row] = draw.at;
  const x = MARGIN + column * (BOX.width + GAP.x);
  const y = MARGIN + row * (BOX.height + GAP.y);
  return { x, y, middleX: x + BOX.width / 2, middleY: y + BOX.height / 2 };
}

const boxLines = ({ name, draw }, { x, y, middleX, middleY }) => [
  `  <rect class="box" x="${x}" y="${y}" width="${BOX.width}" height="${BOX.height}" rx="6" />`,
  `  <text class="name" x="${middleX}" y="${middleY - 5}">${escaped(draw.as ?? name)}</text>`,
  `  <text class="says" x="${middleX}" y="${middleY + 14}">${escaped(draw.says)}</text>`,
];

/** An arrow along a row or a column; between others, along the row first and then down or up. */
function arrowLines(from, to, label = '') {
  const isRow = from.y === to.y;
  const toRight = to.x > from.x;
  const toBottom = to.y > from.y;
  const sideX = (box, isLeft) => (isLeft ? box.x : box.x + BOX.width);
  const sideY = (box, isTop) => (isTop ? box.y : box.y + BOX.height);
  const end = isRow ? [sideX(to, toRight), to.middleY] : [to.middleX, sideY(to, toBottom)];
  const begin =
    from.x === to.x
      ? [from.middleX, sideY(from, !toBottom)]
      : [sideX(from, !toRight), from.middleY];
  const corner = [end[0], begin[1]];
  const middle =
    isRow || from.x === to.x
      ? [(begin[0] + end[0]) / 2, (begin[1] + end[1]) / 2]
      : [(begin[0] + corner[0]) / 2, corner[1]];
  const way = begin[0] === end[0] || isRow ? [begin, end] : [begin, corner, end];
  const points = way.map((point) => point.join(' ')).join(' L');
  const lines = [`  <path class="arrow" d="M${points}" />`];
  if (label !== '') {
    const above = isRow || from.x !== to.x ? 6 : -4;
    lines.push(
      `  <text class="label" x="${middle[0]}" y="${middle[1] - above}">${escaped(label)}</text>`,
    );
  }
  return lines;
}

const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

/** The files that are made from rooms.json, as they should be: path to text. */
function derivedFiles(root, declared) {
  const page = existsSync(join(root, PAGE)) ? readFileSync(join(root, PAGE), 'utf8') : '';
  const begin = page.indexOf(BEGIN);
  const end = page.indexOf(END, begin);
  if (begin < 0 || end < 0) throw new Error(`${PAGE} lacks the lines ${BEGIN} and ${END}`);
  const hasDrawing = declared.rooms.some(({ draw }) => draw);
  const derived = `${BEGIN}\n\n${roomTable(declared.rooms, 2)}\n\n`;
  const files = new Map([
    [PAGE, page.slice(0, begin) + derived + page.slice(end)],
    [FULL_PAGE, `${FULL_INTRO}\n${roomTable(declared.rooms)}\n`],
  ]);
  if (hasDrawing) files.set(DRAWING, roomDrawing(declared));
  return files;
}

export function writeDerived(root, declared) {
  for (const [path, text] of derivedFiles(root, declared)) writeFileSync(join(root, path), text);
}

/** Derived files that differ from what rooms.json says. */
export const staleFiles = (root, declared) =>
  [...derivedFiles(root, declared)]
    .filter(([path, text]) => {
      const at = join(root, path);
      return !existsSync(at) || readFileSync(at, 'utf8') !== text;
    })
    .map(([path]) => `${path}: differs from rooms.json; \`npm run rooms\` writes it anew`);
