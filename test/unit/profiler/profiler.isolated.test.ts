import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, expectTypeOf, test } from 'vitest';
import { createMemoryStore, openRun, startRun, type Store } from 'quark-sdk';
import { Profiler, ProfileStep, readProfiles, type Profile } from 'quark-sdk/profiler';
import { inSpan, openSpan } from '../../../src/base/profiling.ts';
import { collect } from '../../support/collect.ts';

const stores: Store[] = [];
const profilers: Profiler[] = [];
afterEach(async () => {
  for (const profiler of profilers.splice(0)) await profiler.close();
  for (const store of stores.splice(0)) await store.close();
});

type Options = ConstructorParameters<typeof Profiler>[1];

function inMemory(options: Options = {}): Profiler {
  const profiler = new Profiler(undefined, { captureGpu: false, ...options });
  profilers.push(profiler);
  return profiler;
}

const names = ({ checkpoints }: Profile): string[] => checkpoints.map(({ name }) => name);
const tree = ({ scopes }: Profile): string[] =>
  scopes.map(({ depth, hasFailed, name }) => `${'  '.repeat(depth)}${name}${hasFailed ? '!' : ''}`);

describe('scopes', () => {
  test('have a checkpoint at each end, and return what their work returns', async () => {
    const profiler = inMemory();
    const model = profiler.scope(ProfileStep.MODEL_LOADING, () => 'model');
    expectTypeOf(model).toEqualTypeOf<string>();
    const data = profiler.scope(ProfileStep.DATASET_LOADING, async () => [1]);
    expectTypeOf(data).toEqualTypeOf<Promise<number[]>>();
    expect([model, await data]).toEqual(['model', [1]]);
    profiler.checkpoint('Cleaned');
    const profile = await profiler.close();
    expect(names(profile)).toEqual([
      'Start',
      'Model Loading Start',
      'Model Loading End',
      'Dataset Loading Start',
      'Dataset Loading End',
      'Cleaned',
      'End',
    ]);
    expect(profile.endedMs).toBe(profile.checkpoints.at(-1)?.atMs);
    const times = profile.checkpoints.map(({ atMs }) => atMs);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
  });

  test('are inside of each other, also where their work throws or rejects', async () => {
    const profiler = inMemory();
    const fail = (): never => {
      throw new Error('no such file');
    };
    const outer = profiler.scope('outer', async () => {
      profiler.scope('first', () => 1);
      expect(() => profiler.scope('second', fail)).toThrow('no such file');
      await expect(profiler.scope('third', async () => fail())).rejects.toThrow('no such file');
      using manual = profiler.start('manual');
      profiler.scope('in it', () => manual);
      fail();
    });
    await expect(outer).rejects.toThrow('no such file');
    expect(tree(profiler.profile)).toEqual([
      'outer!',
      '  first',
      '  second!',
      '  third!',
      '  manual',
      '    in it',
    ]);
    expect(profiler.profile.scopes.every(({ end }) => end !== null)).toBe(true);
  });

  test('that run at once are inside the scope that opened them', async () => {
    const profiler = inMemory();
    const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5));
    await profiler.scope('outer', (outer) =>
      Promise.all([
        outer.scope('a', async (a) => {
          await pause();
          a.scope('in a', () => 1);
        }),
        outer.scope('b', async (b) => {
          await pause();
          b.start('in b').end();
        }),
      ]),
    );
    const { scopes } = profiler.profile;
    const parentOf = (name: string): string | undefined => {
      const parent = scopes.find((one) => one.name === name)?.parentId;
      return scopes.find(({ id }) => id === parent)?.name;
    };
    expect(['a', 'b', 'in a', 'in b'].map(parentOf)).toEqual(['outer', 'outer', 'a', 'b']);
  });

  test('a function in a scope each time', async () => {
    const profiler = inMemory();
    const add = profiler.profiled('Sum', (a: number, b: number) => a + b);
    expectTypeOf(add).toEqualTypeOf<(a: number, b: number) => number>();
    expect([add(1, 2), add(3, 4)]).toEqual([3, 7]);
    const load = profiler.profiled('Load', async (name: string) => name.length);
    expect(await load('abc')).toBe(3);
    expect(tree(profiler.profile)).toEqual(['Sum', 'Sum', 'Load']);
  });

  test('after the end nothing is recorded, and work is done all the same', async () => {
    const profiler = inMemory();
    const open = profiler.start('open');
    const profile = await profiler.close();
    open.end();
    expect(profiler.scope('late', () => 5)).toBe(5);
    expect(profiler.checkpoint('late')).toBeUndefined();
    expect(profiler.profile).toEqual(profile);
    expect(profile.scopes).toMatchObject([{ name: 'open', end: null, endMs: null }]);
  });

  test('beyond the limit are counted, and what was begun is ended', async () => {
    const profiler = inMemory({ maxCheckpoints: 10 });
    await profiler.scope('outer', async () => {
      for (let i = 0; i < 20; i++) profiler.scope('inner', () => i);
      profiler.checkpoint('more');
    });
    const profile = await profiler.close();
    expect(profile.checkpoints.length).toBeLessThanOrEqual(10);
    expect(profile.scopes.every(({ endMs }) => endMs !== null)).toBe(true);
    expect(names(profile).slice(-2)).toEqual(['outer End', 'End']);
    expect(profile.droppedCheckpoints).toBe(18);
  });
});

