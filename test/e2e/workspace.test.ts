/** The workspace of a run: sections, panels, settings, formulas, notes, and saved views. */
import type { Browser, Locator, Page } from 'playwright';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  EventLogger,
  MetricsLogger,
  openRun,
  openStorage,
  TrainingSession,
  type Store,
} from 'quark-sdk';
import { PhaseAnalyzer } from 'quark-sdk/analysis';
import { deleteView, listViews, saveView } from 'quark-sdk/workspace';
import { serveService, type ServedService } from '../../src/service/node/serve-service.ts';
import {
  checkBuilt,
  collectErrors,
  DEMO_DIR,
  launchBrowser,
  panel,
  PATIENCE_MS,
} from './demo-browser.ts';

const LIMIT_MS = 240_000;
const PROJECT = 'workspace';

async function record(store: Store, metricCount: number): Promise<string> {
  const session = await TrainingSession.startRun({
    project: PROJECT,
    storage: store,
    handleSignals: false,
  });
  const metrics = new MetricsLogger(session);
  for (let step = 0; step < 60; step += 1) {
    metrics.log('train/loss', 2 * Math.exp(-step / 20), { step });
    if (step % 5 === 4) metrics.log('val/loss', 2.2 * Math.exp(-step / 24), { step });
    metrics.log('optimizer/lr', 0.001, { step });
    metrics.log('optimizer/grad_norm', 1 + step, { step });
    metrics.log('system/ram/used_bytes', 1e9, { step });
  }
  for (let at = 0; at < metricCount; at += 1)
    for (const step of [0, 1, 2]) metrics.log(`layer${at % 20}/m${at}`, at + step, { step });
  if (metricCount === 0) {
    await session.alert({
      title: 'Half of the images are black',
      text: 'The loader returns zeros.',
      step: 20,
    });
    new EventLogger(session).log('checkpoint', { payload: { file: 'a.ckpt' }, step: 40 });
  }
  await session.endRun('completed');
  if (metricCount === 0) await new PhaseAnalyzer(await openRun(store, session.runId)).analyze();
  return session.runId;
}

