/** What `console` would print of its arguments, as text: for pages and workers, where nothing else says it. Runs no getters. */

const MAX_DEPTH = 3;
const MAX_ITEMS = 100;
const MAX_CHARS = 16_384;

/** The arguments of a call of `console.log` as text, with the placeholders of the console standard. Throws nothing. */
export function formatArguments(args: readonly unknown[]): string {
  const [first, ...rest] = args;
  const shown: string[] = [];
  let left: readonly unknown[] = args;
  if (typeof first === 'string' && rest.length > 0) {
    let used = 0;
    const text = first.replace(/%[sdifoOc%]/g, (mark) => {
      if (mark === '%%') return '%';
      if (used >= rest.length) return mark;
      return placed(mark, rest[used++]);
    });
    shown.push(text);
    left = rest.slice(used);
  }
  for (const value of left) shown.push(typeof value === 'string' ? value : inspect(value));
  return shown.join(' ').slice(0, MAX_CHARS);
}

function placed(mark: string, value: unknown): string {
  // Style sheets are of the page's console.
  if (mark === '%c') return '';
  if (mark === '%s') return typeof value === 'string' ? value : inspect(value);
  if (mark === '%o' || mark === '%O') return inspect(value);
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value !== 'number' && typeof value !== 'string') return 'NaN';
  const number =
    mark === '%f' ? Number.parseFloat(String(value)) : Number.parseInt(String(value), 10);
  return String(mark === '%d' && typeof value === 'number' ? value : number);
}

/** A value on one line, of bounded depth and length. */
function inspect(value: unknown): string {
  try {
    return describe(value, 0, new Set());
  } catch {
    // A proxy may throw for anything.
    return '[unreadable]';
  }
}

function describe(value: unknown, depth: number, parents: Set<object>): string {
  if (typeof value === 'string') return depth === 0 ? value : JSON.stringify(value);
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'function') return `[function ${value.name || 'anonymous'}]`;
  if (Object.is(value, -0)) return '-0';
  if (typeof value !== 'object' || value === null) return String(value);
  if (value instanceof Error) return value.stack ?? `${value.name}: ${value.message}`;
  if (value instanceof Date)
    return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString();
  if (value instanceof RegExp) return String(value);
  if (parents.has(value)) return '[circular]';
  if (depth >= MAX_DEPTH) return Array.isArray(value) ? '[array]' : '[object]';
  const inner = new Set(parents).add(value);
  const item = (one: unknown): string => describe(one, depth + 1, inner);
  if (Array.isArray(value)) return `[${limited(value.length, (i) => item(value[i]))}]`;
  if (ArrayBuffer.isView(value) && !(value instanceof DataView)) {
    const list = Array.from(value as Uint8Array).slice(0, MAX_ITEMS + 1);
    return `${nameOf(value)}[${limited(list.length, (i) => item(list[i]))}]`;
  }
  if (value instanceof Map) {
    const entries = [...value.entries()];
    return `Map{${limited(entries.length, (i) => `${item(entries[i]?.[0])} => ${item(entries[i]?.[1])}`)}}`;
  }
  if (value instanceof Set) {
    const items = [...value.values()];
    return `Set{${limited(items.length, (i) => item(items[i]))}}`;
  }
  return describeObject(value, item);
}

function describeObject(value: object, item: (one: unknown) => string): string {
  const keys = Object.keys(value);
  const name = nameOf(value);
  const fields = limited(keys.length, (i) => {
    const key = keys[i] ?? '';
    const found = Object.getOwnPropertyDescriptor(value, key);
    return `${key}: ${found !== undefined && 'value' in found ? item(found.value) : '[getter]'}`;
  });
  return `${name === 'Object' ? '' : `${name} `}{${fields === '' ? '' : ` ${fields} `}}`;
}

function nameOf(value: object): string {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === null || typeof prototype !== 'object') return 'Object';
  const maker: unknown = Object.getOwnPropertyDescriptor(prototype, 'constructor')?.value;
  return typeof maker === 'function' && maker.name !== '' ? maker.name : 'Object';
}

function limited(count: number, text: (i: number) => string): string {
  const shown = Array.from({ length: Math.min(count, MAX_ITEMS) }, (_, i) => text(i));
  if (count > MAX_ITEMS) shown.push('...');
  return shown.join(', ');
}
