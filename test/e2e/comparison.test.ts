/** The comparison page: a path through each of its tabs, over twelve runs of three configurations. */
import { readFile } from 'node:fs/promises';
import type { Browser, Page } from 'playwright';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  createMemoryStore,
  MetricsLogger,
  TrainingSession,
  type JsonObject,
  type Store,
} from 'quark-sdk';
import { ArtifactStore } from 'quark-sdk/probes';
import { serveStore, type ServedStore } from 'quark-sdk/node';
import {
  checkBuilt,
  collectErrors,
  DEMO_DIR,
  launchBrowser,
  panel,
  PATIENCE_MS,
} from './demo-browser.ts';

const LIMIT_MS = 240_000;
const STEPS = 60;

/** What `logCode()` records, of two states of a repository. */
function codeOf(at: number): JsonObject {
  return {
    format_version: 1,
    platform: 'node',
    commit: 'abc',
    branch: 'main',
    diff: `diff --git a/train.js b/train.js\n@@\n+const rate = ${at};\n`,
    is_diff_cut: false,
    untracked: [],
    lock_file: null,
    packages: { '@tensorflow/tfjs': `4.2${at}.0`, idb: '8.0.4' },
    scripts: [{ path: 'train.js', sha256: String(at).repeat(64), is_entry: true }],
  };
}

/** A run that learns as fast as its learning rate says; the fifth runs out of memory at the end. */
async function record(store: Store, at: number): Promise<string> {
  const lr = [0.001, 0.01, 0.1][at % 3] ?? 0;
  const seed = Math.floor(at / 3);
  let runId = '';
  const training = TrainingSession.run(
    {
      project: 'sweep',
      storage: store,
      name: `lr${lr}-s${seed}`,
      config: { lr, seed, net: { act: 'relu' } },
      handleSignals: false,
    },
    async (session) => {
      runId = session.runId;
      const metrics = new MetricsLogger(session);
      for (let step = 0; step < STEPS; step += 1) {
        const loss = 2 * Math.exp(-step * lr) + 0.2 + seed / 100;
        metrics.log('train/loss', loss, { step });
        metrics.log('val/loss', loss + 0.1, { step });
        metrics.log('val/latency', 10 / lr + seed, { step });
      }
      if (at < 2) await new ArtifactStore(session).store('code', 'code', codeOf(at));
      if (at === 3)
        await session.alert({
          title: 'Half of the images are black',
          text: 'The loader returns zeros.',
          step: 20,
        });
      if (at === 4) throw new Error('CUDA out of memory: <b>2 GiB</b>');
    },
  );
  await training.catch(() => undefined);
  return runId;
}

