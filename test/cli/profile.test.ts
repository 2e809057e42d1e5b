/** `quark profile`, `quark watch` and what `quark show` says about time. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { longTest } from '../support/long.ts';
import { runCli } from '../../src/cli/cli.ts';
import { MetricsLogger, startRun, type TrainingSession } from '../../src/index.ts';
import { Profiler, ProfileStep, Timers } from '../../src/profiler.ts';
import { FakeIo, quark, type FakeIoOptions, type Ran } from './fake-io.ts';

let folder = '';
const ids: string[] = [];

async function profiled(work: (session: TrainingSession) => Promise<void>): Promise<string> {
  const session = await startRun({
    project: 'digits',
    storageDir: folder,
    handleSignals: false,
    config: { seed: 1 },
  });
  await work(session);
  await session.endRun();
  await session.close();
  return session.runId;
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'quark-cli-profile-'));
  const first = await profiled(async (session) => {
    const profiler = new Profiler(session, {
      captureGpu: false,
      metrics: [{ name: 'images', unit: 'images', kind: 'summary', collect: () => 7 }],
    });
    const timers = new Timers(session);
    for (const ms of [1, 2, 3]) timers.timer('batch').record(ms);
    await session.setTotal({ epochs: 4, stepsPerEpoch: 10 });
    const metrics = new MetricsLogger(session);
    profiler.scope(ProfileStep.MODEL_LOADING, () => new Uint8Array(32 << 20).fill(1));
    for (let epoch = 0; epoch < 2; epoch++)
      await profiler.scope(ProfileStep.EPOCH, async (scope) => {
        for (let i = 0; i < 10; i++) {
          const timestamp = 1_700_000_000_000 + 60_000 * (10 * epoch + i);
          metrics.log('train/loss', 1 / (1 + i), { step: 10 * epoch + i, epoch, timestamp });
        }
        scope.scope(ProfileStep.MODEL_EVALUATION, () => metrics.log('val/loss', 0.5, { epoch }));
      });
  });
  const second = await profiled(async (session) => {
    const profiler = new Profiler(session, { captureGpu: false });
    profiler.scope(ProfileStep.EPOCH, () => 1);
    profiler.scope(ProfileStep.EXPORT, () => 1);
  });
  const without = await profiled(async () => undefined);
  ids.push(first, second, without);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const run = (args: readonly string[], options: Partial<FakeIoOptions> = {}): Promise<Ran> =>
  quark(args, { cwd: folder, ...options });

describe('quark profile', () => {
  it('shows steps inside of each other, the whole, and findings', async () => {
    const { code, stdout, stderr } = await run(['profile', ids[0] ?? '']);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^Model Loading +1 /m);
    expect(stdout).toMatch(/^Epoch +2 /m);
    expect(stdout).toMatch(/^ {2}Model Evaluation +2 /m);
    expect(stdout).toMatch(/^ +images +7$/m);
    expect(stdout).toMatch(/^ +rss peak +\d+/m);
    expect(stdout).toContain('- The peak of resident memory is');
    expect(stdout).toMatch(/^- \d+ % of the time is not training/m);
  });

  it('writes the YAML, the trace and JSON', async () => {
    const yaml = await run(['profile', ids[0] ?? '', '--export', 'yaml']);
    expect(yaml.stdout).toContain('- step: "Model Loading End"');
    expect(yaml.stdout).toContain('\nimages: 7.0\n');
    await run(['profile', ids[0] ?? '', '--export', 'trace', '--out', 'trace.json']);
    const trace = JSON.parse(readFileSync(join(folder, 'trace.json'), 'utf8')) as {
      traceEvents: { ph: string; name: string }[];
    };
    const spans = trace.traceEvents.filter(({ ph }) => ph === 'X').map(({ name }) => name);
    expect(spans.toSorted()).toEqual([
      'Epoch',
      'Epoch',
      'Model Evaluation',
      'Model Evaluation',
      'Model Loading',
    ]);
    const json = JSON.parse((await run(['profile', ids[0] ?? '', '--json'])).stdout) as {
      run_id: string;
      findings: string[];
    };
    expect(json.run_id).toBe(ids[0]);
    expect(json.findings.length).toBeGreaterThan(1);
  });

  it('compares two runs', async () => {
    const { stdout } = await run(['profile', ids[0] ?? '', ids[1] ?? '']);
    expect(stdout).toMatch(/^Epoch +[\d.]+ m?s +[\d.]+ m?s +\S+ x /m);
    expect(stdout).toMatch(/^Export +- +[\d.]+ m?s +- /m);
    expect(stdout).toMatch(/^images +7 +-$/m);
    const json = await run(['profile', ids[0] ?? '', ids[1] ?? '', '--json']);
    expect(JSON.parse(json.stdout)).toHaveProperty('steps');
  });

  it('says what is missing or asked for wrongly', async () => {
    const none = await run(['profile', ids[2] ?? '']);
    expect([none.code, none.stderr]).toEqual([1, expect.stringContaining('has no profile')]);
    const other = await run(['profile', ids[0] ?? '', '--profile', 'prf_none']);
    expect(other.stderr).toContain('has no profile "prf_none", but prf_');
    expect((await run(['profile', ids[0] ?? '', '--export', 'csv'])).code).toBe(2);
    expect((await run(['profile', ids[0] ?? '', '--out', 'x'])).code).toBe(2);
    expect((await run(['profile', ids[0] ?? '', ids[1] ?? '', '--export', 'yaml'])).code).toBe(2);
  });
});

describe('quark show', () => {
  it('has the progress, the timers and the profile', async () => {
    const { stdout } = await run(['show', ids[0] ?? '']);
    expect(stdout).toMatch(/^ +progress +step 20 of 40, epoch 2 of 4, 50 %$/m);
    expect(stdout).toMatch(/^ +profile +1 profile: quark profile run_/m);
    expect(stdout).toMatch(/^batch +3 +2 +0\.8165 +1 +\S+ +\S+ +3 +6$/m);
    const json = JSON.parse((await run(['show', ids[0] ?? '', '--json'])).stdout) as object;
    expect(json).toMatchObject({
      progress: { steps: 20, total_steps: 40, remaining_ms: 1_200_000 },
      timers: [{ name: 'batch', count: 3, mean_ms: 2 }],
      profile_count: 1,
    });
  });

  it('says nothing about it where there is nothing to say', async () => {
    const { stdout } = await run(['show', ids[2] ?? '']);
    expect(stdout).not.toMatch(/progress|TIMER|quark profile/);
  });
});

describe('quark watch', () => {
  it('leaves one line about a run that has ended, without a terminal', async () => {
    const { stdout } = await run(['watch', ids[0] ?? '']);
    const line = 'step 20 of 40, epoch 2 of 4, 50 %  train/loss 0.1  val/loss 0.5';
    expect(stdout.split('\n').filter((one) => one.includes(line))).toHaveLength(1);
  });

  longTest(
    'rewrites one line on a terminal, not wider than it, while the run goes on',
    async () => {
      const session = await startRun({ project: 'live', storageDir: folder, handleSignals: false });
      await session.setTotal({ steps: 100 });
      const metrics = new MetricsLogger(session);
      metrics.log('train/loss', 2.5, { step: 0 });
      await session.flush();
      const io = new FakeIo({ cwd: folder, columns: 60, env: { NO_COLOR: '1' } });
      const watching = runCli(['watch', session.runId], io);
      await io.sees(/step 1 of 100, 1 % {2}train\/loss 2\.5/);
      metrics.log('train/loss', 1.5, { step: 49 });
      await session.flush();
      await io.sees(/step 50 of 100, 50 %/);
      await session.endRun();
      expect(await watching).toBe(0);
      await session.close();
      const lines = io.out.split('\r\u001b[2K').slice(1);
      expect(lines.length).toBeGreaterThanOrEqual(2);
      for (const line of lines.flatMap((one) => one.split('\n')))
        expect(line.length).toBeLessThan(60);
      expect(io.out.endsWith('\n')).toBe(true);
    },
  );

  it('writes JSON lines with progress and values where they are new', async () => {
    const session = await startRun({ project: 'live', storageDir: folder, handleSignals: false });
    await session.setTotal({ steps: 100 });
    const metrics = new MetricsLogger(session);
    metrics.log('train/loss', 2.5, { step: 0 });
    await session.flush();
    const io = new FakeIo({ cwd: folder });
    const watching = runCli(['watch', session.runId, '--json'], io);
    await io.sees(/"steps":1,/);
    metrics.log('train/loss', Number.NaN, { step: 49 });
    await session.endRun();
    expect(await watching).toBe(0);
    await session.close();
    const lines = io.out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter((line) => 'progress' in line);
    expect(lines[0]).toMatchObject({
      progress: { steps: 1, total_steps: 100, share: 0.01 },
      values: { 'train/loss': 2.5 },
    });
    expect(lines.at(-1)).toMatchObject({
      progress: { steps: 50 },
      values: { 'train/loss': 'NaN' },
    });
  });
});
