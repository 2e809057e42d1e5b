/** Every view under the rules of axe: names, roles, headings, contrast and more. */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { Browser, Page } from 'playwright';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  createMemoryStore,
  EventLogger,
  MetricsLogger,
  TrainingSession,
  type Store,
} from 'quark-sdk';
import { serveStore, type ServedStore } from 'quark-sdk/node';
import { recordToldRuns } from '../support/told-run.ts';
import { recordMediaRun } from '../support/media-run.ts';
import { layerRow, writeProbeRows } from '../support/probe-rows.ts';
import { checkBuilt, DEMO_DIR, launchBrowser, PATIENCE_MS } from './demo-browser.ts';
import { longTest } from '../support/long.ts';

const LIMIT_MS = 480_000;

let browser: Browser;
let store: Store;
let server: ServedStore;
let axe: string;
let runIds: string[];
let mediaRunId: string;
let toldRunId: string;

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

beforeAll(async () => {
  checkBuilt();
  axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  store = createMemoryStore();
  mediaRunId = await recordMediaRun(store, { name: 'media' });
  toldRunId = (await recordToldRuns(store, 200)).runId;
  runIds = [await record(0), await record(1), await record(2)];
  server = await serveStore({ store, dashboardDir: DEMO_DIR });
  browser = await launchBrowser();
}, LIMIT_MS);
afterAll(async () => {
  await browser?.close();
  await server?.close();
  await store?.close();
});

/** Kinds of media, and what appears once they are drawn. */
const MEDIA_VIEWS = [
  ['images', '.picture img'],
  ['tables', '.data-rows td'],
  ['texts', '.text-body pre'],
  ['audio', 'audio'],
  ['confusion', '.confusion-cells'],
  ['curves', '.unit-curve'],
  ['distributions', '.histogram-heat canvas'],
  ['embeddings', '.cloud canvas'],
  ['models', '.model-node'],
] as const;

/** Each view: its address, and the selector of an element that appears once the view is complete. */
const views = (): readonly (readonly [hash: string, sign: string])[] => [
  ['#/', '.run-row .spark path'],
  ['#/?list=deleted', 'h1'],
  [`#/runs/${runIds[0]}`, '.panel canvas'],
  [`#/runs/${runIds[0]}?view=analysis`, '.health'],
  [`#/runs/${runIds[0]}?view=layers&layer=conv`, '.layer-detail canvas'],
  [`#/runs/${runIds[0]}?view=machine`, '.how-to'],
  [`#/runs/${runIds[0]}?view=batches`, '.how-to'],
  ...MEDIA_VIEWS.map(
    ([kind, sign]) => [`#/runs/${mediaRunId}?view=media&media=${kind}`, sign] as const,
  ),
  [`#/runs/${mediaRunId}?view=artifacts`, '.artifact-row'],
  [`#/compare?runs=${runIds.join()}`, '.panel canvas'],
  [`#/compare?runs=${runIds.join()}&tab=values`, '.value-cell'],
  [`#/compare?runs=${runIds.join()}&tab=settings`, '.compare-settings .section-head'],
  [`#/compare?runs=${runIds.join()}&tab=phases`, '.score-status'],
  [`#/compare?runs=${runIds.join()}&tab=parallel`, '.parallel-grip'],
  [`#/compare?runs=${runIds.join()}&tab=scatter`, '.scatter'],
  [`#/compare?runs=${runIds.join()}&tab=importance`, '.compare-importance'],
  [`#/runs/${toldRunId}?view=console`, '.console-line'],
  [`#/runs/${toldRunId}?view=machine`, '.waterfall-bar'],
  [`#/runs/${toldRunId}?view=code`, '.code-facts'],
  ['#/nowhere', '.notice'],
  ['#/runs/run_none', '.notice'],
  ['#/train', 'form'],
];

async function violationsOf(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe);
  return page.evaluate(async () => {
    type Found = { violations: { id: string; nodes: { target: string[] }[] }[] };
    const run: () => Promise<Found> = Reflect.get(Reflect.get(globalThis, 'axe'), 'run');
    const { violations } = await run();
    return violations.flatMap(({ id, nodes }) =>
      nodes.map(({ target }) => `${id}: ${target.join(' ')}`),
    );
  });
}

/** Dialogs over the list and over a run: the button or the key that opens each, and what it is called. */
const DIALOGS: readonly (readonly [of: 'list' | 'run', opener: string, dialog: RegExp])[] = [
  ['list', 'Columns', /^Columns$/],
  ['list', 'Export', /Export/],
  ['list', 'key Control+k', /./],
  ['list', 'key ?', /^Keys$/],
  ['run', 'Settings of loss', /./],
  ['run', 'Marks and notes', /./],
  ['run', 'Report', /^Report/],
];

async function checkDialogs(page: Page, what: string): Promise<void> {
  for (const [of, opener, name] of DIALOGS) {
    await page.goto('about:blank');
    await page.goto(`${server.url}${of === 'list' ? '#/' : `#/runs/${toldRunId}`}`);
    await page
      .locator(of === 'list' ? '.run-row .spark path' : '.panel canvas')
      .first()
      .waitFor();
    if (opener.startsWith('key ')) await page.keyboard.press(opener.slice(4));
    else await page.getByRole('button', { name: opener, exact: true }).first().click();
    await page.getByRole('dialog', { name }).waitFor();
    expect(await violationsOf(page), `${opener} ${what}`).toEqual([]);
  }
}

async function check(colorScheme: 'light' | 'dark', width: number): Promise<void> {
  // The policy of the page lets no script of a test in.
  const context = await browser.newContext({
    bypassCSP: true,
    colorScheme,
    viewport: { width, height: 900 },
    reducedMotion: 'reduce',
    locale: 'en-US',
  });
  try {
    for (const [hash, sign] of views()) {
      const page = await context.newPage();
      page.setDefaultTimeout(PATIENCE_MS);
      await page.goto(`${server.url}${hash}`);
      await page.locator(sign).first().waitFor();
      expect(await violationsOf(page), `${hash} ${colorScheme} ${width}`).toEqual([]);
      await page.close();
    }
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    if (width > 768) await checkDialogs(page, `${colorScheme} ${width}`);
    await page.close();
  } finally {
    await context.close();
  }
}

it('finds nothing in any view', { timeout: LIMIT_MS }, () => check('light', 1280));

longTest('finds nothing in the dark, nor on a phone', { timeout: LIMIT_MS }, async () => {
  for (const width of [390, 768, 1024, 1440, 2560]) await check('light', width);
  for (const width of [390, 768, 1024, 1440, 2560]) await check('dark', width);
});
