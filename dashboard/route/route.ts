/** Where the page is, in the part of the address after `#`: works under any base path and from any file server. */

/** A page of the dashboard, as its address names it. */
export type PageRoute =
  | { readonly kind: 'runs' }
  | {
      readonly kind: 'run';
      readonly runId: string;
      /** The id of a tab; undefined: the first one. */
      readonly view?: string | undefined;
    }
  | { readonly kind: 'compare'; readonly runIds: readonly string[] }
  | {
      readonly kind: 'reports';
      /** Undefined: the list of all projects. */
      readonly report?: { readonly project: string; readonly id: string } | undefined;
    }
  | { readonly kind: 'train'; readonly resumeRunId: string | undefined }
  | { readonly kind: 'unknown'; readonly path: string };

/** Reads the hash of an address, with or without `#`. */
export function parseRoute(hash: string): PageRoute {
  const text = hash.replace(/^#/, '');
  const [path = '', query = ''] = text.split('?');
  const parts = path.split('/').filter((part) => part !== '');
  const [first, second] = parts;
  if (first === undefined || (first === 'runs' && second === undefined)) return { kind: 'runs' };
  if (first === 'runs' && second !== undefined && parts.length === 2) {
    const runId = decoded(second);
    const view = new URLSearchParams(query).get('view') ?? undefined;
    if (runId !== undefined) return { kind: 'run', runId, view };
  }
  if (first === 'compare' && second === undefined) {
    const runIds = (new URLSearchParams(query).get('runs') ?? '').split(',').filter(Boolean);
    if (runIds.length > 0) return { kind: 'compare', runIds };
  }
  if (first === 'reports' && second === undefined) return { kind: 'reports' };
  if (first === 'reports' && second !== undefined && parts.length === 3) {
    const [project, id] = [decoded(second), decoded(parts[2] ?? '')];
    if (project !== undefined && id !== undefined)
      return { kind: 'reports', report: { project, id } };
  }
  if (first === 'train' && second === undefined) {
    return { kind: 'train', resumeRunId: new URLSearchParams(query).get('resume') ?? undefined };
  }
  return { kind: 'unknown', path: text };
}

/** The address of a page. */
export function hrefOf(route: PageRoute): string {
  switch (route.kind) {
    case 'runs':
      return '#/';
    case 'run':
      return `#/runs/${encodeURIComponent(route.runId)}${route.view === undefined ? '' : `?view=${encodeURIComponent(route.view)}`}`;
    case 'compare':
      return `#/compare?runs=${route.runIds.map(encodeURIComponent).join()}`;
    case 'reports':
      return route.report === undefined
        ? '#/reports'
        : `#/reports/${encodeURIComponent(route.report.project)}/${encodeURIComponent(route.report.id)}`;
    case 'train':
      return route.resumeRunId === undefined
        ? '#/train'
        : `#/train?resume=${encodeURIComponent(route.resumeRunId)}`;
    case 'unknown':
      return `#${route.path}`;
  }
}

/** What an address says of the page beyond its name: filters, zooms, choices. Undefined: it says nothing of it. */
export type Params = ReadonlyMap<string, string | undefined>;

/** Parts of an address after `?` that name the page. */
const NAMING: ReadonlySet<string> = new Set(['view', 'runs', 'resume']);

/** The parts of an address after `?` that do not name the page. */
export function addressParams(hash: string): ReadonlyMap<string, string> {
  const query = hash.slice(Math.max(0, hash.indexOf('?') + 1) || hash.length);
  return new Map([...new URLSearchParams(query)].filter(([name]) => !NAMING.has(name)));
}

/** The address of the same page with these other parts after `?`. */
export function withAddressParams(hash: string, params: Params): string {
  const at = hash.indexOf('?');
  const path = at < 0 ? hash : hash.slice(0, at);
  const query = at < 0 ? '' : hash.slice(at + 1);
  const naming = query.split('&').filter((part) => NAMING.has(part.split('=')[0] ?? ''));
  const others = [...params].flatMap(([name, value]) =>
    value === undefined ? [] : [`${encodePart(name)}=${encodePart(value)}`],
  );
  const all = [...naming, ...others.toSorted()].join('&');
  return `${path === '' ? '#/' : path}${all === '' ? '' : `?${all}`}`;
}

/** Addresses are read by people: what need not be escaped is not. */
function encodePart(text: string): string {
  return encodeURIComponent(text)
    .replaceAll('%2C', ',')
    .replaceAll('%2F', '/')
    .replaceAll('%3A', ':')
    .replaceAll('%20', '+');
}

/**
 * A positive whole number from the part of an address after `?`, before `#`: `?leaseTtlMs=2000`. Undefined when it is
 * not there or not such a number.
 */
export function numberSettingOf(search: string, name: string): number | undefined {
  const text = new URLSearchParams(search).get(name);
  if (text === null || !/^\d{1,9}$/.test(text)) return undefined;
  const value = Number(text);
  return value > 0 ? value : undefined;
}

function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}
