/** The built page of a service: judges by the rules it was served with, silences an alert with a reason, and takes that back. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { AnalyzerEngine, checkQuarkConfig } from '../../src/analysis.ts';
import { MetricsLogger, openRun, openStorage, TrainingSession } from '../../src/index.ts';
import { serveService, type ServedService } from '../../src/service/node/serve-service.ts';
import { checkBuilt, DEMO_DIR, launchBrowser, PATIENCE_MS } from './demo-browser.ts';

let folder = '';
let service: ServedService;
let browser: Browser;
let userKey = '';
let runId = '';
let unknownId = '';

beforeAll(async () => {
  checkBuilt();
  folder = mkdtempSync(join(tmpdir(), 'quark-silence-page-'));
  const pageConfig = checkQuarkConfig({
    rules: [{ metric: 'data/queue', below: 2, severity: 'error', title: 'The queue ran dry' }],
  });
  service = await serveService({ storage: folder, dashboardDir: DEMO_DIR, pageConfig });
  userKey = (await service.access.createKey({ user: 'ada' })).key;
  const storage = await openStorage(service.url, { userKey });
  await TrainingSession.run({ project: 'own', storage, handleSignals: false }, (session) => {
    ({ runId } = session);
    const metrics = new MetricsLogger(session);
    for (let step = 0; step < 50; step++) {
      metrics.log('train/loss', 1 / (step + 1), { step });
      metrics.log('data/queue', step === 20 ? 0 : 8, { step });
    }
  });
  await TrainingSession.run({ project: 'unknown', storage, handleSignals: false }, (session) => {
    unknownId = session.runId;
    const metrics = new MetricsLogger(session);
    for (let step = 0; step < 50; step++) metrics.log('progress/alpha', step, { step });
  });
  browser = await launchBrowser();
}, PATIENCE_MS);

afterAll(async () => {
  await browser?.close();
  await service?.close();
  rmSync(folder, { recursive: true, force: true });
});

async function openAnalysis(project: string): Promise<Page> {
  const page = await browser.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  await page.goto(service.url);
  await page.getByLabel('User key').fill(userKey);
  await page.getByRole('button', { name: 'Open', exact: true }).click();
  await page.locator('main').getByText(project, { exact: true }).first().click();
  await page.getByRole('link', { name: 'Analysis' }).click();
  return page;
}

const silences = async () => {
  const store = await openStorage(service.url, { userKey });
  const said = await new AnalyzerEngine(await openRun(store, runId)).readSilences();
  await store.close();
  return said;
};

it(
  'silences an alert of a rule without code, folds it, and brings it back',
  async () => {
    const page = await openAnalysis('own');
    const alert = page.locator('[data-rule="data/queue.below"]');
    await alert.getByText('The queue ran dry').waitFor();
    await alert.getByRole('button', { name: 'Silence…' }).click();
    await alert.getByLabel('Reason').fill('The disk was busy.');
    await alert.getByLabel('Until').fill('2999-12-31');
    await alert.getByRole('button', { name: 'Silence', exact: true }).click();
    await page.getByText('Silenced (1)').click();
    await alert.getByText('Silenced by ada until 2999-12-31: The disk was busy.').waitFor();
    expect(await alert.locator('h3 s').textContent()).toBe('The queue ran dry');
    expect(await silences()).toMatchObject([
      {
        ruleId: 'data/queue.below',
        metricKey: 'data/queue',
        by: 'ada',
        until: expect.stringMatching(/^(2999|3000)-/),
      },
    ]);
    await alert.getByRole('button', { name: 'Undo silence' }).click();
    await alert.getByRole('button', { name: 'Silence…' }).waitFor();
    expect(await page.getByText('Silenced (1)').count()).toBe(0);
    expect(await silences()).toEqual([]);
  },
  2 * PATIENCE_MS,
);

it(
  'says by which metrics a run was judged, and calls nothing healthy that was not assessed',
  async () => {
    const page = await openAnalysis('own');
    await page.getByText('Judged by train/loss as training loss (named).').waitFor();
    await page.close();
    const other = await openAnalysis('unknown');
    const verdict = other.locator('.verdict');
    await verdict.waitFor();
    expect(other.url()).toContain(unknownId);
    expect(await verdict.textContent()).toMatch(
      /^Not assessed: no training loss was found in the one metric/u,
    );
    expect(await verdict.getAttribute('class')).toContain('tone-done');
    expect(await other.locator('.health-score.is-not_assessed').count()).toBe(5);
    expect(await other.locator('.analysis .tone-live').count()).toBe(0);
    await other.close();
  },
  2 * PATIENCE_MS,
);

it(
  'lets somebody say which metric is the loss, and remembers it with the run',
  async () => {
    const page = await openAnalysis('unknown');
    await page.getByText('No metric plays a role.').waitFor();
    await page.getByRole('button', { name: 'Change…' }).click();
    const form = page.getByRole('form', { name: 'Roles of metrics' });
    await form.getByLabel('training loss').selectOption('progress/alpha');
    await form.getByRole('button', { name: 'Judge by these' }).click();
    await page.getByText('Judged by progress/alpha as training loss (asked).').waitFor();
    // The loss that was named goes up all the time.
    await page.locator('.alerts [data-rule="loss_not_decreasing"]').first().waitFor();
    const store = await openStorage(service.url, { userKey });
    const reader = await openRun(store, unknownId);
    expect(reader.run.environment['roles']).toEqual({ train_loss: 'progress/alpha' });
    const { roles } = await new AnalyzerEngine(reader).analyze({ persist: false });
    expect(roles.trainLoss?.sureness).toBe('asked');
    await store.close();
    await page.getByRole('button', { name: 'Change…' }).click();
    await form.getByLabel('training loss').selectOption({ label: 'by name' });
    await form.getByRole('button', { name: 'Judge by these' }).click();
    await page.getByText('No metric plays a role.').waitFor();
    await page.close();
  },
  2 * PATIENCE_MS,
);
