/** A web server of files only, below a base path: what a gallery lies behind. */
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.json': 'application/json',
  '.wasm': 'application/wasm',
};

export type FileServer = {
  /** Address of the folder, with the base path and a slash. */
  readonly url: string;
  /** Paths below the base path that were asked for. */
  readonly asked: string[];
  readonly close: () => Promise<void>;
};

/** Serves the files of a folder below `base`, as `/some/base/`, with no header but their type; `pages` are texts in front of them. */
export async function serveFolder(
  folder: string,
  base: string,
  pages: Readonly<Record<string, string>> = {},
): Promise<FileServer> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      const { pathname } = new URL(request.url ?? '/', 'http://localhost');
      const path = pathname.startsWith(base) ? pathname.slice(base.length) : undefined;
      if (path !== undefined) asked.push(path);
      const name = path === '' ? 'index.html' : path;
      const text = name === undefined ? undefined : pages[name];
      const content =
        name === undefined
          ? undefined
          : (text ?? (await readFile(join(folder, normalize(`/${name}`))).catch(() => undefined)));
      response.writeHead(content === undefined ? 404 : 200, {
        'content-type': TYPES[extname(name ?? '')] ?? 'application/octet-stream',
      });
      response.end(content ?? 'Not found');
    })();
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server has no port.');
  return {
    url: `http://127.0.0.1:${address.port}${base}`,
    asked,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
