// What handing a tensor to a worker costs its caller, against computing on the spot and against a copy of the same bytes into warm memory.
import { createKernels } from '../../src/kernel/tensor/kernels.ts';
import { handOverOf } from '../../src/kernel/tensor/step-hand-over.ts';
import { findChange, findNumbers } from '../../src/kernel/tensor/summaries.ts';
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

/** All that a probe can ask of 50 tensors of 20,480 values (4 MB): statistics, units, a histogram, and half of them as differences. */
async function step(bench) {
  const kernels = await createKernels({ inlineBytes: 0, workers: 1 });
  const transferring = await createKernels({ inlineBytes: 0, workers: 1, sharedMemory: false });
  const { inline } = kernels;
  const shape = [160, 128];
  const request = {
    epsilon: 0,
    threshold: null,
    unitAxis: 1,
    histogram: { bins: 64, maxValues: 100_000 },
  };
  const tensors = Array.from({ length: 50 }, (_, i) => {
    const data = Float32Array.from(normal(20_480, { seed: i + 1 }));
    return { data, shape, dtype: 'float32', source: data };
  });
  const isChange = (i) => i % 2 === 1;
  const ready = async (steps) => {
    for (;;) {
      const parts = steps.open(() => undefined);
      const isHanded = parts.summarize(tensors[0], request, () => undefined);
      parts.drop();
      if (isHanded) return steps;
      await new Promise((done) => setTimeout(done, 10));
    }
  };
  const blocked = (steps) => async () => {
    const answers = [];
    const done = (answer) => answers.push(answer);
    const began = performance.now();
    const parts = steps.open((error) => {
      throw error;
    });
    tensors.forEach((tensor, i) => {
      if (isChange(i)) parts.change(tensor, tensors[i - 1], { ...request, unitAxis: null }, done);
      else parts.summarize(tensor, request, done);
    });
    parts.publish();
    let ms = performance.now() - began;
    while (answers.length < tensors.length) {
      await new Promise((resolve) => setTimeout(resolve, 1));
      const polled = performance.now();
      steps.poll();
      ms += performance.now() - polled;
    }
    return { ms };
  };
  const ring = await ready(handOverOf(kernels));
  const transfers = await ready(handOverOf(transferring));
  const here = () => {
    tensors.forEach((tensor, i) => {
      if (isChange(i)) findChange(inline, tensor.data, tensors[i - 1].data, request);
      else findNumbers(inline, tensor.data, tensor, request);
    });
  };
  const shared = new Float32Array(new SharedArrayBuffer(50 * 20_480 * 6));
  const HERE = 'computed on the spot';
  await bench.report({
    title:
      'everything of a probed step, 50 tensors, 4 MB, 25 of them with the one before (6 MB copied)',
    amount: 50 * 20_480 * 4,
    unit: 'bytes',
    times: await measure(
      {
        [HERE]: here,
        'ring: blocked, with taking the answers': blocked(ring),
        'transferred: blocked, with taking the answers': blocked(transfers),
        'the copies alone, into warm shared memory': () => {
          let at = 0;
          tensors.forEach(({ data }, i) => {
            shared.set(data, at);
            at = (at + 20_480) % (shared.length - 20_480);
            if (isChange(i)) shared.set(data, at);
          });
        },
      },
      bench,
    ),
    reference: HERE,
    targets: [
      {
        what: 'share of the time on the spot, blocked',
        fast: HERE,
        slow: 'ring: blocked, with taking the answers',
        atMost: 0.34,
      },
      {
        what: 'share of the time on the spot, blocked',
        fast: HERE,
        slow: 'transferred: blocked, with taking the answers',
        atMost: 0.34,
      },
    ],
  });
  await kernels.close();
  await transferring.close();
}

export async function run(bench) {
  await step(bench);
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
