// The site of the tests: the package as it is built, one page, one worker, and an address where those who record say how
// far they are.
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join, normalize } from 'node:path';

const PATIENCE_MS = 60_000;
const ROOT = join(import.meta.dirname, '../..');

async function contentOf(pathname) {
  const path = normalize(pathname);
  if (path.startsWith('/sdk/')) return readFile(join(ROOT, 'dist', path.slice(5)));
  return readFile(join(import.meta.dirname, 'site-files', path));
}

/** Serves all that; `rows(id)` is how many rows the recorder of that name has said it has recorded. */
export async function startSite() {
  if (!existsSync(join(ROOT, 'dist/index.js')))
    throw new Error('There is no dist/. Run `npm run build` first.');
  const beats = new Map();
  const told = new Map();
  const listeners = new Map();
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://site');
    if (pathname === '/beat') {
      const id = searchParams.get('id') ?? '';
      beats.set(id, Math.max(beats.get(id) ?? 0, Number(searchParams.get('rows'))));
      response.end();
      return;
    }
    if (pathname === '/told') {
      const id = searchParams.get('id') ?? '';
      let body = '';
      request.on('data', (data) => {
        body += data;
      });
      request.on('end', () => {
        response.end();
        told.set(id, JSON.parse(body));
        listeners.get(id)?.();
      });
      return;
    }
    if (pathname === '/') {
      response.setHeader('content-type', 'text/html');
      response.end('<!doctype html><script type="module" src="/page.js"></script>');
      return;
    }
    contentOf(pathname).then(
      (content) => {
        response.setHeader('content-type', 'text/javascript');
        response.end(content);
      },
      () => {
        response.statusCode = 404;
        response.end();
      },
    );
  });
  await new Promise((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    origin: `http://127.0.0.1:${server.address().port}`,
    rows: (id) => beats.get(id) ?? 0,
    /** Waits for what a page tells by itself. */
    async told(id) {
      await new Promise((resolve, reject) => {
        const timer = setTimeout(
          () => reject(new Error(`Nothing was told of ${id}.`)),
          PATIENCE_MS,
        );
        const look = () => {
          if (!told.has(id)) return;
          clearTimeout(timer);
          resolve();
        };
        listeners.set(id, look);
        look();
      });
      const answer = told.get(id);
      if (answer.error !== undefined) throw new Error(answer.error);
      return answer;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
}
