// The checks of the built site. Each gives `passed`, a number, and `problems`, one line each.
import { createServer } from 'node:http';
import { readFile, readdir } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { extname, join, sep } from 'node:path';
import { CHROMIUM_ARGS, findChromium } from '../../../scripts/chromium.mjs';
import { checkAxe } from './axe.mjs';
import { checkLinks } from './links.mjs';
import { checkSearch } from './search.mjs';

const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.webp': 'image/webp',
};

/** Serves a folder below a path, as a host does that has other things as well. Gives the address and `close`. */
async function serveBelow(folder, base) {
  const server = createServer(async ({ url = '' }, response) => {
    const path = decodeURIComponent(new URL(url, 'http://x').pathname);
    const file = join(folder, path.slice(base.length));
    try {
      if (!path.startsWith(base) || !file.startsWith(folder + sep)) throw new Error('outside');
      const bytes = await readFile(file);
      response.writeHead(200, { 'content-type': TYPES[extname(file)] ?? 'text/plain' }).end(bytes);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  };
  return { url: `http://127.0.0.1:${server.address().port}${base}`, close };
}

async function withBrowser(work) {
  const { chromium } = createRequire(import.meta.url)('playwright');
  const browser = await chromium.launch({
    executablePath: await findChromium(),
    args: CHROMIUM_ARGS,
  });
  try {
    return await work(browser);
  } finally {
    await browser.close();
  }
}

const CHECKS = {
  links: ({ folder, pages }) => checkLinks(folder, pages),
  search: async ({ folder }) => {
    const server = await serveBelow(folder, '/any/base/');
    try {
      return await withBrowser((browser) => checkSearch(browser, folder, server.url));
    } finally {
      await server.close();
    }
  },
  axe: ({ folder, pages }) => withBrowser((browser) => checkAxe(browser, folder, pages)),
};

/** Checks a built site; prints the sum, and gives whether nothing failed. @param only names of checks, all without */
export async function check(folder, only = Object.keys(CHECKS)) {
  const unknown = only.filter((name) => !Object.hasOwn(CHECKS, name));
  if (unknown.length > 0)
    throw new Error(
      `--only: no check is called ${unknown.join(', ')}; there are ${Object.keys(CHECKS).join(', ')}.`,
    );
  const names = await readdir(folder, { recursive: true });
  const pages = names
    .map((name) => name.replaceAll('\\', '/'))
    .filter((name) => name.endsWith('.html'))
    .toSorted();
  let passed = 0;
  let failed = 0;
  for (const name of only) {
    const startedAtMs = performance.now();
    const found = await CHECKS[name]({ folder, pages });
    for (const problem of found.problems) console.error(`  ${problem}`);
    const seconds = ((performance.now() - startedAtMs) / 1000).toFixed(1);
    console.log(
      `== ${name}: ${found.passed} passed, ${found.problems.length} failed in ${seconds} s`,
    );
    passed += found.passed;
    failed += found.problems.length;
  }
  console.log(`${passed} passed, ${failed} failed`);
  return failed === 0;
}
