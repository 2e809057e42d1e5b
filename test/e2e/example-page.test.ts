/** The page in examples/ trains in a browser and records with one line. Needs the build. */
import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser } from 'playwright';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { collectErrors, launchBrowser } from './demo-browser.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const TYPES: Readonly<Record<string, string>> = { '.html': 'text/html', '.js': 'text/javascript' };

let browser: Browser | undefined;
let server: Server | undefined;

beforeAll(async () => {
  browser = await launchBrowser();
  server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost');
    readFile(join(ROOT, pathname)).then(
      (body) => {
        const type = TYPES[extname(pathname)] ?? 'application/octet-stream';
        response.writeHead(200, { 'content-type': type }).end(body);
      },
      () => response.writeHead(pathname === '/favicon.ico' ? 204 : 404).end(),
    );
  });
  const listening = server;
  await new Promise<void>((resolve) => {
    listening.listen(0, '127.0.0.1', resolve);
  });
});
afterAll(async () => {
  await browser?.close();
  server?.close();
});

test('browser.html trains, records, and reads back what it recorded', async () => {
  const page = (await browser?.newPage()) ?? expect.unreachable();
  const errors = collectErrors(page);
  const address = server?.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  await page.goto(`http://127.0.0.1:${port}/examples/browser.html`);
  await page.waitForFunction(
    () => document.querySelector('#log')?.textContent?.startsWith('Run') === true,
    undefined,
    { timeout: 60_000 },
  );
  const text = await page.locator('#log').textContent();
  expect(text).toMatch(
    /^Run run_\w+ on (webgl|cpu): 32 steps, loss \d\.\d{3} to \d\.\d{3}, kept in IndexedDB$/,
  );
  expect(errors).toEqual([]);
}, 120_000);
