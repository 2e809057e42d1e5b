// A folder served to a headless Chromium, for the benchmarks that run in a page.
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';
import { chromium } from 'playwright';
import { CHROMIUM_ARGS, findChromium } from '../scripts/chromium.mjs';

const TYPES = {
  '.js': 'text/javascript',
  '.mjs': 'text/javascript',
  '.html': 'text/html',
  '.css': 'text/css',
  '.wasm': 'application/wasm',
  '.json': 'application/json',
};

/** A page that is isolated may share memory with its workers, and its clock is finer than 0.1 ms. */
const ISOLATED = {
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-embedder-policy': 'require-corp',
};

/**
 * Calls `work` with a browser and the URL of a page; all is closed afterwards.
 *
 * @param root the folder that is served
 * @param options `index`: the text of the page at `/`, the folder's own index.html unless given; `isIsolated`; `args` for Chromium;
 *   `profile`: a folder, so that what pages store is on the disk of it and not in memory: `work` is given a context then
 */
export async function inChromium(root, options, work) {
  const { index, isIsolated = false, args = [], profile } = options;
  const server = createServer(async (request, response) => {
    const asked = normalize(new URL(request.url ?? '/', 'http://localhost').pathname);
    const path = asked === '/' ? '/index.html' : asked;
    try {
      const body = asked === '/' && index !== undefined ? index : await readFile(join(root, path));
      const type = TYPES[extname(path)] ?? 'application/octet-stream';
      response.writeHead(200, { ...(isIsolated ? ISOLATED : {}), 'content-type': type }).end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const launch = { executablePath: await findChromium(), args: [...CHROMIUM_ARGS, ...args] };
  const browser =
    profile === undefined
      ? await chromium.launch(launch)
      : await chromium.launchPersistentContext(profile, launch);
  try {
    return await work(browser, `http://127.0.0.1:${server.address().port}/`);
  } finally {
    await browser.close();
    server.close();
  }
}
