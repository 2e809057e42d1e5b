/** Work ahead of the first probe, in turns of the event loop of its own: code that has not run yet is compiled when it first does. */
import { nextTask } from '../../base/next-task.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { cosineBetween, findChange, findNumbers } from '../../kernel/tensor/summaries.ts';

/** Elements, and how often: after that an engine has compiled what a probe calls. A turn takes well below a millisecond. */
const LENGTH = 4096;
const TURNS = 12;

/** Computes what probes compute, of numbers that nobody wants, until `isOver` says so. Never rejects. */
export async function warmUp(kernel: Kernel, isOver: () => boolean): Promise<void> {
  const first = Float32Array.from({ length: LENGTH }, (_, i) => (i % 61) - 30.5);
  const second = first.map((value) => value * 0.75);
  const tensor = { shape: [LENGTH / 64, 64], dtype: 'float32' };
  const histogram = { bins: 16, maxValues: LENGTH };
  const request = { epsilon: 1e-6, threshold: 0.9, unitAxis: 1, histogram };
  try {
    for (let turn = 0; turn < TURNS && !isOver(); turn++) {
      if (turn % 2 === 0) findNumbers(kernel, first, tensor, request);
      else {
        findChange(kernel, second, first, { ...request, unitAxis: null });
        cosineBetween(kernel, first, second);
      }
      await nextTask(); // oxlint-disable-line no-await-in-loop -- a turn for each
    }
  } catch {
    // A probe will tell what is wrong.
  }
}
