/**
 * Every view of the page: under the rules of axe, in several widths and fonts, by keys, and without motion. `npm test` opens one of each
 * kind, in light and 1,024 pixels wide; `npm run test:long` all of them, in every theme, width and font.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, BrowserContextOptions, Frame, Page } from 'playwright';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { EventLogger, MetricsLogger, openStorage, TrainingSession, type Store } from 'quark-sdk';
import { serveStore, type ServedStore } from 'quark-sdk/node';
import { saveReport } from 'quark-sdk/workspace';
import { carriedFontScript } from '../../scripts/carried-font.mjs';
import { viewsOf, type ShownRuns } from '../../scripts/images/views.mjs';
import { quark } from '../cli/fake-io.ts';
import { recordToldRuns } from '../support/told-run.ts';
import { recordMediaRun } from '../support/media-run.ts';
import { layerRow, writeProbeRows } from '../support/probe-rows.ts';
import { longTest } from '../support/long.ts';
import { isWhole } from '../support/property.ts';
import { movingParts, walkByTab, withoutKeys } from './by-keys.ts';
import { checkBuilt, DEMO_DIR, launchBrowser, PATIENCE_MS } from './demo-browser.ts';
import { serveFolder, type FileServer } from './file-server.ts';
import { beyondWindow, writeAs, WRITINGS, type Writing } from './narrow.ts';
import { FONTS, hasFont, wrongTexts } from './text-boxes.ts';

const LIMIT_MS = 480_000;
const LONG_LIMIT_MS = 2_400_000;
const WIDTHS = [390, 768, 1024, 1440, 2560];
const HEIGHT = 900;
/** Views at once: while one waits for its data, another is measured. */
const TABS = 2;
/**
 * Views of `npm test`: one of each kind. The others are more tabs of the same pages; `npm run test:long` opens all.
 */
const PLAIN_VIEWS: readonly string[] = [
  'runs',
  'run',
  'analysis',
  'layers',
  'machine',
  'console',
  'media-images',
  'batches',
  'compare',
  'compare-parallel',
  'report',
  'train',
  'nowhere',
  'gallery',
  'embedded',
];
/** A shift of the layout that nobody sees as one; the sum of a page. */
const MAX_SHIFT = 0.02;

let folder: string;
let browser: Browser;
let store: Store;
let server: ServedStore;
let site: FileServer;
let axe: string;
let shown: ShownRuns;

async function record(at: number): Promise<string> {
  const session = await TrainingSession.startRun({
    project: 'digits',
    storage: store,
    tags: ['baseline', 'a-tag-that-is-longer-than-any-column-of-a-table-can-be'],
    config: { optimizer: { name: 'adam', rate: 0.001 }, layers: [64, 10] },
    handleSignals: false,
  });
  const metrics = new MetricsLogger(session);
  for (let step = 0; step < 300; step += 1) {
    metrics.log('train/loss', 2 * Math.exp(-step / 80) + at / 10, { step });
    if (step % 50 === 49) metrics.log('val/loss', 2 * Math.exp(-step / 90) + at / 9, { step });
  }
  await writeProbeRows(session, {
    layers: [0, 1, 2, 50, 100].map((step) => layerRow({ moduleName: 'conv', step, mean: step })),
  });
  new EventLogger(session).log('runtime_error', {
    severity: 'error',
    step: 299,
    payload: { message: 'CUDA out of memory', stack: 'at train' },
  });
  await session.endRun(at === 0 ? 'failed' : 'completed');
  return session.runId;
}

/** Text, a chart and a table. */
async function writeReport(): Promise<string> {
  const done = await saveReport(store, 'digits', {
    title: 'Which of the three is best, and why nobody saw it before',
    blocks: [
      { kind: 'text', text: '## Found\n\nThe *first*.\n\n| a | b |\n| --- | --- |\n| 1 | 2 |' },
      { kind: 'chart', metric: 'train/loss', where: '' },
      { kind: 'runs', where: '', columns: ['status', 'config.optimizer.name', 'startedAt'] },
    ],
  });
  if (done.kind !== 'updated') throw new Error('The report was not saved.');
  return done.report.id;
}

/** A gallery, and beside it somebody's page with a run in it. */
async function shareRuns(runId: string): Promise<FileServer> {
  const done = await quark(['gallery', 'site', '--title', 'Our digits'], { cwd: folder });
  expect(done).toMatchObject({ code: 0 });
  return serveFolder(join(folder, 'site'), '/', {
    'post.html': `<!doctype html><html lang="en"><title>Post</title><main><h1>Post</h1>
    <script type="module" src="./quark-run.js"></script>
    <quark-run src="runs/${runId}.quark" height="420"></quark-run></main>`,
  });
}

