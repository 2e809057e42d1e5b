/** `quark analyze`, `phases`, `compare` and `report`, on stored runs and on files. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  createMemoryStore,
  MetricsLogger,
  openRun,
  openStorage,
  startRun,
  TrainingSession,
} from 'quark-sdk';
import { report as reportOn } from 'quark-sdk/analysis';
import { exportQuark } from 'quark-sdk/exchange';
import { DataDiagnostics } from 'quark-sdk/probes';
import { random } from '../support/analysis-runs.ts';
import { quark, type Ran } from './fake-io.ts';

const GOOD = [2.3, 1.8, 1.2, 0.8, 0.6, 0.55, 0.52, 0.5, 0.499, 0.498];
const BAD = [2.3, 1.8, 1.2, 0.8, 2, 5, 9, 20, 40, 80];
const VAL = [2.4, 1.9, 1.4, 1.1, 1, 1.2, 1.5, 1.9, 2.3, 2.6];

const state = (losses: readonly number[], val?: readonly number[]): string =>
  JSON.stringify({
    global_step: losses.length * 10,
    log_history: losses.flatMap((loss, i) => [
      { step: i * 10, epoch: i, loss },
      ...(val === undefined ? [] : [{ step: i * 10, epoch: i, eval_loss: val[i] }]),
    ]),
  });

let folder = '';
const ids: string[] = [];
const run = (...args: string[]): Promise<Ran> => quark(args, { cwd: folder });

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'quark-analysis-'));
  const files = { good: state(GOOD), bad: state(BAD), overfit: state(GOOD, VAL) };
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(folder, name));
    writeFileSync(join(folder, name, 'trainer_state.json'), text);
  }
  writeFileSync(join(folder, 'notes.txt'), 'nothing to see here');
  const imported = await run('import', 'good', 'bad', '--json');
  ids.push(...JSON.parse(imported.stdout).runs.map(({ runId }: { runId: string }) => runId));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('phases of a file, and of a stored run that keeps them', async () => {
  const file = await run('phases', 'good');
  expect(file.code).toBe(0);
  expect(file.stdout).toMatch(/^PHASE +FROM +TO +WHY\n/);
  expect(file.stdout).toMatch(
    /\nrapid_learning +20 +49 +Fast progress: train\/loss fell by 66\.7 %/,
  );
  const [id = ''] = ids;
  const saved = await run('phases', id, '--save', '--json');
  expect(saved.stderr).toBe('');
  const { phases } = JSON.parse(saved.stdout);
  expect(phases.map((one: { phase_name: string }) => one.phase_name)).toEqual([
    'initialization_adaptation',
    'rapid_learning',
    'stabilization',
    'stagnation',
  ]);
  const report = await run('report', id);
  expect(report.stdout).toContain('as stored by an earlier analysis');
  const refused = await run('phases', 'good', '--save');
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('import it first')]);
});

test('alerts, and an exit code for those who wait for them', async () => {
  const found = await run('analyze', 'overfit');
  expect(found.code).toBe(0);
  expect(found.stdout).toMatch(/^The run is .* of 100\. .*verfit.*\.\n/u);
  expect(found.stdout).toMatch(/^SCORE +OF 100 +STATUS +ASKED$/mu);
  expect(found.stdout).toMatch(/^representation +- +not assessed +\d+ of \d+$/mu);
  expect(found.stdout).toContain('(overfitting_onset)');
  expect((await run('analyze', 'overfit', '--fail-on', 'warning')).code).toBe(1);
  const calm = await run('analyze', 'good', '--fail-on', 'warning');
  expect(calm.code).toBe(0);
  const json = await run('analyze', 'overfit', 'good', '--json');
  expect(JSON.parse(json.stdout)).toHaveLength(2);
  expect((await run('analyze', 'good', '--fail-on', 'bad')).stderr).toContain(
    'must be one of info',
  );
});

test('two runs: a stored one and a file, with a target', async () => {
  const both = await run(
    'compare',
    ids[0] ?? '',
    'bad',
    '--target',
    'train/loss<=0.6',
    '--baseline',
  );
  expect(both.stderr).toBe('');
  expect(both.stdout).toMatch(/The runs diverge at step 40\./);
  expect(both.stdout).toMatch(/\ntrain\/loss +0\.498 +80 /);
  expect(both.stdout).toContain('train/loss <= 0.6: at 40 and never');
  expect(both.stdout).toMatch(/\ndivergence +- +\d+ %/);
  const json = JSON.parse((await run('compare', 'good', 'bad', '--json')).stdout);
  expect(json).toMatchObject({ mode: 'pairwise', first_parting_step: 40 });
  expect((await run('compare', 'good')).stderr).toContain('needs RUN|PATH...');
  expect((await run('compare', 'good', 'bad', '--target', 'loss=3')).stderr).toContain(
    'KEY>=VALUE',
  );
});

/** Writes a run with these metrics into a file. */
async function exported(name: string, keys: readonly string[]): Promise<string> {
  const store = createMemoryStore();
  const session = await TrainingSession.startRun({ project: 'order', storage: store });
  const metrics = new MetricsLogger(session);
  for (const key of keys) for (let step = 0; step < 4; step++) metrics.log(key, step, { step });
  await session.endRun();
  return writeRun(name, await openRun(store, session.runId));
}

