/** The built demo in a real Chromium: behind a plain file server, or behind the server of the package. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { chromium, type Browser, type Locator, type Page } from 'playwright';
import { preview, type PreviewServer } from 'vite';
import { CHROMIUM_ARGS, findChromium, WEBGL_ARGS } from '../../scripts/chromium.mjs';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** Folder of the built demo; the variable names another build. */
export const DEMO_DIR: string = process.env['QUARK_DEMO_DIR'] ?? here('../../dist/demo');

/** How long something on the page may take on a loaded machine before a test gives up on it. */
export const PATIENCE_MS = 120_000;

/** @throws Error when the demo has not been built */
export function checkBuilt(): void {
  if (existsSync(`${DEMO_DIR}/index.html`)) return;
  throw new Error(`${DEMO_DIR} has no page. Run "npm run build" before the tests of the demo.`);
}

/** Starts a Chromium. */
export async function launchBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: await findChromium(),
    args: [...CHROMIUM_ARGS, ...WEBGL_ARGS],
    timeout: PATIENCE_MS,
  });
}

/** A server of files only, as any web host is one: no store behind it. */
export async function serveFiles(): Promise<{ url: string; close: () => Promise<void> }> {
  checkBuilt();
  const server: PreviewServer = await preview({
    configFile: false,
    logLevel: 'error',
    root: here('../../demo'),
    build: { outDir: DEMO_DIR },
    preview: { host: '127.0.0.1', port: 0, strictPort: false },
  });
  const address = server.httpServer.address();
  if (address === null || typeof address === 'string') throw new Error('The server has no port.');
  return { url: `http://127.0.0.1:${address.port}/`, close: () => server.close() };
}

/** How long a frame is waited for: one comes every 16 ms, on a loaded machine every second. */
const FRAME_WAIT_MS = 20_000;

/**
 * Whether a page is given frames. Twice in whole runs scripts of a page answered while clicks waited for ever, which is how a page without
 * frames behaves; the cause was not found.
 */
export function drawsFrames(page: Page): Promise<boolean> {
  return page.evaluate(
    (limitMs) =>
      new Promise<boolean>((resolve) => {
        const timer = setTimeout(() => resolve(false), limitMs);
        requestAnimationFrame(() => {
          clearTimeout(timer);
          resolve(true);
        });
      }),
    FRAME_WAIT_MS,
  );
}

/** What goes wrong on a page from now on. */
export function collectErrors(page: Page): string[] {
  const errors: string[] = [];
  page.on('pageerror', (error) => errors.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error') errors.push(message.text());
  });
  return errors;
}

/** Drags files or folders of this disk over the page and drops them, as a file manager does. */
export async function dropOn(page: Page, paths: readonly string[]): Promise<void> {
  const devtools = await page.context().newCDPSession(page);
  const data = { items: [], files: [...paths], dragOperationsMask: 1 };
  for (const type of ['dragEnter', 'dragOver', 'drop'] as const)
    await devtools.send('Input.dispatchDragEvent', { type, x: 200, y: 400, data });
  await devtools.detach();
}

/** The panel of a metric group. */
export function panel(page: Page, group: string): Locator {
  return page.locator(`.panel[data-group="${group}"]`);
}

/** How many points of a metric a panel holds, as it says itself. */
export async function pointCount(page: Page, group: string, key: string): Promise<number> {
  const label = (await panel(page, group).locator('.chart').getAttribute('aria-label')) ?? '';
  const found = new RegExp(`${key}: ([\\d,]+) points`).exec(label);
  return found === null ? 0 : Number(found[1]?.replaceAll(',', ''));
}

/** Pixels of the plot of a panel that are near a colour; optionally only in the lowest `footPx` CSS pixels of it. */
export async function countColor(
  page: Page,
  group: string,
  [red, green, blue]: readonly [number, number, number],
  footPx?: number,
): Promise<number> {
  return panel(page, group).evaluate(
    (element, wanted) => {
      const canvas = element.querySelector('canvas');
      const plot = element.querySelector('.u-over');
      const context = canvas?.getContext('2d');
      if (!(canvas instanceof HTMLCanvasElement) || plot === null || !context) return -1;
      const ratio = canvas.width / canvas.clientWidth;
      const frame = canvas.getBoundingClientRect();
      const inner = plot.getBoundingClientRect();
      const foot = wanted.footPx ?? inner.height;
      const { data } = context.getImageData(
        Math.round((inner.left - frame.left) * ratio),
        Math.round((inner.bottom - frame.top - foot) * ratio),
        Math.round(inner.width * ratio),
        Math.round(foot * ratio),
      );
      let count = 0;
      for (let at = 0; at < data.length; at += 4) {
        if ((data[at + 3] ?? 0) < 200) continue;
        const distance =
          Math.abs((data[at] ?? 0) - wanted.red) +
          Math.abs((data[at + 1] ?? 0) - wanted.green) +
          Math.abs((data[at + 2] ?? 0) - wanted.blue);
        if (distance < 40) count += 1;
      }
      return count;
    },
    { red, green, blue, footPx },
  );
}

/** The colours of training and validation in the light theme. */
export const TRAIN_COLOR = [0x31, 0x56, 0xd3] as const;
export const VAL_COLOR = [0xd2, 0x57, 0x1f] as const;