describe('what is measured', () => {
  test('a peak between two checkpoints that is gone at the second', async () => {
    const profiler = inMemory();
    profiler.scope('Big', () => {
      let bytes: Uint8Array | undefined = new Uint8Array(96 << 20).fill(1);
      const sum = bytes.at(-1);
      bytes = undefined;
      return sum;
    });
    const { scopes } = await profiler.close();
    const [big] = scopes;
    expect((big?.peaks['rss_bytes'] ?? 0) - (big?.start['rss_bytes'] ?? 0)).toBeGreaterThan(
      80 << 20,
    );
    const end = profiler.profile.checkpoints.find(({ name }) => name === 'Big End');
    expect(['reset', 'risen', 'sampled']).toContain(end?.peakSource);
    expect(end?.values['rss_peak_bytes']).toBeGreaterThanOrEqual(end?.values['rss_bytes'] ?? 0);
  });

  test('values are of their moment: two checkpoints in a row are not the same reading', async () => {
    // What earlier tests have left would be released between the two.
    await collect();
    const profiler = inMemory();
    const before = profiler.checkpoint('before');
    const bytes = new Uint8Array(64 << 20).fill(1);
    const after = profiler.checkpoint('after');
    expect(bytes.length).toBe(64 << 20);
    expect(
      (after?.values['array_buffer_bytes'] ?? 0) - (before?.values['array_buffer_bytes'] ?? 0),
    ).toBeGreaterThan(60 << 20);
    expect((after?.values['rss_bytes'] ?? 0) - (before?.values['rss_bytes'] ?? 0)).toBeGreaterThan(
      40 << 20,
    );
  });

  test.runIf(process.platform === 'linux')(
    'what is written to disks, by child processes too',
    async () => {
      const folder = mkdtempSync(join(tmpdir(), 'quark-profiler-'));
      try {
        const profiler = inMemory();
        profiler.scope('Write', () => writeFileSync(join(folder, 'own'), Buffer.alloc(3 << 20, 1)));
        profiler.scope('Child', () =>
          spawnSync('dd', [
            'if=/dev/zero',
            `of=${join(folder, 'child')}`,
            'bs=1M',
            'count=4',
            'conv=fsync',
          ]),
        );
        const { checkpoints, summary } = await profiler.close();
        const written = (name: string): number =>
          checkpoints.find((one) => one.name === name)?.values['disk_write_bytes'] ?? -1;
        // A folder in memory has no disk.
        const isCounted =
          Number(/^write_bytes: (\d+)$/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1]) > 0;
        if (isCounted) {
          expect(written('Write End')).toBeGreaterThanOrEqual(3 << 20);
          expect(written('Child End') - written('Child Start')).toBeGreaterThanOrEqual(4 << 20);
        }
        expect(checkpoints[0]?.values['disk_write_bytes']).toBe(0);
        expect(summary['disk_write_bytes']).toBe(written('End'));
      } finally {
        rmSync(folder, { recursive: true });
      }
    },
  );

  test('tensors, memories and devices that are handed in', async () => {
    const memory = { numTensors: 2, numBytes: 80, numBytesInGPU: 64 };
    let destroyed = 0;
    const device = {
      createBuffer: ({ size }: { readonly size: number }) => ({
        size,
        destroy: () => void destroyed++,
      }),
      createTexture: (descriptor: object) => ({ descriptor, destroy: () => undefined }),
    };
    const { createBuffer } = device;
    const profiler = inMemory({
      tf: { memory: () => memory },
      memories: { kernels: new WebAssembly.Memory({ initial: 2 }), other: () => 10 },
      devices: [device],
    });
    const buffer = device.createBuffer({ size: 100 });
    device.createTexture({ size: [4, 2], format: 'rgba32float' });
    expect(profiler.checkpoint('one')?.values).toMatchObject({
      tensor_count: 2,
      tensor_bytes: 80,
      tensor_gpu_bytes: 64,
      wasm_bytes: 131_072 + 10,
      webgpu_bytes: 100 + 4 * 2 * 16,
    });
    buffer.destroy();
    buffer.destroy();
    expect(profiler.checkpoint('two')?.values['webgpu_bytes']).toBe(128);
    expect(destroyed).toBe(2);
    await profiler.close();
    expect(device.createBuffer).toBe(createBuffer);
  });

  test('metrics of one’s own, of checkpoints and of the whole', async () => {
    const contexts: object[] = [];
    const profiler = inMemory({
      now: (() => {
        let ms = 0;
        return () => (ms += 10);
      })(),
      metrics: [
        {
          name: 'queue_items',
          unit: 'items',
          kind: 'checkpoint',
          collect({ atMs, stepName, values }) {
            contexts.push({ atMs, stepName, hasRss: (values['rss_bytes'] ?? 0) > 0 });
            return stepName === 'none' ? null : 3;
          },
        },
        { name: 'broken', unit: 's', kind: 'checkpoint', collect: () => Number(undefined) },
        {
          name: 'model_size_mb',
          unit: 'MiB',
          definition: 'Size of the model.',
          kind: 'summary',
          collect: ({ atMs, values }) => atMs + (values['total_seconds'] ?? 0),
        },
      ],
    });
    expect(profiler.checkpoint('some')?.values['queue_items']).toBe(3);
    expect(profiler.checkpoint('none')?.values).not.toHaveProperty('queue_items');
    expect(contexts).toEqual([
      { atMs: 10, stepName: 'Start', hasRss: true },
      { atMs: 20, stepName: 'some', hasRss: true },
      { atMs: 30, stepName: 'none', hasRss: true },
    ]);
    const { checkpoints, metrics, summary } = await profiler.close();
    expect(summary['model_size_mb']).toBe(40.04);
    expect(checkpoints.some(({ values }) => 'broken' in values)).toBe(false);
    expect(metrics.map(({ kind, name }) => [name, kind])).toEqual([
      ['queue_items', 'checkpoint'],
      ['broken', 'checkpoint'],
      ['model_size_mb', 'summary'],
    ]);
  });
});

