/** What every way to the kernels has to refuse, as one suite. Called by the kernel contract. */
import { describe, expect, test } from 'vitest';
import type { HistogramOptions, Kernel, TensorStatsOptions } from '../../src/kernel/kernel.ts';

/** A way to the kernels, synchronous or not. */
type RefusingKernel = {
  readonly [M in Exclude<keyof Kernel, 'kind' | 'uncheckedStats' | 'uncheckedHistogram'>]: (
    ...args: Parameters<Kernel[M]>
  ) => ReturnType<Kernel[M]> | Promise<ReturnType<Kernel[M]>>;
};

export function describeRefusals(kernel: () => RefusingKernel): void {
  describe('bad input', () => {
    test('refuses a tensor whose memory is gone, instead of taking it for an empty one', async () => {
      const empty = new Float32Array(0);
      const detached = new Float32Array(4);
      structuredClone(detached.buffer, { transfer: [detached.buffer] });
      const memory = Reflect.construct(ArrayBuffer, [32, { maxByteLength: 64 }]) as ArrayBuffer;
      const cutOff = new Float32Array(memory, 16, 4);
      Reflect.apply(Reflect.get(memory, 'resize') as () => void, memory, [16]);
      for (const gone of [detached, cutOff]) {
        const calls: readonly (readonly [() => unknown, string])[] = [
          [() => kernel().tensorStats(gone), 'data'],
          [() => kernel().histogram(gone), 'data'],
          [() => kernel().tensorUnitStats(gone, { units: 2 }), 'data'],
          [() => kernel().tensorPairStats(gone, empty), 'first'],
          [() => kernel().tensorPairStats(empty, gone), 'second'],
        ];
        for (const [call, field] of calls) {
          // oxlint-disable-next-line no-await-in-loop -- a failure names its call
          await expect((async () => call())()).rejects.toMatchObject({
            code: 'invalid_input',
            details: { field },
          });
        }
      }
      expect((await kernel().tensorStats(empty)).elementCount).toBe(0);
    });

    test('refuses what it cannot work with', async () => {
      const data = new Float32Array(4);
      const asked = async (work: () => unknown): Promise<unknown> => work();
      const wrong: readonly unknown[] = [
        [1, 2],
        undefined,
        null,
        'tensor',
        new ArrayBuffer(8),
        new Uint16Array(4),
        new BigInt64Array(2),
      ];
      for (const bad of wrong) {
        // oxlint-disable-next-line no-await-in-loop -- a failure names its value
        await expect(asked(() => kernel().tensorStats(bad as Float32Array))).rejects.toMatchObject({
          code: 'invalid_input',
          details: { field: 'data' },
        });
      }
      for (const type of [undefined, 'float32', 'half', 3]) {
        const options = { type } as TensorStatsOptions;
        // oxlint-disable-next-line no-await-in-loop -- a failure names its type
        await expect(
          asked(() => kernel().tensorStats(new Uint16Array(4), options)),
        ).rejects.toMatchObject({
          code: 'invalid_input',
          details: { field: type === undefined ? 'data' : 'type' },
        });
      }
      for (const [field, options] of [
        ['epsilon', { epsilon: -1 }],
        ['epsilon', { epsilon: Number.NaN }],
        ['threshold', { threshold: -0.5 }],
        ['threshold', { threshold: Infinity }],
        ['options.eps', { eps: 1 } as TensorStatsOptions],
        ['type', { type: 'float64' }],
        ['type', { type: 'float16' }],
      ] as const) {
        // oxlint-disable-next-line no-await-in-loop -- a failure names its option
        await expect(asked(() => kernel().tensorStats(data, options))).rejects.toMatchObject({
          code: 'invalid_input',
          details: { field },
        });
      }
      for (const [field, options] of [
        ['type', { type: 'bfloat16' }],
        ['bins', { bins: 0 }],
        ['bins', { bins: 1.5 }],
        ['bins', { bins: 65_537 }],
        ['range.min', { range: { min: Number.NaN, max: 1 } }],
        ['range.max', { range: { min: 0, max: Infinity } }],
        ['range.max', { range: { min: 1, max: 1 } }],
        ['range.max', { range: { min: 2, max: 1 } }],
        ['range.max', { range: { min: -1.7e308, max: 1.7e308 } }],
        ['range.step', { range: { min: 0, max: 1, step: 0.1 } } as HistogramOptions],
        ['range', { range: null } as unknown as HistogramOptions],
        [
          'magnitudes.base',
          { scale: 'log_magnitude', magnitudes: { min: 1, max: 4, base: 2 } } as HistogramOptions,
        ],
      ] as const) {
        // oxlint-disable-next-line no-await-in-loop -- a failure names its option
        await expect(asked(() => kernel().histogram(data, options))).rejects.toMatchObject({
          code: 'invalid_input',
          details: { field },
        });
      }
    });
  });
}