describe('the workspace', () => {
  let browser: Browser;
  let page: Page;
  let errors: string[];
  let store: Store;
  let folder: string;
  let server: ServedService;
  let small: string;
  let large: string;

  beforeAll(async () => {
    checkBuilt();
    browser = await launchBrowser();
    folder = mkdtempSync(join(tmpdir(), 'quark-workspace-'));
    server = await serveService({ storage: folder, dashboardDir: DEMO_DIR });
    const { key } = await server.access.createKey({ user: 'ada' });
    store = await openStorage(server.url, { userKey: key });
    small = await record(store, 0);
    large = await record(store, 500);
    page = await browser.newPage({ viewport: { width: 1280, height: 800 }, locale: 'en-US' });
    page.setDefaultTimeout(PATIENCE_MS);
    await page.goto(server.url);
    await page.getByLabel('User key').fill(key);
    await page.getByRole('button', { name: 'Open', exact: true }).click();
    await page.locator('main').getByText(PROJECT, { exact: true }).first().waitFor();
    errors = collectErrors(page);
  }, LIMIT_MS);
  afterAll(async () => {
    await browser?.close();
    await store?.close();
    await server?.close();
    rmSync(folder, { recursive: true, force: true });
  });
  afterEach(() => expect(errors.splice(0)).toEqual([]));

  const open = async (runId: string, more = ''): Promise<void> => {
    await page.goto(`${server.url}#/runs/${runId}${more}`);
    await page.locator('.workspace-section').first().waitFor();
  };
  const sections = (): Promise<readonly (string | null)[]> =>
    page
      .locator('.workspace-section')
      .evaluateAll((all) => all.map((one) => one.getAttribute('data-section')));
  const groupsOf = (section: string): Promise<readonly (string | null)[]> =>
    page
      .locator(`.workspace-section[data-section="${section}"] .panel`)
      .evaluateAll((all) => all.map((one) => one.getAttribute('data-group')));

  it(
    'has sections by prefix that fold, finds charts, and moves them by keys and by drag',
    async () => {
      await open(small);
      expect(await sections()).toEqual(['+', 'optimizer', 'system']);
      expect(await groupsOf('system')).toEqual([]);
      await page.locator('[data-section="system"] .section-fold').click();
      await expect.poll(() => groupsOf('system')).toHaveLength(1);
      await page.getByRole('searchbox', { name: 'Find charts' }).fill('/^optim.*lr$/');
      await expect.poll(sections).toEqual(['optimizer']);
      expect(await groupsOf('optimizer')).toEqual(['optimizer/lr']);
      await page.getByRole('searchbox', { name: 'Find charts' }).fill('');
      await expect.poll(() => groupsOf('optimizer')).toHaveLength(2);
      const [first = '', second = ''] = await groupsOf('optimizer');
      const handle = panel(page, String(first)).locator('.panel-handle');
      await handle.focus();
      await page.keyboard.press('ArrowRight');
      await expect.poll(() => groupsOf('optimizer')).toEqual([second, first]);
      await panel(page, String(first)).locator('.panel-handle').scrollIntoViewIfNeeded();
      await panel(page, String(first)).locator('.panel-handle').hover();
      await page.mouse.down();
      await panel(page, 'loss').locator('h3').hover();
      await page.mouse.up();
      await expect.poll(() => groupsOf('+')).toEqual([first, 'loss']);
      await page.reload();
      await expect.poll(() => groupsOf('+')).toEqual([first, 'loss']);
      await page.getByRole('button', { name: 'Reset' }).click();
      await expect.poll(() => groupsOf('+')).toEqual(['loss']);
    },
    LIMIT_MS,
  );

  it(
    'a chart has its own size and settings, is pinned and hidden, and says what it inherits',
    async () => {
      await open(small);
      await page.getByRole('button', { name: 'Settings of section optimizer' }).click();
      await page.getByLabel('Log scale').last().selectOption('true');
      await page.getByRole('button', { name: 'Close' }).click();
      await page.getByRole('button', { name: 'Settings of optimizer/lr' }).click();
      const dialog = page.getByRole('dialog');
      const log = dialog.getByLabel('Log scale');
      expect(await log.locator('option').first().textContent()).toBe('from the section: on');
      await dialog.getByLabel('Width in columns').selectOption('2');
      await dialog.getByLabel('Height in pixels').fill('300');
      await dialog.getByLabel('Height in pixels').press('Enter');
      await dialog.getByRole('button', { name: 'Pin to the top' }).click();
      await dialog.getByRole('button', { name: 'Close' }).click();
      await expect
        .poll(() => page.locator('.workspace-section').first().getAttribute('aria-label'))
        .toBe('Pinned');
      await expect
        .poll(() =>
          panel(page, 'optimizer/lr')
            .locator('.chart')
            .evaluate((chart) => chart.clientHeight),
        )
        .toBe(300);
      await page.getByRole('button', { name: 'Settings of optimizer/grad_norm' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Hide' }).click();
      await expect.poll(() => panel(page, 'optimizer:norm').count()).toBe(0);
      await page.getByRole('button', { name: '1 hidden' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Show' }).click();
      await page.getByRole('button', { name: 'Close' }).click();
      await expect.poll(() => panel(page, 'optimizer:norm').count()).toBe(1);
      await page.getByRole('button', { name: 'Settings of loss' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Full screen' }).click();
      await page.locator('.full-dialog canvas').first().waitFor();
      await page.keyboard.press('Escape');
      await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
      await page.getByRole('button', { name: 'Reset' }).click();
    },
    LIMIT_MS,
  );

  it(
    'draws formulas, marks a note at its step, and saves all of it as a view',
    async () => {
      await open(small);
      await page.getByRole('button', { name: 'Add a chart' }).click();
      await page.getByLabel('Formula').fill('val/loss - ');
      await page.getByText('It ends where').waitFor();
      await page.getByLabel('Formula').fill('val/loss - train/loss');
      await page.getByRole('dialog').getByRole('checkbox', { name: 'train/loss' }).check();
      await page.getByRole('button', { name: 'Add', exact: true }).click();
      const added = page.locator('[data-section="Own charts"] .panel');
      await expect
        .poll(() => added.locator('.chart').getAttribute('aria-label'))
        .toContain('= val/loss - train/loss: 12 points');
      await page.getByRole('button', { name: 'Marks and notes' }).click();
      await page.getByRole('textbox', { name: 'Step' }).fill('30');
      await page.getByRole('textbox', { name: 'Note' }).fill('Rate divided by ten');
      await page.getByRole('button', { name: 'Add a note' }).click();
      await page.locator('.note-list').getByText('Rate divided by ten').waitFor();
      await page.getByRole('button', { name: 'Close' }).click();
      await panel(page, 'loss').locator('.mark-note.chart-mark').waitFor();

      await page.getByRole('button', { name: 'Views…' }).click();
      await page.getByRole('textbox', { name: 'Name of the view' }).fill('Gap');
      await page.getByRole('button', { name: 'Save as new' }).click();
      await page.getByRole('button', { name: 'Make it the default' }).click();
      await page.getByRole('button', { name: 'No default any more' }).waitFor();
      await page.getByRole('button', { name: 'Close' }).click();
      await expect.poll(() => page.url()).toContain('layout=Gap');
      expect(await listViews(store, PROJECT)).toMatchObject([{ name: 'Gap', isDefault: true }]);
      // Another run of the project opens with it.
      await open(large);
      await page.locator('[data-section="Own charts"] .panel').first().waitFor();
      await expect.poll(() => page.url()).toContain('layout=Gap');
      // One of its own, which the project cannot open with.
      await page.getByRole('button', { name: 'Views…' }).click();
      await page.getByRole('textbox', { name: 'Name of the view' }).fill('Mine');
      await page.getByRole('checkbox', { name: 'Only for me' }).check();
      await page.getByRole('button', { name: 'Save as new' }).click();
      await expect.poll(() => page.url()).toContain('layout=Mine');
      expect(await page.getByRole('button', { name: 'Make it the default' }).isDisabled()).toBe(
        true,
      );
      await page.getByRole('button', { name: 'Close' }).click();
      expect(await page.getByLabel('Saved view').locator('option:checked').innerText()).toBe(
        'Mine (only for you)',
      );
      expect(await listViews(store, PROJECT)).toMatchObject([
        { name: 'Gap', visibility: 'project' },
        { name: 'Mine', visibility: 'private' },
      ]);
      await deleteView(store, PROJECT, 'Mine');
    },
    LIMIT_MS,
  );

  it(
    'marks phases, alerts and events at each level, and an alert leads to what it rests on',
    async () => {
      await open(small, '?layout=nobody');
      const loss = panel(page, 'loss');
      const mark = (kind: string): Locator => loss.locator(`.mark-${kind}.chart-mark`);
      await mark('alert').waitFor();
      expect(await mark('alert').getAttribute('aria-label')).toMatch(
        /^step 20: Alert: Half of the images are black/,
      );
      expect(await mark('event').count()).toBe(0);
      // Where the keyboard points, the phase is said.
      await loss.locator('.chart').focus();
      await page.keyboard.press('ArrowRight');
      const said = loss.locator('.chart-frame > [role="status"]');
      await expect.poll(() => said.innerText()).toContain('Initialization and adaptation');
      await page.getByRole('button', { name: 'Settings of loss' }).click();
      const dialog = page.getByRole('dialog');
      const marked = dialog.getByRole('group', { name: 'Marked in the charts' });
      await marked.getByText('default: Alerts, Phases, Notes').waitFor();
      await marked.getByLabel('Events').check();
      await marked.getByLabel('Phases').uncheck();
      await dialog.getByRole('button', { name: 'Close' }).click();
      await mark('event').waitFor();
      expect(await panel(page, 'optimizer/lr').locator('.mark-event').count()).toBe(0);
      await loss.locator('.chart').focus();
      await page.keyboard.press('ArrowRight');
      await expect.poll(() => said.innerText()).toMatch(/^step \d+ /);
      expect(await said.innerText()).not.toContain('Initialization');
      await page.getByRole('button', { name: 'Reset' }).click();
      await expect.poll(() => mark('event').count()).toBe(0);
      await mark('alert').click();
      const meant = page.locator('.alert[data-meant="true"]');
      await meant.getByRole('heading', { name: 'Half of the images are black' }).waitFor();
      await page.goBack();
      await mark('alert').waitFor();
    },
    LIMIT_MS,
  );

  it(
    'shows the view that a program saved, by the address',
    async () => {
      await saveView(store, {
        project: PROJECT,
        name: 'By a program',
        columns: 2,
        addsMetrics: false,
        smoothingAmount: 0.5,
        sections: [{ title: 'Rates', panels: [{ metrics: ['optimizer/lr', 'gone'], logY: true }] }],
      });
      await open(small, '?layout=By+a+program');
      await expect.poll(sections).toEqual(['Rates']);
      await page.locator('[data-section="Rates"] canvas').waitFor();
      expect(await page.locator('.slider output').textContent()).toBe('0.50');
    },
    LIMIT_MS,
  );

  it(
    'of 500 metrics draws only what is near the screen',
    async () => {
      await open(large, '?layout=nobody');
      await expect
        .poll(() => page.locator('.workspace-section .panel').count())
        .toBeGreaterThan(480);
      await page.locator('.panel canvas').first().waitFor();
      expect(await page.locator('.panel canvas').count()).toBeLessThan(40);
      await page.locator('[data-section="layer9"]').scrollIntoViewIfNeeded();
      await page.locator('[data-section="layer9"] canvas').first().waitFor();
      await expect.poll(() => page.locator('.panel canvas').count()).toBeLessThan(60);
    },
    LIMIT_MS,
  );
});
