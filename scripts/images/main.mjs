// `npm run images`: trains a few small networks, opens every view of the page on their runs, light and dark, and writes what it sees to
// docs/images. Needs a build (`npm run build`). `npm run images -- layers console` makes only these again; `--runs FOLDER` stores the
// runs there, or takes those that are there; `--png FOLDER` writes PNG files there as well.
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { chromium } from 'playwright';
import { preview } from 'vite';
import { openStorage } from 'quark-sdk';
import { serveStore } from 'quark-sdk/node';
import { carriedFontScript } from '../carried-font.mjs';
import { CHROMIUM_ARGS, findChromium, WEBGL_ARGS } from '../chromium.mjs';
import { run } from '../run-program.mjs';
import { recordStore } from './store.mjs';
import { viewsOf } from './views.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** The built page; the variable names another build, as in the tests. */
const PAGE = process.env.QUARK_DEMO_DIR ?? join(ROOT, 'dist/demo');
const IMAGES = join(ROOT, 'docs/images');
const SIZE = { width: 1280, height: 800 };
const QUALITY = 76;
const PATIENCE_MS = 120_000;

/** Views of the store that have no image of their own: they resemble another one, or show nothing that was recorded. */
const WITHOUT = new Set(['runs-deleted', 'media-audio', 'reports', 'train']);

const { values: options, positionals: only } = parseArgs({
  allowPositionals: true,
  options: { runs: { type: 'string' }, png: { type: 'string' } },
});
const isWanted = (name) => only.length === 0 || only.includes(name);

/** What is done on a view before each of its images: another theme draws the charts again, without the pointer's readout. */
const POINT = {
  run: (page) =>
    page
      .locator('.panel .u-over')
      .first()
      .hover({ position: { x: 190, y: 70 } }),
};

/** Tabs of a run begin below its head, which is on the image of the first one. */
async function showTab(page) {
  const tabs = page.locator('.run-bar');
  if ((await tabs.count()) > 0)
    await tabs.evaluate((bar) => scrollTo(0, bar.getBoundingClientRect().top + scrollY - 68));
}

/** Views from their very top. */
const FROM_TOP = new Set(['run', 'analysis']);

/** Views that show more in a higher window. */
const HEIGHTS = {
  run: 1180,
  analysis: 1000,
  batches: 900,
  layers: 1000,
  report: 1000,
  'media-models': 900,
};

const POST = `<!doctype html><meta name="color-scheme" content="light dark"><title>A post</title>
<style>
  body { max-width: 1000px; margin: 40px auto; font: 18px/1.6 Carried, sans-serif; }
</style>
<script type="module" src="./quark-run.js"></script>
<h1>What a convolution adds</h1>
<p>The curves below are those of the run itself: point at them, zoom, and open the run.</p>
<quark-run src="runs/RUN_ID.quark" metric="train/loss" height="470"></quark-run>
<p>Such a frame is one line of HTML, and changes nothing in the run.</p>`;

/** Takes images of the pages of one browser. */
class Camera {
  #context;
  bytes = 0;
  count = 0;

  constructor(context) {
    this.#context = context;
  }

  /** Opens an address and hands the page over, once `sign` is there, to `work`; then takes both images of it, after `point`. */
  async take(name, url, { sign, work, point, height = SIZE.height }) {
    if (!isWanted(name)) return;
    const page = await this.#context.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    page.on('pageerror', (error) => console.error(`${name}: ${error.message}`));
    await page.setViewportSize({ ...SIZE, height });
    await page.goto(url);
    if (sign !== undefined) await page.locator(sign).first().waitFor();
    await work?.(page);
    for (const colorScheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme });
      await atRest(page);
      if (point !== undefined) {
        // The pointer has to move to be noticed.
        await page.mouse.move(0, 0);
        await point(page);
        await atRest(page);
      }
      await this.#write(page, `${name}-${colorScheme}.webp`);
    }
    console.log(`${name} (${++this.count})`);
    await page.close();
  }

  async #write(page, file) {
    const devtools = await page.context().newCDPSession(page);
    const { data } = await devtools.send('Page.captureScreenshot', {
      format: 'webp',
      quality: QUALITY,
    });
    const content = Buffer.from(data, 'base64');
    this.bytes += content.length;
    await writeFile(join(IMAGES, file), content);
    if (options.png !== undefined)
      await page.screenshot({ path: join(options.png, file.replace('.webp', '.png')) });
  }
}

/** Waits until the page neither waits for anything nor draws: charts are drawn from a queue, one frame after the other. */
async function atRest(page) {
  await page
    .locator('.skeleton, .waiting, [aria-busy="true"]')
    .first()
    .waitFor({ state: 'detached' });
  let before = '';
  for (let same = 0; same < 3;) {
    await page.waitForTimeout(300);
    const now = (await page.screenshot()).toString('base64');
    same = now === before ? same + 1 : 0;
    before = now;
  }
}