beforeAll(async () => {
  checkBuilt();
  axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  folder = await mkdtemp(join(tmpdir(), 'quark-every-view-'));
  store = await openStorage(folder);
  const media = await recordMediaRun(store, { name: 'media' });
  const profiled = (await recordToldRuns(store, 200)).runId;
  const compared = [await record(0), await record(1), await record(2)];
  const first = compared[0] ?? '';
  shown = {
    compared,
    media,
    profiled,
    probed: { id: first, layer: 'conv' },
    broken: first,
    batches: first,
    report: { project: 'digits', id: await writeReport() },
    group: 'config.optimizer.name',
  };
  site = await shareRuns(first);
  server = await serveStore({ store, dashboardDir: DEMO_DIR, changes: true });
  browser = await launchBrowser();
}, LIMIT_MS);
afterAll(async () => {
  await browser?.close();
  await site?.close();
  await server?.close();
  await store?.close();
  await rm(folder, { recursive: true, force: true });
});

/** A view under its whole address. */
type Opened = { readonly name: string; readonly url: string; readonly sign: string };

const views = (): readonly Opened[] => [
  ...[
    ...viewsOf(shown),
    { name: 'no layers', hash: `#/runs/${shown.profiled}?view=layers`, sign: '.how-to' },
    { name: 'no machine', hash: `#/runs/${shown.broken}?view=machine`, sign: '.how-to' },
    { name: 'nowhere', hash: '#/nowhere', sign: '.notice' },
    { name: 'no such run', hash: '#/runs/run_none', sign: '.notice' },
  ].map(({ name, hash, sign }) => ({ name, url: server.changeUrl + hash, sign })),
  { name: 'gallery', url: site.url, sign: '.run-row .spark path' },
  { name: 'embedded', url: `${site.url}post.html`, sign: '.panel canvas' },
];

/** The page of a view, or the frame in it that shows the run. */
async function frameOf(page: Page): Promise<Page | Frame> {
  if (!page.url().endsWith('post.html')) return page;
  const frame = await (await page.waitForSelector('quark-run iframe')).contentFrame();
  if (frame === null) throw new Error('The element has no frame.');
  return frame;
}

/** Waits for an element that can be seen. Looks in every frame: a locator's `waitFor` looks twice a second. */
async function isShown(frame: Page | Frame, sign: string): Promise<void> {
  const options = { timeout: PATIENCE_MS };
  await frame.waitForFunction(
    (selector) => [...document.querySelectorAll(selector)].some((found) => found.checkVisibility()),
    sign,
    options,
  );
}

/** Opens every view in a tab of its own, up to `tabs` of them at once. */
async function eachView(
  options: BrowserContextOptions,
  work: (frame: Page | Frame, name: string, page: Page) => Promise<void>,
  { chosen = views(), tabs = 1 }: { chosen?: readonly Opened[]; tabs?: number } = {},
): Promise<void> {
  // The policy of the page lets no script of a test in.
  const context = await browser.newContext({
    bypassCSP: true,
    reducedMotion: 'reduce',
    locale: 'en-US',
    ...options,
  });
  await context.addInitScript({ content: carriedFontScript() });
  await context.addInitScript(watchShifts);
  const queue = chosen.values();
  const openNext = async (): Promise<void> => {
    for (const { name, url, sign } of queue) {
      const page = await context.newPage();
      page.setDefaultTimeout(PATIENCE_MS);
      await page.goto(url);
      const frame = await frameOf(page);
      await isShown(frame, sign);
      await work(frame, name, page);
      await page.close();
    }
  };
  try {
    await Promise.all(Array.from({ length: tabs }, openNext));
  } finally {
    await context.close();
  }
}

/** Runs in the page: adds up how far what is on screen moved by itself. */
function watchShifts(): void {
  Reflect.set(globalThis, 'shiftOfPage', 0);
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      if (Reflect.get(entry, 'hadRecentInput') === true) continue;
      const sum =
        Number(Reflect.get(globalThis, 'shiftOfPage')) + Number(Reflect.get(entry, 'value'));
      Reflect.set(globalThis, 'shiftOfPage', sum);
    }
  }).observe({ type: 'layout-shift', buffered: true });
}

const shiftOf = (frame: Page | Frame): Promise<number> =>
  frame.evaluate(() => Number(Reflect.get(globalThis, 'shiftOfPage')));

