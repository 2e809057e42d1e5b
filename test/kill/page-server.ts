/** Serves one bundled page on a port of its own: an origin that nothing else stores into. */
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { bundle } from '../support/bundle.mjs';

export type PageServer = { readonly origin: string; close(): Promise<void> };

/** Bundles the script `entry` (a path from the root of the repository) and serves a page that runs it. */
export async function startPageServer(entry: string): Promise<PageServer> {
  const build = join(import.meta.dirname, '../../build');
  await mkdir(build, { recursive: true });
  const program = await bundle(entry, {
    forNode: false,
    folder: await mkdtemp(join(build, 'page-')),
  });
  const script = await readFile(program);
  const server = createServer((request, response) => {
    const isScript = request.url === '/page.js';
    response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html');
    // A page in a sandbox has an origin of its own.
    response.setHeader('access-control-allow-origin', '*');
    if (request.url === '/sandbox')
      response.setHeader('content-security-policy', 'sandbox allow-scripts');
    if (request.url === '/frame') {
      response.end('<iframe sandbox="allow-scripts" src="/"></iframe>');
      return;
    }
    response.end(isScript ? script : '<script type="module" src="/page.js"></script>');
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.close();
      await rm(dirname(program), { recursive: true, force: true });
    },
  };
}