async function writeRun(name: string, source: Parameters<typeof exportQuark>[0]): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of exportQuark(source)) pieces.push(piece);
  writeFileSync(join(folder, name), Buffer.concat(pieces));
  return name;
}

test('losses come first, and what the machine did only where somebody asks', async () => {
  const keys = ['system/cpu', 'system/ram', 'optimizer/lr', 'perf/ms', 'a/norm'];
  const losses = ['val/accuracy', 'val/loss', 'train/epoch_loss', 'train/loss'];
  const file = await exported('order.quark', [...keys, ...losses]);
  const order = [...losses.toReversed(), 'a/norm', 'optimizer/lr', 'perf/ms'];
  const shown = ({ stdout }: Ran): readonly string[] => stdout.match(/^[a-z]+\/[a-z_]+/gmu) ?? [];
  const two = await run('compare', file, file);
  expect(shown(two)).toEqual(order);
  expect(two.stdout).toContain(
    '2 metrics of the machine (system/...) left out; --system shows them.',
  );
  const whole = await run('compare', file, file, '--system');
  expect(shown(whole)).toEqual([...order, 'system/cpu', 'system/ram']);
  expect(whole.stdout).not.toContain('left out');
  const more = await Promise.all(
    ['second.quark', 'third.quark'].map((name) => exported(name, [...keys, ...losses])),
  );
  const three = await run('compare', file, ...more);
  expect(shown(three)).toEqual(order);
  expect(three.stdout).toContain('left out');
  expect(shown(await run('compare', file, ...more, '--system'))).toHaveLength(9);
  const { metric_diffs: all } = JSON.parse((await run('compare', file, file, '--json')).stdout);
  expect(all).toHaveLength(9);
});

test('three runs and more are groups', async () => {
  const { stdout } = await run('compare', 'good', 'bad', 'overfit');
  expect(stdout).toMatch(/\ntrain\/loss +all runs +3 +/);
  expect(stdout).toContain('No difference is significant.');
});

