// What handing a tensor to a worker costs its caller, against computing on the spot and against a copy of the same bytes into warm memory.
import { createKernels } from '../../src/kernel/tensor/kernels.ts';
import { measure, normal } from './support.mjs';

const COPY = 'copy into warm memory (limit)';
const INLINE = 'inline, whole call';

/** What the caller is blocked, and the time until the answer, of one way. */
function ways(name, kernels, tensor) {
  return {
    [`${name}: blocked`]: async () => {
      const began = performance.now();
      const pending = kernels.tensorStats(tensor);
      const ms = performance.now() - began;
      await pending;
      return { ms };
    },
    [`${name}: until the answer`]: async () => {
      const began = performance.now();
      await kernels.tensorStats(tensor);
      return { ms: performance.now() - began };
    },
  };
}

export async function run(bench) {
  const inline = await createKernels({ workers: 0 });
  const ring = await createKernels({ inlineBytes: 0, workers: 1 });
  const message = await createKernels({ inlineBytes: 0, workers: 1, sharedMemory: false });
  const measured = await createKernels({ workers: 1 });
  for (const [label, length] of [
    ['256 KB', 65_536],
    ['1 MB', 262_144],
    ['4 MB', 1_048_576],
    ['16 MB', 4_194_304],
    ['64 MB', 16_777_216],
  ]) {
    const tensor = Float32Array.from(normal(length));
    const warm = new Float32Array(length);
    const shared = new Float32Array(new SharedArrayBuffer(4 * length));
    const times = await measure(
      {
        [COPY]: () => warm.set(tensor),
        'copy into warm shared memory': () => shared.set(tensor),
        [INLINE]: () => inline.tensorStats(tensor),
        ...ways('ring', ring, tensor),
        ...ways('message', message, tensor),
        ...ways('as measured', measured, tensor),
      },
      bench,
    );
    const isLarge = length >= 262_144;
    await bench.report({
      title: `statistics of one float32 tensor handed over, ${label}`,
      amount: length * 4,
      unit: 'bytes',
      times,
      reference: INLINE,
      targets: isLarge
        ? [
            { what: 'times a copy, blocked', fast: COPY, slow: 'ring: blocked', atMost: 1.1 },
            {
              what: 'times inline, blocked',
              fast: INLINE,
              slow: 'as measured: blocked',
              atMost: 1,
            },
            {
              what: 'times inline, answered',
              fast: INLINE,
              slow: 'ring: until the answer',
              atMost: 2,
            },
          ]
        : [
            {
              what: 'times inline, blocked',
              fast: INLINE,
              slow: 'as measured: blocked',
              atMost: 1,
            },
          ],
    });
  }
  console.log('\nmeasured on this machine:', measured.diagnostics().handOver);
  for (const kernels of [inline, ring, message, measured]) await kernels.close();
}
