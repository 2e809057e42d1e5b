/** How an artifact is shown: by what its bytes are, never by what it calls itself alone. Pure. */
import type { JsonValue } from 'quark-sdk';
import { describeImage } from 'quark-sdk/media';
import type { LoadedPayload } from 'quark-sdk/probes';
import type { TableContent } from 'quark-sdk/media';

/** What is shown of a payload. */
export type FilePreview =
  | { readonly kind: 'image'; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly kind: 'json'; readonly value: JsonValue }
  | { readonly kind: 'table'; readonly table: TableContent }
  | { readonly kind: 'markdown' | 'text'; readonly text: string }
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array<ArrayBuffer> };

/** Longest text whose bytes are looked at as text. */
const MAX_TEXT_BYTES = 8 * 1024 * 1024;

/** The preview of a payload; `name` is a path or a name with an ending. */
export function previewOf(payload: LoadedPayload, name: string): FilePreview {
  if (payload instanceof Uint8Array) {
    if (describeImage(payload) !== undefined) return { kind: 'image', bytes: payload };
    const text = textOf(payload);
    return text === undefined ? { kind: 'bytes', bytes: payload } : textPreview(text, name);
  }
  return typeof payload === 'string'
    ? textPreview(payload, name)
    : { kind: 'json', value: payload };
}

function textOf(bytes: Uint8Array): string | undefined {
  if (bytes.byteLength > MAX_TEXT_BYTES || bytes.subarray(0, 4096).includes(0)) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function textPreview(text: string, name: string): FilePreview {
  const ending = /\.(\w{1,8})$/.exec(name)?.[1]?.toLowerCase();
  if (ending === 'json') {
    try {
      const value: JsonValue = JSON.parse(text);
      return { kind: 'json', value };
    } catch {
      return { kind: 'text', text };
    }
  }
  if (ending === 'csv' || ending === 'tsv')
    return { kind: 'table', table: parseCsv(text, ending === 'csv' ? ',' : '\t') };
  return { kind: ending === 'md' || ending === 'markdown' ? 'markdown' : 'text', text };
}

/** Rows beyond these are not shown. */
const MAX_ROWS = 50_000;
const MAX_COLUMNS = 1000;

/** A table of CSV (RFC 4180); cells that are numbers become numbers. The first row names the columns. */
export function parseCsv(text: string, separator: string): TableContent {
  const rows: string[][] = [];
  let row: string[] = [];
  let cell = '';
  let isQuoted = false;
  const endRow = (): void => {
    row.push(cell);
    if (row.length > 1 || cell !== '') rows.push(row.slice(0, MAX_COLUMNS));
    row = [];
    cell = '';
  };
  for (let at = 0; at < text.length && rows.length <= MAX_ROWS; at += 1) {
    const char = text[at] ?? '';
    if (isQuoted) {
      if (char !== '"') cell += char;
      else if (text[at + 1] === '"') {
        cell += '"';
        at += 1;
      } else isQuoted = false;
    } else if (char === '"' && cell === '') isQuoted = true;
    else if (char === separator) {
      row.push(cell);
      cell = '';
    } else if (char === '\n') endRow();
    else if (char !== '\r') cell += char;
  }
  if (cell !== '' || row.length > 0) endRow();
  const [columns = [], ...body] = rows;
  return {
    columns,
    rows: body.map((cells) => columns.map((_name, at) => csvValue(cells[at]))),
  };
}

function csvValue(text: string | undefined): string | number | null {
  if (text === undefined || text === '') return null;
  const value = Number(text);
  return text.trim() !== '' && Number.isFinite(value) ? value : text;
}
