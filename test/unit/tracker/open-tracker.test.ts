/** Trackers: one interface, whatever is behind it. */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { countBins } from '../../../src/tracker/distribution.ts';
import { listRuns } from '../../../src/read/runs.ts';
import { createMemoryStore } from '../../../src/store/memory/memory-store.ts';
import { openTracker, type TrackerConfig } from '../../../src/tracker.ts';
import { MlflowServer } from '../../support/mlflow-server.ts';
import { runs } from '../../support/property.ts';

let folder = '';
let server: MlflowServer;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'quark-trackers-'));
  server = await MlflowServer.start();
});
afterEach(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

const every = (lines: string[] = []): readonly TrackerConfig[] => [
  { provider: 'quark', storage: createMemoryStore() },
  { provider: 'null' },
  { provider: 'console', write: (line) => lines.push(line) },
  { provider: 'tensorboard', directory: folder },
  { provider: 'mlflow', url: server.url },
];

describe('a tracker', () => {
  it('is the same for every provider: what is wrong throws, alike', async () => {
    for (const config of every()) {
      const tracker = await openTracker(config);
      expect(tracker.provider).toBe(config.provider);
      expect(tracker.step).toBe(0);
      expect(() => tracker.setStep(-1)).toThrow('step must be a non-negative integer');
      expect(() => tracker.scalar('a b', 1)).toThrow('name must be');
      // @ts-expect-error a value is a number
      expect(() => tracker.scalar('loss', '1')).toThrow('value of loss must be a number');
      expect(() => tracker.setContext({ stage: '' })).toThrow('context.stage must be');
      expect(() => tracker.setContext({ rank: Number.NaN })).toThrow('context.rank must be');
      expect(() => tracker.distribution('w', { bins: [1, 0], counts: [1] })).toThrow('bins[1]');
      // @ts-expect-error there is no such option
      expect(() => tracker.scalar('loss', 1, { stepp: 1 })).toThrow('stepp');
      await tracker.close();
      await tracker.close();
      expect(() => tracker.scalar('loss', 1)).toThrow('closed');
      expect(tracker.status()).toMatchObject({ state: 'working', waiting: 0, dropped: 0 });
    }
  });

  it('merges the context of a call over that of the tracker, which setContext replaces', async () => {
    const lines: string[] = [];
    const tracker = await openTracker({ provider: 'console', write: (line) => lines.push(line) });
    tracker.setContext({ stage: 'train', host: 'a' });
    tracker.setContext({ stage: 'train' });
    tracker.setStep(1);
    tracker.scalar('loss', 0.5);
    tracker.scalar('metrics/acc/0', 0.9, { context: { split: 'a' } });
    tracker.scalar('loss', 0.4, { step: 7, context: { stage: 'val' } });
    await tracker.close();
    expect(lines).toEqual([
      'step 1: loss {stage=train} 0.5, metrics/acc/0 {split=a, stage=train} 0.9',
      'step 7: loss {stage=val} 0.4',
    ]);
  });

  it('is checked once: wrong configurations name field, value and rule', async () => {
    const wrong: readonly (readonly [unknown, string])[] = [
      [undefined, 'config must be an object with a provider'],
      [{}, 'config.provider must be'],
      [{ provider: 'aim' }, 'config.provider must be'],
      [{ provider: 'null', repo: 'x' }, 'repo'],
      [{ provider: 'tensorboard' }, 'config.directory must be the path of a folder'],
      [{ provider: 'mlflow', url: 'ftp://x' }, 'config.url must be an http: or https: URL'],
      [{ provider: 'mlflow', url: 'http://x', headers: { a: 1 } }, 'config.headers must be'],
      [{ provider: 'tee', trackers: [] }, 'config.trackers must be'],
      [{ provider: 'tee', trackers: [{ provider: 'x' }] }, 'config.provider must be'],
      [{ provider: 'null', parameters: [] }, 'config.parameters must be'],
      [{ provider: 'quark', mirrors: [{}] }, 'config.mirrors must be a list of sinks'],
      [{ provider: 'null', resume: {} }, 'config.resume'],
      [
        {
          provider: 'console',
          resume: { version: 1, provider: 'null', step: 0, context: {}, memory: {} },
        },
        'config.resume.provider must be',
      ],
    ];
    for (const [config, text] of wrong)
      await expect(openTracker(config as TrackerConfig), text).rejects.toMatchObject({
        code: 'invalid_input',
        message: expect.stringContaining(text) as string,
      });
  });

  it('gives a state that is plain JSON and enough by itself, at every step', async () => {
    const known: readonly TrackerConfig[] = [
      { provider: 'quark', storage: `file:${folder}` },
      { provider: 'null' },
      { provider: 'tensorboard', directory: folder },
      { provider: 'mlflow', url: server.url },
      {
        provider: 'tee',
        trackers: [{ provider: 'null' }, { provider: 'tensorboard', directory: folder }],
      },
      {
        provider: 'tee',
        trackers: [{ provider: 'tee', trackers: [{ provider: 'tensorboard', directory: folder }] }],
      },
    ];
    for (const config of known) {
      const tracker = await openTracker(config);
      tracker.setContext({ stage: 'train' });
      tracker.setStep(41);
      tracker.scalar('loss', 1);
      const state = await tracker.state();
      expect(JSON.parse(JSON.stringify(state))).toEqual(state);
      await tracker.close('interrupted');
      const again = await openTracker({ resume: state });
      expect(again).toMatchObject({
        provider: config.provider,
        runId: tracker.runId,
        step: 41,
        context: { stage: 'train' },
      });
      again.scalar('loss', 2, { step: 42 });
      await again.close();
      expect(again.status()).toMatchObject({ state: 'working', error: null });
    }
    expect(server.run).toMatchObject({ status: 'FINISHED' });
    expect(server.run.metrics.map(({ step }) => step)).toEqual([41, 42]);
  });

  it('gives a state that is enough by itself also while nothing of the run has arrived', async () => {
    const parameters = { lr: 0.1 };
    const mlflow: TrackerConfig = { provider: 'mlflow', url: server.url };
    const configs: readonly TrackerConfig[] = [mlflow, { provider: 'tee', trackers: [mlflow] }];
    for (const config of configs) {
      server.fault = () => 'refuse';
      const tracker = await openTracker({
        ...config,
        project: 'digits',
        name: 'first',
        parameters,
      });
      tracker.scalar('loss', 1);
      const state = await tracker.state();
      expect(tracker.status()).toMatchObject({ state: 'failing' });
      await tracker.close('interrupted');
      server.fault = undefined;
      server.runs.clear();
      const again = await openTracker({ resume: state });
      again.scalar('loss', 2);
      await again.close();
      expect(again.status()).toMatchObject({ state: 'working', error: null });
      expect(server.run.name).toBe('first');
      expect([...server.run.params]).toEqual([['lr', '0.1']]);
      expect([...server.experiments.keys()]).toEqual(['digits']);
    }
    const file = join(folder, 'a-file');
    writeFileSync(file, '');
    const tracker = await openTracker({ provider: 'tensorboard', directory: join(file, 'logs') });
    const state = await tracker.state();
    await tracker.close();
    rmSync(file);
    const again = await openTracker({ resume: state });
    again.scalar('loss', 2);
    await again.close();
    expect(again.status()).toMatchObject({ state: 'working', error: null });
    expect(readdirSync(join(file, 'logs'))).toEqual([tracker.runId]);
  });

  it('says at once which folder cannot be written', async () => {
    // Node's own mkdir does not return for it.
    const tracker = await openTracker({ provider: 'tensorboard', directory: '/proc/nope' });
    tracker.scalar('loss', 1);
    await tracker.flush();
    expect(tracker.status()).toMatchObject({
      state: 'failing',
      error: { code: 'store_failed', reason: 'unwritable' },
    });
    expect(tracker.status().error?.message).toContain('/proc/nope');
    await tracker.close();
  });

  it('says which server does not answer, and why', async () => {
    const { url } = server;
    await server.stop();
    const tracker = await openTracker({ provider: 'mlflow', url });
    tracker.scalar('loss', 1);
    await tracker.flush();
    const { message } = tracker.status().error ?? expect.fail();
    expect(message).toContain(`The MLflow server at ${url} did not answer`);
    expect(message).toContain('ECONNREFUSED');
    await tracker.close();
    server = await MlflowServer.start();
  });

  it('refuses the state of other trackers, of a completed run, and of a run that is gone', async () => {
    const store = createMemoryStore();
    const tee = await openTracker({ provider: 'tee', trackers: [{ provider: 'null' }] });
    await expect(
      openTracker({
        provider: 'tee',
        trackers: [{ provider: 'quark', storage: store }],
        resume: await tee.state(),
      }),
    ).rejects.toMatchObject({ code: 'invalid_input' });
    const tracker = await openTracker({ provider: 'quark', storage: store });
    const state = await tracker.state();
    const resume = { provider: 'quark', storage: store, resume: state } as const;
    await expect(openTracker(resume)).rejects.toMatchObject({ code: 'invalid_run_state' });
    await tracker.close();
    await expect(openTracker(resume)).rejects.toMatchObject({ code: 'invalid_run_state' });
    await store.deleteRun(tracker.runId ?? '');
    await expect(openTracker(resume)).rejects.toMatchObject({ code: 'run_not_found' });
  });

  it('goes on where the provider fails, and says so', async () => {
    server.fault = () => 'refuse';
    const tracker = await openTracker({ provider: 'mlflow', url: server.url });
    tracker.scalar('loss', 1);
    await tracker.flush();
    expect(tracker.status()).toMatchObject({ state: 'failing', waiting: 1, dropped: 0 });
    server.fault = undefined;
    await tracker.close();
    expect(server.run.metrics).toHaveLength(1);
  });

  it('gives everything to all trackers of a tee', async () => {
    const lines: string[] = [];
    const [quark, ...others] = every(lines);
    if (quark?.provider !== 'quark') throw new Error('The first is quark.');
    const tracker = await openTracker({
      provider: 'tee',
      project: 'digits',
      parameters: { lr: 0.1 },
      trackers: [quark, ...others],
    });
    tracker.scalar('loss', 0.25);
    tracker.parameters({ seed: 7 });
    tracker.text('notes', 'begun');
    await tracker.close('failed');
    expect(lines).toEqual(['parameters: {"seed":7}', 'step 0: loss 0.25', 'step 0: notes: begun']);
    expect(server.run).toMatchObject({ status: 'FAILED' });
    expect(Object.fromEntries(server.run.params)).toEqual({ lr: '0.1', seed: '7' });
    expect(readdirSync(folder)).toHaveLength(1);
    if (typeof quark.storage !== 'object') throw new Error('It is a store.');
    expect(await listRuns(quark.storage)).toMatchObject([
      { run: { projectName: 'digits', status: 'failed', config: { lr: 0.1, seed: 7 } } },
    ]);
  });
});

describe('bins', () => {
  const value = fc.oneof(fc.double(), fc.integer({ min: -5, max: 5 }).map(Number));

  it('count every finite value once, in the bin that it is in', () => {
    fc.assert(
      fc.property(fc.array(value, { maxLength: 50 }), (values) => {
        const { bins, counts } = countBins(values);
        const finite = values.filter(Number.isFinite);
        expect(counts.reduce((sum, count) => sum + count, 0)).toBe(finite.length);
        expect(bins).toHaveLength(counts.length + 1);
        bins.forEach((edge, i) => {
          expect(Number.isFinite(edge)).toBe(true);
          if (i > 0) expect(edge).toBeGreaterThan(bins[i - 1] ?? 0);
        });
        counts.forEach((count, i) => {
          const [from = 0, to = 0] = bins.slice(i, i + 2);
          const isLast = i === counts.length - 1;
          const inside = finite.filter((one) => one >= from && (one < to || (isLast && one <= to)));
          expect(inside).toHaveLength(count);
        });
      }),
      runs(300),
    );
  });

  it('that were counted already pass as they are', () => {
    expect(countBins({ bins: [0, 1, 4], counts: [2, 0] })).toEqual({
      bins: [0, 1, 4],
      counts: [2, 0],
    });
  });
});
