// GPUs by programs that pretend, peaks of a process that pretends.
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Profiler } from 'quark-sdk/profiler';
import { watchDevice } from '../../../src/instruments/profiler/device-memory.ts';
import {
  parseRocm,
  watchGpus,
  type GpuSample,
} from '../../../src/instruments/profiler/gpu-meter.ts';
import { meterPage, pageMemory } from '../../../src/instruments/profiler/page-meter.ts';
import { PeakWatch } from '../../../src/instruments/profiler/peaks.ts';

const PATIENCE = { timeout: 60_000 };
let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'quark-gpus-'));
  vi.stubEnv('PATH', `${folder}${delimiter}${process.env['PATH'] ?? ''}`);
  vi.stubEnv('CUDA_VISIBLE_DEVICES', '');
  vi.stubEnv('HIP_VISIBLE_DEVICES', '');
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

function program(name: string, script: string): void {
  writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`);
  chmodSync(join(folder, name), 0o755);
}

/** Prints two GPUs, over and over. */
const NVIDIA = `i=100
while true; do
  echo "0, NVIDIA A, $i, 80000"; echo "1, NVIDIA B, 50, 80000"; i=$((i + 1)); sleep 0.05
done`;
const ROCM = `echo 'WARNING: something'
echo '{"card0": {"Card Series": "AMD Instinct", "VRAM Total Memory (B)": "1000", "VRAM Total Used Memory (B)": "300"},
"card1": {"VRAM Total Memory (B)": "1000", "VRAM Total Used Memory (B)": "20"}, "system": {"Driver version": "6"}}'`;

async function samples(count: number): Promise<{ found: GpuSample[]; name: string | null }> {
  const found: GpuSample[] = [];
  const watch = watchGpus(process, (sample) => found.push(sample));
  try {
    await vi.waitFor(() => expect(found.length).toBeGreaterThanOrEqual(count), PATIENCE);
    return { found, name: watch.program };
  } finally {
    watch.close();
  }
}

describe.skipIf(process.platform === 'win32')('GPUs', () => {
  test('all of NVIDIA, those of one moment together', async () => {
    program('nvidia-smi', NVIDIA);
    const { found, name } = await samples(2);
    expect(name).toBe('nvidia-smi');
    for (const { gpus } of found)
      expect(gpus.map((one) => [one.index, one.name])).toEqual([
        [0, 'NVIDIA A'],
        [1, 'NVIDIA B'],
      ]);
    expect(found[0]?.gpus[0]).toMatchObject({ usedBytes: 100 << 20, totalBytes: 80_000 * 2 ** 20 });
    expect((found[1]?.atMs ?? 0) - (found[0]?.atMs ?? 0)).toBeGreaterThan(0);
  });

  test('of AMD where there is no NVIDIA, and of those the visible ones', async () => {
    program('nvidia-smi', 'exit 9');
    program('rocm-smi', ROCM);
    const all = await samples(1);
    expect(all.name).toBe('rocm-smi');
    expect(all.found[0]?.gpus).toEqual([
      { index: 0, name: 'AMD Instinct', usedBytes: 300, totalBytes: 1000 },
      { index: 1, name: null, usedBytes: 20, totalBytes: 1000 },
    ]);
    vi.stubEnv('HIP_VISIBLE_DEVICES', '1');
    expect((await samples(1)).found[0]?.gpus.map(({ index }) => index)).toEqual([1]);
  });

  test('what a checkpoint gets is read after it, and has its own time', async () => {
    program('nvidia-smi', NVIDIA);
    const profiler = new Profiler();
    await vi.waitFor(() => expect(profiler.profile.readings.length).toBeGreaterThan(0), PATIENCE);
    profiler.checkpoint('some');
    const { checkpoints, readings, summary } = await profiler.close();
    const some = checkpoints.find(({ name }) => name === 'some');
    const reading = readings.find((one) => one.checkpoints.includes(some?.index ?? -1));
    expect(reading?.atMs).toBeGreaterThanOrEqual(some?.atMs ?? Infinity);
    expect(some?.values['gpu_bytes']).toBe(reading?.value);
    expect(checkpoints.at(-1)?.values['gpu_bytes']).toBeGreaterThan(0);
    expect(summary['gpu_peak_bytes']).toBe(Math.max(...readings.map(({ value }) => value)));
    expect(reading?.gpus).toHaveLength(2);
  });

  test('without any the profile has none, and its end does not wait', async () => {
    program('nvidia-smi', 'exit 9');
    program('rocm-smi', 'exit 1');
    const { readings, summary } = await new Profiler().close();
    expect(readings).toEqual([]);
    expect(summary).not.toHaveProperty('gpu_peak_bytes');
  });

  test.each(['', '{', '[]', '{"card0": 3}', '{"card0": {"VRAM Total Used Memory (B)": "x"}}'])(
    'rocm-smi that prints %j has no GPU',
    (text) => expect(parseRocm(text)).toEqual([]),
  );
});