test('many runs: by a setting, what a metric depends on, and which are not beaten', async () => {
  const store = await openStorage(join(folder, 'sweep'));
  const runIds: string[] = [];
  for (let at = 0; at < 9; at++) {
    const [lr, seed] = [10 ** -(1 + (at % 3)), at];
    const session = await TrainingSession.startRun({
      project: 's',
      storage: store,
      config: { lr, seed },
    });
    const metrics = new MetricsLogger(session);
    for (let step = 0; step < 4; step++) {
      metrics.log('val/loss', lr + at / 1e5, { step });
      metrics.log('val/latency', 1 / lr, { step });
    }
    await session.endRun();
    runIds.push(session.runId);
  }
  await store.close();
  const compare = (...args: readonly string[]): Promise<Ran> =>
    run('compare', ...runIds, '--storage-dir', join(folder, 'sweep'), ...args);
  expect((await compare('--by', 'config.lr')).stdout).toMatch(
    /\nval\/loss +lr=0\.001 +3 +0\.00105 .* best\n/,
  );
  expect((await compare('--by', 'tag')).stdout).toMatch(/\nval\/loss +without tags +9 /);
  const importance = await compare('--importance', 'val/loss');
  expect(importance.stdout).toContain('What val/loss (best) depends on (9 runs)');
  expect(importance.stdout).toMatch(/\nlr +3 +0\.87 +0\.87 to 0\.87 +0\.95 +0\.00\d+\n/);
  const json = JSON.parse((await compare('--importance', 'val/loss.last', '--json')).stdout);
  expect(json).toMatchObject({ method: 'ranks', run_count: 9, settings: [{ path: 'lr' }] });
  const front = await compare('--pareto', 'val/loss,val/latency', '--json');
  expect(JSON.parse(front.stdout).front.map((one: { x: number }) => one.x)).toEqual([
    0.00102, 0.01001, 0.1,
  ]);
  expect((await compare('--pareto', 'val/loss,val/latency')).stdout).toContain(
    '3 of 9 runs are not beaten in both',
  );
  for (const wrong of [
    ['--by', 'lr'],
    ['--pareto', 'val/loss'],
    ['--importance', 'none'],
  ])
    expect((await compare(...wrong)).code).toBe(2);
});

test('a report as Markdown, as HTML and into a file', async () => {
  const markdown = await run('report', 'overfit', '--title', 'A | B');
  expect(markdown.stdout.startsWith('# A \\| B\n')).toBe(true);
  expect(markdown.stdout).toContain('| Onset of overfitting | 50 | 90 |');
  const html = await run('report', 'overfit', '--html');
  expect(html.stdout).toMatch(/^<!doctype html>/);
  const written = await run('report', ids[0] ?? '', '--out', 'page.html');
  expect([written.stdout, written.stderr]).toEqual(['', 'Wrote page.html.\n']);
  expect(readFileSync(join(folder, 'page.html'), 'utf8')).toContain('<svg viewBox');
});

test('a report that is told how to judge shows nothing that was judged otherwise', async () => {
  const own = mkdtempSync(join(folder, 'asked-'));
  const session = await startRun({ project: 'asked', storageDir: own });
  const runOwn = (...args: string[]): Promise<Ran> => quark(args, { cwd: own });
  const metrics = new MetricsLogger(session);
  GOOD.forEach((value, step) => metrics.log('train/loss', value, { step }));
  BAD.forEach((value, step) => metrics.log('other/cost', value, { step }));
  await session.endRun('completed');
  await session.close();
  const { runId } = session;
  await runOwn('analyze', runId, '--save');
  await runOwn('phases', runId, '--save');
  const before = (await runOwn('report', runId)).stdout;
  expect(before).toContain('as stored by an earlier analysis');
  expect(before).not.toContain('Divergence');
  const asked = (await runOwn('report', runId, '--loss', 'other/cost')).stdout;
  expect(asked).toContain('other/cost as training loss (asked)');
  expect(asked).toMatch(/Training ended in: divergence\./u);
  expect(asked).toContain('loss_divergence');
  expect(asked).not.toContain('as stored by an earlier analysis');
  // Nothing of that was stored.
  expect((await runOwn('report', runId)).stdout).toBe(before);
});

test('an exported run reads like the stored one', async () => {
  const [id = ''] = ids;
  expect((await run('export', id, '--out', 'run.quark')).code).toBe(0);
  const [file, stored] = [await run('phases', 'run.quark'), await run('phases', id)];
  expect(file.stdout).toBe(stored.stdout);
  expect((await run('report', 'run.quark')).stdout).toContain('| Stagnation | 80 | 90 |');
  expect((await run('compare', id, 'run.quark')).stdout).not.toContain('diverge at');
});