describe('in a run', () => {
  test('the profile is what it was in memory', async () => {
    const storage = createMemoryStore();
    stores.push(storage);
    const session = await startRun({ project: 'profile', storage });
    const profiler = new Profiler(session, {
      captureGpu: false,
      metrics: [{ name: 'ones', unit: 'ones', kind: 'summary', collect: () => 1 }],
    });
    await profiler.scope('outer', async (outer) => outer.scope('inner', () => 1));
    await session.endRun();
    const reader = await openRun(storage, session.runId);
    const [stored, ...others] = await readProfiles(reader);
    expect(others).toEqual([]);
    const own = profiler.profile;
    expect(stored).toEqual({
      ...own,
      startedAtMs: stored?.startedAtMs,
      checkpoints: own.checkpoints.map((one) => ({ ...one, timeMs: Math.trunc(one.timeMs) })),
    });
    expect(Math.abs((stored?.startedAtMs ?? 0) - own.startedAtMs)).toBeLessThan(2);
    expect(await profiler.close()).toEqual(own);
  });

  test('of a program that crashed there is what it had', async () => {
    const storage = createMemoryStore();
    stores.push(storage);
    const session = await startRun({ project: 'profile', storage });
    const profiler = new Profiler(session, { captureGpu: false });
    profilers.push(profiler);
    profiler.scope('done', () => 1);
    profiler.start('open');
    await session.flush();
    const [profile] = await readProfiles(await openRun(storage, session.runId));
    expect(profile).toMatchObject({ endedMs: null, scopes: [{ name: 'done' }, { endMs: null }] });
    expect(profile?.summary['rss_peak_bytes']).toBeGreaterThan(0);
    await session.endRun();
  });

  test('a metric that throws is told once, and the program goes on', async () => {
    const storage = createMemoryStore();
    stores.push(storage);
    const session = await startRun({ project: 'profile', storage });
    const collectAll = (): number => {
      throw new Error('no library');
    };
    const profiler = new Profiler(session, {
      captureGpu: false,
      metrics: [{ name: 'mine', unit: 'bytes', kind: 'checkpoint', collect: collectAll }],
    });
    profiler.checkpoint('one');
    await session.endRun();
    const events = await (
      await openRun(storage, session.runId)
    ).readEvents({ eventType: 'profiler_warning' });
    expect(events).toHaveLength(1);
    expect(events[0]?.payload['message']).toContain('"mine"');
  });
});

