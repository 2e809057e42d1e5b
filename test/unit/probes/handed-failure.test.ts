/** A failure of what was handed over is told by the probe that it belongs to, whoever polled. */
import { expect, it } from 'vitest';
import type { KernelAccess } from '../../../src/instruments/probes/shared-kernels.ts';
import { ProbeWork } from '../../../src/instruments/probes/probe-work.ts';
import { jsKernel } from '../../../src/kernel/tensor/js-kernel.ts';
import { ArraySource } from '../../support/array-source.ts';

const request = { epsilon: 0, threshold: null, unitAxis: null, histogram: null };

it('throws where its part failed while another probe polled', () => {
  const failures: ((error: unknown) => void)[] = [];
  let isDone = false;
  const steps = {
    open: (failed: (error: unknown) => void) => {
      failures.push(failed);
      return {
        summarize: () => true,
        publish: () => undefined,
        drop: () => undefined,
        get isComplete() {
          return isDone;
        },
      };
    },
    poll: () => {
      isDone = true;
      failures[0]?.(new Error('the kernel failed'));
    },
  };
  // A probe asks these members alone of its kernels, and of the way to the workers.
  const kernels = {
    inline: jsKernel,
    isLoaded: true,
    isReady: true,
    steps,
  } as unknown as KernelAccess;
  const source = new ArraySource([], []);
  const probes = [0, 1].map(() => new ProbeWork(kernels, source, () => 0));
  for (const probe of probes) {
    probe.summarize(source.ref(Float32Array.of(1, 2), [2]), request, () => undefined);
    expect(probe.finish()).toBeUndefined();
  }
  const [first, second] = probes;
  second?.poll();
  expect(() => first?.poll()).toThrow('the kernel failed');
});
