/** `quark retention`: rules from a file, shown before they act. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readMetricColumns } from '../../src/read/metric-columns.ts';
import { openFileStorage } from '../../src/store/sql/node/file-storage.ts';
import type { Store } from '../../src/store/store.ts';
import { addRun } from '../support/retained-runs.ts';
import { quark, type Ran } from './fake-io.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const folder = mkdtempSync(join(tmpdir(), 'quark-retention-'));
let store: Store;

beforeAll(async () => {
  store = await openFileStorage(folder);
  const nowMs = Date.now();
  const days = (count: number): number => nowMs - count * DAY_MS;
  await addRun(store, { id: 'run_failed', status: 'failed', endedAtMs: days(100), values: [1] });
  await addRun(store, { id: 'run_kept', status: 'failed', endedAtMs: days(100), tags: ['keep'] });
  await addRun(store, { id: 'run_new', status: 'failed', endedAtMs: days(10) });
  await addRun(store, { id: 'run_best', endedAtMs: days(5), values: [3, 0.5, 2] });
  await addRun(store, { id: 'run_worse', endedAtMs: days(5), values: [0.75] });
  await addRun(store, { id: 'run_unjudged', endedAtMs: days(5) });
  writeFileSync(
    join(folder, 'rules.yaml'),
    `rules:
  - act: delete
    statuses: [failed]
    olderThanDays: 90
  - act: archive
    statuses: [completed]
    keepBest:
      count: 1
      metric: val/loss
`,
  );
});
afterAll(async () => {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

const retention = (...args: string[]): Promise<Ran> =>
  quark(['retention', ...args], { cwd: folder });

it('shows what the rules of a file would do, and changes nothing', async () => {
  const { code, stdout } = await retention('plan', 'rules.yaml');
  expect(code).toBe(0);
  expect(stdout).toContain('1. delete failed runs older than 90 days: 1 run\n');
  expect(stdout).toMatch(/delete +run_failed +p +failed/);
  expect(stdout).toContain(
    '2. of completed runs, keep the best 1 by val/loss (lowest) and archive the others: 1 run\n',
  );
  expect(stdout).toMatch(/archive +run_worse +p +completed .* 0\.75 /);
  expect(stdout).toMatch(
    /Would delete 1 run \([\d.]+ \w+\), archive 1\. Never touched: 0 running, 1 tagged, 0 unreadable\.\n$/,
  );
  expect(await store.listRuns()).toHaveLength(6);
});

it('stores rules, shows them, applies them once, and forgets them', async () => {
  expect(await retention('plan')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('No rules are stored'),
  });
  expect(await retention('set', 'rules.yaml')).toMatchObject({ code: 0 });
  expect((await retention('show')).stdout).toBe(
    '1. delete failed runs older than 90 days\n2. of completed runs, keep the best 1 by val/loss (lowest) and archive the others\nNever touched: runs that are running, and runs tagged keep.\n',
  );
  const done = JSON.parse((await retention('apply', '--json')).stdout);
  expect(done).toMatchObject({
    is_done: true,
    steps: [
      { act: 'delete', run_id: 'run_failed' },
      { act: 'archive', run_id: 'run_worse', value: 0.75 },
    ],
    skipped: [],
    exempt: { tagged: 1 },
  });
  expect((await store.listRuns({ archived: false })).map(({ id }) => id).toSorted()).toEqual([
    'run_best',
    'run_kept',
    'run_new',
    'run_unjudged',
  ]);
  expect(await store.listDeletedRuns()).toMatchObject([
    { id: 'run_failed', by: 'quark retention' },
  ]);
  expect(JSON.parse((await retention('apply', '--json')).stdout)).toMatchObject({ steps: [] });
  expect(await retention('clear')).toMatchObject({
    code: 0,
    stdout: 'The rules are removed. No run was changed.\n',
  });
  expect((await retention('show')).stderr).toBe('No rules are stored.\n');
});

it('refuses what is not a rule, and names it', async () => {
  writeFileSync(join(folder, 'bad.json'), JSON.stringify({ rules: [{ act: 'delete' }] }));
  const refused = await retention('set', 'bad.json');
  expect(refused).toMatchObject({ code: 1 });
  expect(refused.stderr).toContain(
    'bad.json: rules[0] must be a rule with at least one of statuses',
  );
  expect((await retention('set', 'missing.json')).stderr).toContain('missing.json cannot be read');
  expect((await retention('set')).code).toBe(2);
  expect(await retention('show', 'bad.json')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('takes no FILE; got "bad.json"'),
  });
  expect((await retention('burn')).code).toBe(2);
});

it('thins old runs, says so, and does nothing more when it is asked again', async () => {
  const values = Array.from({ length: 500 }, (_, step) => (step === 321 ? -7 : step % 17));
  await addRun(store, {
    id: 'run_long',
    project: 'long',
    endedAtMs: Date.now() - 100 * DAY_MS,
    metric: 'train/loss',
    values,
  });
  writeFileSync(
    join(folder, 'thin.json'),
    '{"rules": [{"act": "thin", "project": "long", "olderThanDays": 90, "pointsPerMetric": 100}]}',
  );
  const plan = await retention('plan', 'thin.json');
  expect(plan.stdout).toContain(
    '1. thin runs of "long" older than 90 days to 100 points a metric: 1 run\n',
  );
  expect(plan.stdout).toMatch(/thin +run_long +long +completed .* 500 to 100 /);
  expect(plan.stdout).toContain('Would delete 0 runs (0 bytes), archive 0, thin 1.');
  const { steps } = JSON.parse((await retention('apply', 'thin.json', '--json')).stdout);
  expect(steps).toMatchObject([{ act: 'thin', run_id: 'run_long', rows_before: 500 }]);
  expect(steps[0].rows_after).toBeLessThanOrEqual(100);
  const left = await readMetricColumns({ store, runId: 'run_long' });
  expect(left.rowCount).toBe(steps[0].rows_after);
  expect([...left.steps]).toEqual(expect.arrayContaining([0, 321, 499]));
  const { stdout } = await quark(['show', 'run_long'], { cwd: folder });
  expect(stdout).toMatch(/downsampled +to 100 points a metric: \d+ of 500 rows are left/);
  expect(
    JSON.parse((await quark(['show', 'run_long', '--json'], { cwd: folder })).stdout),
  ).toMatchObject({
    downsampled: { points_per_metric: 100, rows_before: 500, rows: left.rowCount },
  });
  const again = await retention('apply', 'thin.json', '--json');
  expect(JSON.parse(again.stdout)).toMatchObject({ steps: [], skipped: [] });
  const doctor = await quark(['doctor'], { cwd: folder });
  expect(doctor.stdout).not.toContain('rows_missing');
  expect(doctor.stdout).not.toContain('taken away');
});
