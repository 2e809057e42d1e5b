/** The files of the built dashboard, as a page needs them. */
import { open, realpath } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { invalidInput, isQuarkError, QuarkError, SessionStoreError } from '../../base/errors.ts';
import { failure } from '../http/answers.ts';
import { openInside } from '../../base/node/open-inside.ts';
import { codingFor, compress, isWorthCompressing, type Coding } from './compress.ts';
import { pagePolicy } from './page-policy.ts';

/** Answers a request for a file; `path` is that of its URL. */
export type StaticFiles = (request: Request, path: string) => Promise<Response>;

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.map': 'application/json',
  '.wasm': 'application/wasm',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.txt': 'text/plain; charset=utf-8',
  '.md': 'text/plain; charset=utf-8',
  '.gz': 'application/gzip',
};

/**
 * Makes the page cross-origin isolated, which shared memory between it and its workers needs, and keeps it out of frames of other sites:
 * what a click does here is not hidden under a page of somebody else. It runs its own scripts only, and asks nobody but this server.
 */
const PAGE_HEADERS = {
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-embedder-policy': 'require-corp',
  'cross-origin-resource-policy': 'same-origin',
  'content-security-policy': `${pagePolicy("'self'")}; frame-ancestors 'self'`,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
} as const;

/** The element that puts a run into a page of somebody else. */
const ELEMENT_PATH = '/quark-run.js';

/** The policy of a page that these origins may put into a frame. Only `?embed=1` is: what it shows offers no change. */
function framedBy(origins: readonly string[]): string {
  return `${pagePolicy("'self'")}; frame-ancestors 'self' ${origins.join(' ')}`;
}

/** A bundler's file whose name carries a hash of its content, as Vite names them: `assets/index-BqW2x9Za.js`. */
const HASHED_ASSET = /^assets\/.*-[A-Za-z0-9_-]{8}\.[A-Za-z0-9.]+$/;

/**
 * The files of a folder; of none, when there is no folder.
 *
 * @param frameOrigins origins whose pages may show a run in a frame
 * @throws {QuarkError} `invalid_input` when the folder holds no `index.html`
 */
export async function openStaticFiles(
  dir: string | undefined,
  frameOrigins: readonly string[] = [],
): Promise<StaticFiles> {
  const root = dir === undefined ? undefined : await dashboardRoot(dir);
  return async (request, path) => {
    const answer = await staticFile(root, path, request);
    if (frameOrigins.length > 0 && new URL(request.url).searchParams.get('embed') === '1')
      answer.headers.set('content-security-policy', framedBy(frameOrigins));
    if (frameOrigins.length > 0 && path === ELEMENT_PATH) {
      answer.headers.set('cross-origin-resource-policy', 'cross-origin');
      answer.headers.set('access-control-allow-origin', '*');
    }
    return answer;
  };
}

/** @throws {QuarkError} `invalid_input` for what is no list of origins of pages: scheme, host and port, without a path */
export function checkFrameOrigins(field: string, value: unknown): readonly string[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) throw invalidInput(field, value, 'a list of origins');
  return value.map((one: unknown, at) => {
    if (typeof one === 'string' && /^https?:[^*]*$/.test(one) && URL.canParse(one)) {
      const { origin } = new URL(one);
      if (origin === one.toLowerCase()) return origin;
    }
    throw invalidInput(`${field}[${at}]`, one, 'an origin, such as https://blog.example.org');
  });
}

/** The answer that tells a page where its store is: JSON. */
export function descriptorAnswer(text: string): Response {
  const headers = {
    ...PAGE_HEADERS,
    'content-type': 'application/json',
    'cache-control': 'no-cache',
  };
  return new Response(text, { headers });
}

async function dashboardRoot(dir: string): Promise<string> {
  try {
    const root = await realpath(dir);
    await (await open(join(root, 'index.html'))).close();
    return root;
  } catch (cause) {
    throw new QuarkError(
      'invalid_input',
      `dashboardDir must hold the built dashboard; there is no index.html in ${dir}.`,
      {
        details: { field: 'dashboardDir', path: dir },
        cause,
      },
    );
  }
}

/** Compressed files by path and coding, each with the mark of the file that it was made of: for all servers of this process. */
const shorter = new Map<
  string,
  { readonly etag: string; readonly bytes: Promise<Uint8Array<ArrayBuffer>> }
>();
/** A dashboard has some sixty files. */
const MAX_SHORTER = 500;

async function staticFile(
  root: string | undefined,
  path: string,
  request: Request,
): Promise<Response> {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    return failure(
      new SessionStoreError(
        'read_only',
        `Pages are only read: ${request.method} is not answered here.`,
      ),
    );
  }
  const found = root === undefined ? undefined : await readInside(root, path);
  if (found === undefined)
    return new Response('Not found\n', {
      status: 404,
      headers: { ...PAGE_HEADERS, 'content-type': 'text/plain' },
    });
  const type = CONTENT_TYPES[extname(found.name)] ?? 'application/octet-stream';
  const coding = isWorthCompressing(type, found.bytes.byteLength) ? codingFor(request) : undefined;
  const etag = coding === undefined ? found.etag : `${found.etag.slice(0, -1)}-${coding}"`;
  const headers = {
    ...PAGE_HEADERS,
    'content-type': type,
    'cache-control': HASHED_ASSET.test(found.name)
      ? 'public, max-age=31536000, immutable'
      : 'no-cache',
    etag,
    vary: 'accept-encoding',
  };
  if (request.headers.get('if-none-match') === etag)
    return new Response(null, { status: 304, headers });
  if (coding === undefined) return new Response(found.bytes, { headers });
  const bytes = await shorterFile(root ?? '', found, coding);
  return new Response(bytes, { headers: { ...headers, 'content-encoding': coding } });
}

/** The file in a coding: computed once for as long as the file stays what it is. */
async function shorterFile(
  root: string,
  { name, bytes, etag }: FoundFile,
  coding: Coding,
): Promise<Uint8Array<ArrayBuffer>> {
  const key = `${coding} ${join(root, name)}`;
  const known = shorter.get(key);
  if (known?.etag === etag) return known.bytes;
  const made = compress(bytes, coding, 'once');
  if (shorter.size >= MAX_SHORTER) shorter.clear();
  shorter.set(key, { etag, bytes: made });
  return made;
}

type FoundFile = {
  readonly name: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly etag: string;
};

/** The file of this URL path, if it lies in `root`, links followed. */
async function readInside(root: string, path: string): Promise<FoundFile | undefined> {
  let name: string;
  try {
    name = decodeURIComponent(path).replace(/^\/+/, '');
  } catch {
    return undefined;
  }
  if (name === '' || name.endsWith('/')) name += 'index.html';
  if (
    name.includes('\0') ||
    name.includes('\\') ||
    name.split('/').some((part) => part.startsWith('.') || part === '')
  )
    return undefined;
  try {
    const handle = await openInside([root], join(root, name));
    if (handle === undefined) return undefined;
    try {
      const stat = await handle.stat();
      const bytes = new Uint8Array(await handle.readFile());
      return {
        name,
        bytes,
        etag: `"${stat.size.toString(36)}-${Math.trunc(stat.mtimeMs).toString(36)}"`,
      };
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  if (isQuarkError(error) || typeof error !== 'object' || error === null || !('code' in error))
    return false;
  return ['ENOENT', 'ENOTDIR', 'EISDIR', 'ELOOP', 'ENAMETOOLONG', 'ENXIO'].includes(
    String(error.code),
  );
}