describe('a comparison', () => {
  let browser: Browser;
  let page: Page;
  let errors: string[];
  let store: Store;
  let server: ServedStore;
  let runIds: string[];

  beforeAll(async () => {
    checkBuilt();
    browser = await launchBrowser();
    store = createMemoryStore();
    runIds = [];
    for (let at = 0; at < 12; at += 1) runIds.push(await record(store, at));
    server = await serveStore({ store, dashboardDir: DEMO_DIR });
  }, LIMIT_MS);
  afterAll(async () => {
    await browser?.close();
    await server?.close();
    await store?.close();
  });
  beforeEach(async () => {
    page = await browser.newPage({ viewport: { width: 1280, height: 800 }, locale: 'en-US' });
    page.setDefaultTimeout(PATIENCE_MS);
    errors = collectErrors(page);
  });
  afterEach(async () => {
    expect(errors).toEqual([]);
    await page.close();
  });

  const open = (params: string): Promise<unknown> =>
    page.goto(`${server.url}#/compare?runs=${runIds.join()}${params}`);
  const chartLabel = async (metric: string): Promise<string> =>
    (await panel(page, metric).locator('.chart').getAttribute('aria-label')) ?? '';

  it('has a chart of each metric, of runs and of groups', { timeout: LIMIT_MS }, async () => {
    await open('');
    await panel(page, 'val/loss').waitFor();
    await expect
      .poll(async () => (await chartLabel('val/loss')).match(/60 points/g)?.length, {
        timeout: PATIENCE_MS,
      })
      .toBe(12);
    expect(await page.locator('.run-legend .run-end').innerText()).toContain(
      'CUDA out of memory: <b>2 GiB</b>',
    );
    // An alert is marked with its run, and hidden with it.
    const mark = panel(page, 'val/loss').locator('a.mark-alert.chart-mark');
    await expect
      .poll(() => mark.getAttribute('aria-label'))
      .toMatch(/^step 20: Alert: lr0\.001-s1: Half of the images are black/);
    await page
      .locator('.run-legend')
      .getByRole('button', { name: 'lr0.001-s1', exact: true })
      .click();
    await expect.poll(() => mark.count()).toBe(0);
    // The same sections, settings and axes as on the page of a run.
    await page.getByRole('button', { name: 'Settings of val/latency' }).click();
    await page.getByRole('dialog').getByLabel('Horizontal axis').selectOption('metric:val/loss');
    await page.getByRole('dialog').getByRole('button', { name: 'Pin to the top' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();
    await page.reload();
    const pinned = page.getByRole('region', { name: 'Pinned' }).locator('.panel');
    await expect.poll(() => pinned.getAttribute('data-group')).toBe('val/latency');
    await expect
      .poll(
        async () =>
          (await pinned.locator('.chart').getAttribute('aria-label'))?.match(/60 points/g)?.length,
      )
      .toBe(12);
    expect(await pinned.locator('.chart').getAttribute('data-drawn')).not.toBe('0');
    await page.getByLabel('Group by').selectOption('config.lr');
    await expect
      .poll(() => page.locator('.run-legend .legend-name').allInnerTexts())
      .toEqual(['lr=0.001', 'lr=0.01', 'lr=0.1']);
    await page.getByText('bands are 95 % confidence intervals').waitFor();
    await panel(page, 'train/loss').scrollIntoViewIfNeeded();
    await expect
      .poll(async () => (await chartLabel('train/loss')).match(/lr=[\d.]+: 60 points/g)?.length)
      .toBe(3);
    await page.getByRole('radio', { name: 'Min to max' }).click();
    await page.getByText('bands go from the lowest run to the highest').waitFor();
    await expect.poll(() => page.url()).toMatch(/band=range&by=config\.lr/);
  });

  it('has values, differences and what chance may do', { timeout: LIMIT_MS }, async () => {
    await open('&tab=values&by=config.lr');
    const row = page.getByRole('row').filter({ hasText: 'train/loss' });
    await row.getByText('best').waitFor();
    const cells = await row.getByRole('cell').allInnerTexts();
    expect(cells).toHaveLength(3);
    expect(cells[2]).toMatch(/best.*0\.22/s);
    expect(cells[2]).toMatch(/−1\.\d+ \(−8\d(\.\d)? %\)/);
    expect(cells[2]).toContain('significant, p < 0.0001');
    await page.getByText('1 did not complete').waitFor();
    await page.getByLabel('Baseline').selectOption({ label: 'lr=0.1' });
    await expect.poll(() => row.getByRole('cell').first().innerText()).toMatch(/\+1\./);
    await page.getByRole('radio', { name: 'At a step' }).click();
    await page.getByRole('spinbutton', { name: 'Step' }).fill('0');
    await expect.poll(() => row.getByRole('cell').first().innerText()).toMatch(/^2\.2/);
  });

  it(
    'follows runs that go on: charts, values, and how they end',
    { timeout: LIMIT_MS },
    async () => {
      const live = await Promise.all(
        [0, 1].map((at) =>
          TrainingSession.startRun({
            project: 'live',
            storage: store,
            name: `live-${at}`,
            handleSignals: false,
          }),
        ),
      );
      const log = async (from: number, to: number, loss: number): Promise<void> => {
        for (const session of live) {
          const metrics = new MetricsLogger(session);
          for (let step = from; step < to; step += 1) metrics.log('train/loss', loss, { step });
          await metrics.flush();
          await session.flush();
        }
      };
      const counts = async (): Promise<readonly string[] | null> =>
        (await chartLabel('train/loss')).match(/live-\d: \d+ points/g);
      await log(0, 10, 2);
      await page.goto(`${server.url}#/compare?runs=${live.map(({ runId }) => runId).join()}`);
      await panel(page, 'train/loss').waitFor();
      await expect.poll(counts).toEqual(['live-0: 10 points', 'live-1: 10 points']);
      expect(await page.locator('.run-legend').getByText('Live', { exact: true }).count()).toBe(2);
      await log(10, 25, 1);
      await expect.poll(counts).toEqual(['live-0: 25 points', 'live-1: 25 points']);
      await page.getByRole('tab', { name: 'Values' }).click();
      const row = page.getByRole('row').filter({ hasText: 'train/loss' });
      await row.waitFor();
      await log(25, 26, 0.125);
      await expect.poll(() => row.innerText()).toMatch(/0\.125.*0\.125/s);
      const status = page.locator('.compare-panel').getByText('Live', { exact: true });
      expect(await status.count()).toBe(2);
      for (const session of live) await session.endRun('completed');
      await expect.poll(() => status.count()).toBe(0);
    },
  );

  it('has the settings that differ, and all on request', { timeout: LIMIT_MS }, async () => {
    await open('&tab=settings');
    const table = page.getByRole('region', { name: 'Configuration' }).getByRole('table');
    const names = (): Promise<string[]> => table.getByRole('rowheader').allInnerTexts();
    await expect.poll(names).toEqual(['lr', 'seed']);
    await page.getByLabel('Show what does not differ, too').check();
    await expect.poll(names).toEqual(['lr', 'net.act', 'seed']);
    // The code of the first two runs, then of one that recorded none.
    const code = page.getByRole('region', { name: 'Code and packages', exact: true });
    await code.getByRole('rowheader', { name: '@tensorflow/tfjs' }).waitFor();
    const packages = await code.innerText();
    expect(packages).toMatch(/4\.20\.0\s+4\.21\.0/);
    expect(packages).toContain('train.js');
    expect(packages).not.toContain('idb');
    await code.getByLabel('Compared with').selectOption({ label: 'lr0.1-s0' });
    await page.getByText('not both runs have recorded their code').waitFor();
  });

  it(
    'has phases and alerts side by side, and how a run ended beside its scores',
    { timeout: LIMIT_MS },
    async () => {
      await open('&tab=phases');
      const failed = page
        .getByRole('region', { name: 'Table of scores' })
        .getByRole('row')
        .filter({ hasText: 'lr0.01-s1' });
      await expect
        .poll(() => failed.innerText(), { timeout: PATIENCE_MS })
        .toMatch(/Failed\s+CUDA out of memory/);
      await expect
        .poll(() => page.locator('.lane-ground').count(), { timeout: PATIENCE_MS })
        .toBe(12);
      await page
        .getByRole('region', { name: 'Table of alerts' })
        .getByText('The run ran out of memory')
        .waitFor();
    },
  );

  it('has parallel axes that are marked by keys', { timeout: LIMIT_MS }, async () => {
    await open('&tab=parallel');
    await expect.poll(() => page.locator('.parallel-line').count()).toBe(12);
    const axis = page.getByRole('slider', { name: 'Part of lr' });
    await axis.focus();
    await page.keyboard.press('ArrowUp');
    await page.getByText('8 runs go through the marked parts').waitFor();
    await page.keyboard.press('ArrowUp');
    await page.getByText('4 runs go through the marked parts').waitFor();
    // A link and a reload give what was seen.
    await expect.poll(() => page.url()).toContain('brush=config.lr:0.55:1');
    await page.reload();
    await page.getByText('4 runs go through the marked parts').waitFor();
    await page.getByRole('link', { name: 'Compare these' }).click();
    await expect.poll(() => page.locator('.page-sub').innerText()).toBe('4 runs');
  });

  it(
    'has a scatter with the Pareto front, by keys and as files',
    { timeout: LIMIT_MS },
    async () => {
      await open('&tab=scatter&x=metrics.val/latency.last&y=metrics.val/loss.last&front=1');
      await page.getByText('Pareto front: 1 run is not beaten in both').waitFor();
      await page.getByRole('application').focus();
      await page.keyboard.press('ArrowRight');
      await expect.poll(() => page.locator('.scatter-said').innerText()).toMatch(/^lr0\.1-s0/);
      await page.getByRole('button', { name: /^Save val\/loss/ }).click();
      const download = page.waitForEvent('download');
      await page.getByRole('menuitem', { name: /^SVG/ }).click();
      const svg = await readFile(await (await download).path(), 'utf8');
      expect(svg).toMatch(/^<svg [^>]*><title>val\/loss/);
      expect(svg.match(/<circle/g)).toHaveLength(12);
      expect(svg).not.toContain('var(--');
    },
  );

  it(
    'has the importance of settings, and none of too few runs',
    { timeout: LIMIT_MS },
    async () => {
      await open('&tab=importance');
      const table = page.getByRole('region', { name: 'Table of importance' });
      await expect
        .poll(() => table.getByRole('row').nth(1).innerText(), { timeout: PATIENCE_MS })
        .toMatch(/^lr\s.*yes$/s);
      await page.getByText('Kruskal and Wallis').waitFor();
      await page.goto(`${server.url}#/compare?runs=${runIds.slice(0, 5).join()}&tab=importance`);
      await expect
        .poll(() => page.getByTestId('no-importance').innerText())
        .toContain('below 8 nothing can be told from chance');
    },
  );
});