async function violationsOf(frame: Page | Frame): Promise<readonly string[]> {
  await frame.evaluate(axe);
  return frame.evaluate(async () => {
    type Found = { violations: { id: string; nodes: { target: string[] }[] }[] };
    const run: (options: object) => Promise<Found> = Reflect.get(
      Reflect.get(globalThis, 'axe'),
      'run',
    );
    const { violations } = await run({ resultTypes: ['violations'] });
    return violations.flatMap(({ id, nodes }) =>
      nodes.map(({ target }) => `${id}: ${target.join(' ')}`),
    );
  });
}

/** How often a view is measured again before what is wrong counts: charts take a new width a moment later. */
const MEASURES = 12;

/**
 * What is known not to fit: the title of the vertical axis of a curve is turned by 90 degrees, and has the room that letters of 11 px
 * need beside the numbers of the axis.
 */
const isKnown = (one: string, writing: Writing): boolean =>
  /^(text of 20 px|wide letters)$/.test(writing.name) &&
  one.startsWith('over each other') &&
  one.split('(text.? in .unit-axes)').length === 3;

/** What does not fit into the window or its box. */
async function misfits(
  frame: Page | Frame,
  isExcepted: (one: string) => boolean = () => false,
): Promise<readonly string[]> {
  let found: readonly string[] = [];
  for (let measure = 0; measure < MEASURES; measure += 1) {
    found = [...(await beyondWindow(frame)), ...(await wrongTexts(frame))].filter(
      (one) => !isExcepted(one),
    );
    if (found.length === 0) break;
    await frame.waitForTimeout(250);
  }
  return found;
}

/** Views with dialogs: the button or the key that opens each, and what it is called. */
const DIALOGS: Readonly<Record<string, readonly (readonly [opener: string, dialog: RegExp])[]>> = {
  runs: [
    ['Columns', /^Columns$/],
    ['Export', /Export/],
    ['key Control+k', /./],
    ['key ?', /^Keys$/],
  ],
  run: [
    ['Settings of loss', /./],
    ['Marks and notes', /./],
    ['Report', /^Report/],
  ],
};

/** Opens every dialog of a view, one after the other. */
async function eachDialog(
  page: Page,
  view: string,
  work: (page: Page, name: string) => Promise<void>,
): Promise<void> {
  for (const [opener, name] of DIALOGS[view] ?? []) {
    if (opener.startsWith('key ')) await page.keyboard.press(opener.slice(4));
    else await page.getByRole('button', { name: opener, exact: true }).first().click();
    const dialog = page.getByRole('dialog', { name });
    await dialog.waitFor();
    await work(page, `${view}, ${opener}`);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
  }
}

/** Texts that are wrong, in each way that there is, and texts that only look so to a program. */
const MADE_UP = `<!doctype html><style>
  body { margin: 0; font: 16px/24px sans-serif; }
  div, p { position: absolute; left: 0; margin: 0; }
  .narrow { width: 60px; white-space: nowrap; overflow: hidden; }
</style>
<div class="narrow">wrong: cut at its right</div>
<div class="flat" style="top: 40px; height: 12px; overflow: clip"><span class="low">wrong: cut below</span></div>
<p class="one" style="top: 80px">wrong: over another</p><p class="two" style="top: 85px">wrong: another</p>
<div class="narrow" style="top: 130px; text-overflow: ellipsis">right: it ends in dots</div>
<div class="narrow" style="top: 160px" title="whole">right: a tooltip has all of it</div>
<div class="narrow" style="top: 190px; overflow: auto">right: it is scrolled</div>
<details style="position: absolute; top: 230px"><summary>right: a summary</summary><i>right: folded</i></details>
<p style="top: 254px">right: below a summary</p>
<p style="top: 290px">right: below what floats</p><p style="top: 290px; position: fixed">right: it floats</p>`;

it('finds texts that are cut off or lie over each other', async () => {
  const page = await browser.newPage();
  await page.setContent(MADE_UP);
  expect(await wrongTexts(page)).toEqual([
    'cut: "wrong: cut at its right" (div.narrow) by div.narrow',
    'cut: "wrong: cut below" (span.low) by div.flat',
    'over each other: "wrong: over another" (p.one) and "wrong: another" (p.two)',
  ]);
  await page.close();
});

it(
  'breaks no rule of axe, fits, is used by keys and does not move in any view',
  { timeout: LIMIT_MS },
  async () => {
    const wrong: string[] = [];
    const check = async (frame: Page | Frame, name: string, page: Page): Promise<void> => {
      const found = [
        ...(await violationsOf(frame)),
        ...(await withoutKeys(frame)),
        ...(await movingParts(frame)),
        ...(await misfits(frame)),
      ];
      wrong.push(...found.map((one) => `${name}: ${one}`));
      await eachDialog(page, name, async (_, dialog) => {
        wrong.push(...(await violationsOf(page)).map((one) => `${dialog}: ${one}`));
      });
    };
    const chosen = views().filter(({ name }) => isWhole || PLAIN_VIEWS.includes(name));
    expect(chosen.length).toBeGreaterThanOrEqual(PLAIN_VIEWS.length);
    const viewport = { width: 1024, height: HEIGHT };
    await eachView({ viewport }, check, { chosen, tabs: TABS });
    expect(wrong).toEqual([]);
  },
);