describe('peaks', () => {
  function pretended(canReset: boolean) {
    const state = { rss: 100, highest: 100, ticks: new Set<() => void>() };
    const watch = new PeakWatch({
      memoryUsage: { rss: () => state.rss },
      highest: () => state.highest,
      reset() {
        if (canReset) state.highest = state.rss;
        return canReset;
      },
      everyTick(callback) {
        state.ticks.add(callback);
        return () => state.ticks.delete(callback);
      },
    });
    const reach = (rss: number): void => {
      state.rss = rss;
      state.highest = Math.max(state.highest, rss);
    };
    const tick = (): void => state.ticks.forEach((callback) => callback());
    return { state, watch, reach, tick };
  }

  test('are counted by the kernel where it may be told to begin anew', () => {
    const { reach, state, watch } = pretended(true);
    const own = watch.open();
    reach(500);
    reach(120);
    expect(own.take()).toEqual({ bytes: 500, source: 'reset' });
    reach(130);
    expect(own.take()).toEqual({ bytes: 130, source: 'reset' });
    expect(state.ticks.size).toBe(0);
  });

  test('are those of each user, although the mark is one of the process', () => {
    const { reach, watch } = pretended(true);
    const [a, b] = [watch.open(), watch.open()];
    reach(500);
    reach(100);
    expect(a.take().bytes).toBe(500);
    reach(300);
    reach(100);
    expect(a.take().bytes).toBe(300);
    expect(b.take().bytes).toBe(500);
    const late = watch.open();
    reach(200);
    expect([late.take().bytes, b.take().bytes]).toEqual([200, 200]);
  });

  test('elsewhere are known where the mark rises, else the most that was seen', () => {
    const { reach, state, tick, watch } = pretended(false);
    const own = watch.open();
    reach(500);
    reach(100);
    expect(own.take()).toEqual({ bytes: 500, source: 'risen' });
    reach(400);
    tick();
    reach(450); // not seen
    reach(100);
    expect(own.take()).toEqual({ bytes: 400, source: 'sampled' });
    expect(own.take()).toEqual({ bytes: 100, source: 'sampled' });
    own.close();
    expect(state.ticks.size).toBe(0);
  });
});

describe('pages', () => {
  test('tell their heap; without the interfaces they tell nothing', () => {
    const performance = { now: () => 0, memory: { usedJSHeapSize: 77 } };
    expect(meterPage({ performance }).read().values).toMatchObject({ heap_bytes: 77 });
    expect(meterPage({ performance: { now: () => 0 } }).read().values).not.toHaveProperty(
      'heap_bytes',
    );
  });

  test('measure their memory where they are isolated', async () => {
    const performance = {
      now: () => 0,
      measureUserAgentSpecificMemory: () => Promise.resolve({ bytes: 123 }),
    };
    expect(pageMemory({ performance })).toBeUndefined();
    expect(await pageMemory({ performance, crossOriginIsolated: true })?.()).toBe(123);
  });
});

test('a device is as it was after the watch, and its methods are called as its own', () => {
  class Device {
    made = 0;
    createBuffer({ size }: { readonly size: number }): { size: number; destroy: () => void } {
      this.made++;
      return { size, destroy: () => undefined };
    }
  }
  const device = new Device();
  const watch = watchDevice(device);
  device.createBuffer({ size: 8 });
  expect([device.made, watch.bytes()]).toEqual([1, 8]);
  watch.close();
  expect(Object.hasOwn(device, 'createBuffer')).toBe(false);
  device.createBuffer({ size: 8 });
  expect(watch.bytes()).toBe(8);
});
