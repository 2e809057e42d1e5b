/** `quark top` over a run that goes on, driven by keys. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runCli } from '../../src/cli/cli.ts';
import { MetricsLogger, TrainingSession } from '../../src/index.ts';
import { FakeIo, quark } from './fake-io.ts';

const LIMIT_MS = 120_000;
let cwd: string;

beforeAll(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'quark-top-'));
});
afterAll(() => rm(cwd, { recursive: true, force: true }));

async function started(name: string): Promise<TrainingSession> {
  return TrainingSession.startRun({
    project: 'digits',
    name,
    storage: `file:${cwd}`,
    handleSignals: false,
  });
}

it(
  'shows a run as it goes on, another metric and another run by keys, and leaves the terminal as it was',
  { timeout: LIMIT_MS },
  async () => {
    const older = await started('older run');
    new MetricsLogger(older).log('accuracy', 0.5, { step: 0 });
    await older.endRun();
    const session = await started('newer run');
    const metrics = new MetricsLogger(session);
    for (let step = 0; step < 100; step += 1)
      metrics.logMany({ loss: 1 / (step + 1), accuracy: step / 100 }, { step });
    await session.flush();
    const io = new FakeIo({ cwd, columns: 100, rows: 30 });
    const ended = runCli(['top'], io);
    await io.sees(/newer run[\s\S]*loss \(1 of 2\)[\s\S]*┤/);
    expect(io.out.startsWith('\u001b[?1049h')).toBe(true);
    io.type('l');
    await io.sees(/accuracy \(2 of 2\)/);
    metrics.logMany({ loss: 0.001, accuracy: 7777 }, { step: 100 });
    await session.flush();
    await io.sees(/7777 ┤/);
    io.type('\u001b[B');
    await io.sees(/accuracy \(1 of 1\)/);
    io.type('?');
    await io.sees(/logarithmic values, or not/);
    io.type('q');
    expect(await ended).toBe(0);
    expect(io.out.endsWith('\u001b[?25h\u001b[?1049l')).toBe(true);
    expect(io.isListening).toBe(false);
    await session.endRun();
  },
);

it('writes one screen where there is no terminal', { timeout: LIMIT_MS }, async () => {
  const { code, stdout } = await quark(['top', '--where', 'name ~ older'], { cwd });
  expect(code).toBe(0);
  expect(stdout).toContain('older run');
  expect(stdout).not.toContain('newer run');
  // oxlint-disable-next-line no-control-regex -- no sequence for a terminal
  expect(stdout).not.toMatch(/\u001b/);
  const wrong = await quark(['top', '--where', 'config.lr <'], { cwd });
  expect(wrong.code).toBe(2);
  expect(wrong.stderr).toContain('expected a value');
});