test('batches: the samples that high losses have in common', async () => {
  const store = createMemoryStore();
  const session = await TrainingSession.startRun({ project: 'batches', storage: store });
  const diagnostics = new DataDiagnostics(session);
  const next = random(1);
  const order = Array.from({ length: 100 }, (_, i) => i);
  for (let step = 0; step < 300; step++) {
    if (step % 10 === 0)
      for (let i = 99; i > 0; i--) {
        const j = Math.floor(next() * (i + 1));
        [order[i], order[j]] = [order[j] ?? 0, order[i] ?? 0];
      }
    const shown = order.slice((step % 10) * 10, (step % 10) * 10 + 10);
    const loss = 1 / (1 + step / 20) + 0.02 * next() + (shown.includes(42) ? 0.5 : 0);
    diagnostics.logBatch(loss, { step, sampleIds: shown.map((id) => `<b>|${id}`) });
  }
  await session.endRun();
  const { html, markdown } = await reportOn(session);
  expect(markdown).toContain('### Hard samples');
  expect(markdown).toMatch(/\n\| &lt;b&gt;\\\|42 \| 30 \| \d+ \| [\d.]+ \|/);
  expect(markdown).toContain('Its data hold 1 sample');
  expect(html).toContain('<td>&lt;b&gt;|42</td><td class="number">30</td>');
  await writeRun('batches.quark', await openRun(store, session.runId));
  const text = await run('analyze', 'batches.quark');
  expect(text.stdout).toMatch(/\nHard samples\n.*look at their labels\.\nSAMPLE +BATCHES/);
  expect(text.stdout).toMatch(/\n<b>\|42 +30 +\d+ /);
  const { data } = JSON.parse((await run('analyze', 'batches.quark', '--json')).stdout);
  expect(data.samples).toMatchObject([{ sample_id: '<b>|42', batch_count: 30 }]);
  expect(JSON.parse((await run('analyze', 'good', '--json')).stdout)).not.toHaveProperty('data');
});

test('what is no run is said', async () => {
  const text = await run('phases', 'notes.txt');
  expect([text.code, text.stderr]).toEqual([
    1,
    expect.stringMatching(/No run (was recognised in|could be read from) notes\.txt/),
  ]);
  const unknown = await run('analyze', 'run_unknown');
  expect(unknown.code).toBe(3);
  const missing = await run('analyze', './missing.csv');
  expect([missing.code, missing.stderr]).toEqual([
    3,
    'error: There is no file or folder ./missing.csv, and no such run.\n',
  ]);
  const nowhere = await run('report', 'good', '--out', 'no/such/page.html');
  expect([nowhere.code, nowhere.stderr]).toEqual([
    1,
    expect.stringMatching(/^error: no\/such\/page\.html cannot be written: ENOENT[^\n]*\n$/u),
  ]);
  const three = await run('compare', 'good', 'bad', 'overfit', '--baseline');
  expect([three.code, three.stderr]).toEqual([
    2,
    expect.stringContaining('--baseline is for two runs; there are 3: good, bad, overfit'),
  ]);
});

test('how a run ended comes before its scores, and stands in its report', async () => {
  const session = await TrainingSession.startRun({
    project: 'digits',
    storage: `file:${folder}`,
    handleSignals: false,
  });
  const metrics = new MetricsLogger(session);
  for (const [step, loss] of GOOD.entries()) metrics.log('loss', loss, { step });
  await session.endRun('failed', new Error('CUDA out of memory\nat train'));
  const found = await run('analyze', session.runId);
  expect(found.stdout).toMatch(/^The run failed: CUDA out of memory\n/);
  const report = await run('report', session.runId);
  expect(report.stdout).toContain('CUDA out of memory');
});