/** A training in the tab, from the button to its third epoch. */
async function trainInTab(page) {
  await page.getByRole('button', { name: 'Start training' }).click();
  await page.getByText('Epoch 4 of 20').waitFor();
  await page.getByRole('button', { name: 'Stop' }).click();
  await page.locator('[data-outcome="interrupted"]').waitFor();
}

async function openPalette(page) {
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: 'Find an action or a run' }).fill('rate 0.003');
  await page.getByRole('dialog').getByRole('option', { name: /^rate/ }).first().waitFor();
}

/** Serves files below a folder, without a header of ours. */
async function serveFiles(folder) {
  const server = await preview({
    configFile: false,
    logLevel: 'error',
    root: ROOT,
    build: { outDir: folder },
    preview: { host: '127.0.0.1', port: 0 },
  });
  return {
    url: `http://127.0.0.1:${server.httpServer.address().port}/`,
    close: () => server.close(),
  };
}

/** The store of a folder, recorded where nothing is there yet. */
async function openRuns(folder, closers) {
  await mkdir(folder, { recursive: true });
  const store = await openStorage(folder);
  closers.push(() => store.close());
  const notes = join(folder, 'images.json');
  if (existsSync(notes)) return { store, ids: JSON.parse(await readFile(notes, 'utf8')) };
  const { ids, close } = await recordStore(store, join(folder, 'digits'), (what) =>
    console.log(`recorded ${what}`),
  );
  closers.push(close);
  await writeFile(notes, JSON.stringify(ids));
  return { store, ids };
}

async function takeAll(camera, { store, ids, folder }, closers) {
  const dashboardDir = PAGE;
  const server = await serveStore({ store, dashboardDir, changes: true });
  closers.push(() => server.close());
  const at = (hash) => server.changeUrl + hash;
  for (const { name, hash, sign } of viewsOf(ids))
    if (!WITHOUT.has(name))
      await camera.take(name, at(hash), {
        sign,
        work: FROM_TOP.has(name) ? undefined : showTab,
        point: POINT[name],
        height: HEIGHTS[name],
      });
  await camera.take('palette', at('#/'), { sign: '.run-row .spark path', work: openPalette });

  const site = join(folder, 'site');
  const which = [ids.media, ...ids.compared.slice(8, 12)].flatMap((id) => ['--run', id]);
  const said = ['--title', 'Digits, as in the paper', '--storage-dir', folder, '--force'];
  const gallery = [join(ROOT, 'dist/cli.js'), 'gallery', site, ...which, ...said];
  const code = await run(process.execPath, gallery, { limitMs: PATIENCE_MS });
  if (code !== 0) throw new Error('The gallery was not written.');
  await writeFile(join(site, 'post.html'), POST.replace('RUN_ID', ids.media));
  const files = await serveFiles(site);
  closers.push(files.close);
  await camera.take('gallery', files.url, { sign: '.run-row .spark path' });
  await camera.take('embedded', `${files.url}post.html`, {
    height: 760,
    work: (page) =>
      page.frameLocator('quark-run iframe').locator('.panel canvas').first().waitFor(),
  });
  const demo = await serveFiles(dashboardDir);
  closers.push(demo.close);
  await camera.take('training', `${demo.url}?backend=cpu#/train`, {
    sign: 'form',
    work: trainInTab,
  });
}

async function main() {
  if (!existsSync(join(PAGE, 'index.html')))
    throw new Error('There is no dist/demo. Run `npm run build` first.');
  const closers = [];
  try {
    const temporary = await mkdtemp(join(tmpdir(), 'quark-images-'));
    closers.push(() => rm(temporary, { recursive: true, force: true }));
    const folder = options.runs ?? temporary;
    const { store, ids } = await openRuns(folder, closers);
    const browser = await chromium.launch({
      executablePath: await findChromium(),
      args: [...CHROMIUM_ARGS, ...WEBGL_ARGS],
      timeout: PATIENCE_MS,
    });
    closers.push(() => browser.close());
    const context = await browser.newContext({
      bypassCSP: true,
      locale: 'en-US',
      reducedMotion: 'reduce',
    });
    await context.addInitScript({ content: carriedFontScript() });
    const camera = new Camera(context);
    await mkdir(IMAGES, { recursive: true });
    await takeAll(camera, { store, ids, folder }, closers);
    console.log(`${2 * camera.count} images, ${(camera.bytes / 1e6).toFixed(1)} MB`);
  } finally {
    for (const close of closers.toReversed()) await close();
  }
}

await main();
