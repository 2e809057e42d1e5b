/** SQLite databases that lie about themselves, page by page. */

/** A row of the schema: where a table begins and how it was made. */
export type Cell = { readonly root: number; readonly sql: string };

/** What a page holds. Every `rows` entry points at the same cell. */
export type HostilePage =
  | { readonly kind: 'schema'; readonly tables: readonly Cell[] }
  | { readonly kind: 'rows'; readonly count: number; readonly cell: readonly number[] }
  | { readonly kind: 'overflow'; readonly count: number; readonly size: number }
  | { readonly kind: 'tree'; readonly count: number; readonly child: number };

const PAGE_BYTES = 65_536;
const LEAF = 0x0d;
const INTERIOR = 0x05;

/** The pages from 1 on, 64 KiB each. */
export function sqliteFile(pages: readonly HostilePage[]): Uint8Array<ArrayBuffer> {
  const file = new Uint8Array(pages.length * PAGE_BYTES);
  file.set(new TextEncoder().encode('SQLite format 3\0'));
  const header = new DataView(file.buffer, 0, 100);
  header.setUint16(16, 1);
  header.setUint32(56, 1);
  pages.forEach((page, i) => write(file.subarray(i * PAGE_BYTES, (i + 1) * PAGE_BYTES), page, i));
  return file;
}

function write(bytes: Uint8Array, page: HostilePage, index: number): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const start = index === 0 ? 100 : 0;
  const put = (type: number, count: number): void => {
    view.setUint8(start, type);
    view.setUint16(start + 3, count);
  };
  if (page.kind === 'tree') {
    put(INTERIOR, page.count);
    for (let i = 0; i < page.count; i++) view.setUint16(start + 12 + 2 * i, PAGE_BYTES - 8);
    view.setUint32(PAGE_BYTES - 8, page.child);
    view.setUint32(start + 8, page.child);
    return;
  }
  const cells =
    page.kind === 'schema'
      ? page.tables.map(schemaCell)
      : [page.kind === 'rows' ? page.cell : spilled(page.size, index + 1)];
  const count = page.kind === 'schema' ? cells.length : page.count;
  put(LEAF, count);
  let at = PAGE_BYTES;
  const places = cells.map((cell) => {
    at -= cell.length;
    bytes.set(cell, at);
    return at;
  });
  for (let i = 0; i < count; i++) view.setUint16(start + 8 + 2 * i, places[i % places.length] ?? 0);
}

/** A row that goes on at `page`, as long as it says. */
function spilled(size: number, page: number): number[] {
  const usable = PAGE_BYTES;
  const min = Math.floor(((usable - 12) * 32) / 255) - 23;
  const wanted = min + ((size - min) % (usable - 4));
  const local = wanted <= usable - 35 ? wanted : min;
  return [
    ...bigVarint(size),
    1,
    ...new Array<number>(local).fill(0),
    ...[24, 16, 8, 0].map((shift) => (page >>> shift) & 255),
  ];
}

function schemaCell({ root, sql }: Cell): number[] {
  const values = [text('table'), text('metrics'), text('metrics'), null, text(sql)];
  const types = values.flatMap((value) =>
    value === null ? [1] : bigVarint(13 + 2 * value.length),
  );
  const payload = [
    types.length + 1,
    ...types,
    ...values.flatMap((value) => (value === null ? [root] : value)),
  ];
  return [...bigVarint(payload.length), 1, ...payload];
}

function text(value: string): number[] {
  return [...new TextEncoder().encode(value)];
}

/** The highest seven bits first. */
function bigVarint(value: number): number[] {
  const bytes = [value % 128];
  for (let rest = Math.floor(value / 128); rest > 0; rest = Math.floor(rest / 128))
    bytes.unshift((rest % 128) | 128);
  return bytes;
}