describe('spans of the library', () => {
  test('are scopes while a profiler is open, and cost nothing else', async () => {
    expect(openSpan('Analysis')).toBeUndefined();
    const profiler = inMemory();
    const quiet = inMemory({ automatic: false });
    expect(await inSpan('Analysis', async () => 3)).toBe(3);
    await expect(
      inSpan('Export', async () => {
        throw new Error('disk full');
      }),
    ).rejects.toThrow('disk full');
    expect(openSpan('Epoch', 'run_of_another')).toBeUndefined();
    const { scopes } = await profiler.close();
    expect(scopes.map((one) => [one.name, one.isAutomatic, one.hasFailed])).toEqual([
      ['Analysis', true, false],
      ['Export', true, true],
    ]);
    expect((await quiet.close()).scopes).toEqual([]);
    expect(openSpan('Analysis')).toBeUndefined();
  });
});

test.each<[object, string]>([
  [
    { metrics: [{ name: 'Upper', unit: 's', kind: 'summary', collect: Number }] },
    'options.metrics[0].name',
  ],
  [
    { metrics: [{ name: 'rss_bytes', unit: 's', kind: 'summary', collect: Number }] },
    'options.metrics[0].name',
  ],
  [
    { metrics: [{ name: 'a', unit: 's', kind: 'both', collect: Number }] },
    'options.metrics[0].kind',
  ],
  [{ metrics: [{ name: 'a', unit: 's', kind: 'summary' }] }, 'options.metrics[0].collect'],
  [{ tf: {} }, 'options.tf'],
  [{ memories: { a: 3 } }, 'options.memories.a'],
  [{ devices: [{}] }, 'options.devices'],
  [{ maxCheckpoints: 1 }, 'options.maxCheckpoints'],
  [{ everything: true }, 'options.everything'],
])('%j is refused', (options, field) => {
  const refusal: unknown = expect.objectContaining({
    details: expect.objectContaining({ field }),
  });
  expect(() => new Profiler(undefined, options)).toThrow(refusal);
});