it('keeps its layout on a phone while it loads', { timeout: LIMIT_MS }, async () => {
  const chosen = views().filter(({ name }) => ['runs', 'run', 'compare'].includes(name));
  const shifts: Record<string, number> = {};
  await eachView(
    { viewport: { width: 390, height: 844 } },
    async (frame, name) => {
      shifts[name] = await shiftOf(frame);
    },
    { chosen },
  );
  expect(Object.entries(shifts).filter(([, sum]) => sum >= MAX_SHIFT)).toEqual([]);
});

/** Weights of the style sheets. */
const WEIGHTS = [400, 500, 540, 560, 600, 640, 700];

it(
  'is written in one family at every weight, also where no font is set up as that of the system',
  {
    timeout: LIMIT_MS,
  },
  async () => {
    const page = await browser.newPage();
    await page.goto(`${server.url}#/nowhere`);
    await page.locator('.notice').waitFor();
    await page.evaluate((weights) => {
      for (const weight of weights) {
        const line = document.createElement('p');
        line.id = `weight-${weight}`;
        line.textContent = 'Every letter of a line';
        line.style.fontWeight = String(weight);
        document.body.append(line);
      }
    }, WEIGHTS);
    const devtools = await page.context().newCDPSession(page);
    await devtools.send('DOM.enable');
    await devtools.send('CSS.enable');
    const { root } = await devtools.send('DOM.getDocument');
    const families = new Set<string>();
    for (const weight of WEIGHTS) {
      const selector = `#weight-${weight}`;
      const { nodeId } = await devtools.send('DOM.querySelector', {
        nodeId: root.nodeId,
        selector,
      });
      const { fonts } = await devtools.send('CSS.getPlatformFontsForNode', { nodeId });
      for (const { familyName } of fonts) families.add(familyName);
    }
    await page.close();
    expect([...families]).toHaveLength(1);
  },
);

longTest('breaks no rule of axe in any theme and width', { timeout: LONG_LIMIT_MS }, async () => {
  const wrong: string[] = [];
  for (const colorScheme of ['light', 'dark'] as const)
    for (const width of WIDTHS) {
      const options = { colorScheme, viewport: { width, height: HEIGHT } };
      const check = async (frame: Page | Frame, name: string): Promise<void> => {
        const found = await violationsOf(frame);
        wrong.push(...found.map((one) => `${name} ${colorScheme} ${width}: ${one}`));
      };
      await eachView(options, async (frame, name, page) => {
        await check(frame, name);
        if (width > 768) await eachDialog(page, name, check);
      });
    }
  expect(wrong).toEqual([]);
});

/** Fonts in which a page can be written here, and every way to write wider. */
async function writingsFor(frame: Page | Frame): Promise<readonly Writing[]> {
  const inFonts: Writing[] = [];
  for (const name of FONTS)
    if (await hasFont(frame, name))
      inFonts.push({ name, css: `:root { --font: "${name}" !important; }` });
  return [...inFonts, ...WRITINGS];
}

/** Opens everything that folds. */
const unfold = (frame: Page | Frame): Promise<void> =>
  frame.evaluate(() => {
    for (const folded of document.querySelectorAll('details')) folded.open = true;
  });

longTest('fits into any width, in any font and language', { timeout: LONG_LIMIT_MS }, async () => {
  const wrong: string[] = [];
  for (const locale of ['en-US', 'de-DE'])
    await eachView({ locale }, async (frame, name, page) => {
      await unfold(frame);
      const writings = await writingsFor(frame);
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: HEIGHT });
        for (const writing of writings) {
          await writeAs(frame, writing);
          const found = await misfits(frame, (one) => isKnown(one, writing));
          wrong.push(
            ...found.map((one) => `${name}, ${locale}, ${width} px, ${writing.name}: ${one}`),
          );
        }
      }
    });
  expect(wrong).toEqual([]);
});

longTest('is walked through by Tab in any view', { timeout: LONG_LIMIT_MS }, async () => {
  const wrong: string[] = [];
  for (const width of [390, 1440])
    await eachView({ viewport: { width, height: HEIGHT } }, async (_frame, name, page) => {
      wrong.push(...(await walkByTab(page)).map((one) => `${name} ${width}: ${one}`));
    });
  expect(wrong).toEqual([]);
});
