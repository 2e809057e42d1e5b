// Trainings with probes between stretches without: works in Node and in a page.

export const quantile = (list, share) => {
  const sorted = list.toSorted((a, b) => a - b);
  const at = (sorted.length - 1) * share;
  const low = sorted[Math.floor(at)] ?? Number.NaN;
  return low + ((sorted[Math.ceil(at)] ?? low) - low) * (at % 1);
};
export const median = (list) => quantile(list, 0.5);

/** Lets the other tasks of the thread run, which a page or a data loader would do between steps. */
export const nextTask =
  typeof setImmediate === 'function'
    ? () => new Promise((resolve) => setImmediate(resolve))
    : () =>
        new Promise((resolve) => {
          const { port1, port2 } = new MessageChannel();
          port1.addEventListener('message', () => {
            port1.close();
            resolve();
          });
          port1.start();
          port2.postMessage(null);
        });

const processorMs = () => {
  if (typeof process === 'undefined') return Number.NaN;
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

async function timed(training, steps) {
  const began = performance.now();
  const processorBegan = processorMs();
  await training.train(steps);
  return {
    wall: (performance.now() - began) / steps,
    processor: (processorMs() - processorBegan) / steps,
  };
}

/**
 * Rounds of: without, with the first variant, without, with the second, ... Each stretch with probes is compared with the
 * two around it, so that what slows the machine down for a while slows down both.
 *
 * @param plain `{ train(steps) }`
 * @param variants `[{ name, every, target, training: { train(steps), skipped() } }]`
 * @returns a row for each variant
 */
export async function compare({ plain, variants, steps, seconds, minRounds = 3, maxRounds = 40 }) {
  const found = variants.map(() => ({ wall: [], processor: [], ownMs: [] }));
  const plainMs = [];
  const whole = (variant) => Math.ceil(steps / variant.every) * variant.every;
  // Twice without counting: the first probes run code that is not compiled yet, and shaders that are not.
  await plain.train(steps);
  for (const { training, every } of variants) await training.train(Math.max(every, 2));
  const until = performance.now() + seconds * 1000;
  let rounds = 0;
  for (; rounds < maxRounds && (rounds < minRounds || performance.now() < until); rounds += 1) {
    let before = await timed(plain, steps);
    for (const [i, variant] of variants.entries()) {
      const own = await timed(variant.training, whole(variant));
      const after = await timed(plain, steps);
      found[i].wall.push((200 * own.wall) / (before.wall + after.wall) - 100);
      found[i].ownMs.push(own.wall);
      found[i].processor.push((200 * own.processor) / (before.processor + after.processor) - 100);
      plainMs.push(after.wall);
      before = after;
    }
  }
  const stepMs = median(plainMs);
  return variants.map(({ name, target, training }, i) => ({
    variant: name,
    target,
    stepMs,
    percent: median(found[i].wall),
    leastPercent: 100 * (Math.min(...found[i].ownMs) / Math.min(...plainMs) - 1),
    percentQuartiles: [quantile(found[i].wall, 0.25), quantile(found[i].wall, 0.75)],
    processorPercent: Number.isNaN(found[i].processor[0]) ? null : median(found[i].processor),
    skipped: training.skipped(),
    rounds,
  }));
}

/**
 * How long a probe keeps the thread from everything else, beyond the step, from a training of its own: its clocks cost more
 * than much of what they measure.
 *
 * @param training `{ train(steps), blocks }`, `blocks` being the times so far
 */
export async function measureBlocks(training, every, probes = 30, seconds = 2) {
  const until = performance.now() + seconds * 1000;
  // Four at the least: on a slow machine the time may be over with the first.
  for (let i = 0; i < probes && (i < 4 || performance.now() < until); i += 1)
    await training.train(every);
  const [first, ...blocks] = training.blocks;
  return {
    firstBlockMs: first,
    blockMs: median(blocks),
    blockP95Ms: quantile(blocks, 0.95),
    probes: blocks.length,
  };
}

/**
 * The time of the thread that is a probe's and not the step's. `source` is the source with a clock around all that is handed
 * over in a step; `run` times calls around it. After a probed step `settle` looks for the longest time in which no other task
 * could run, until the probe has told all it had to.
 */
export function stopwatch(source) {
  let spentMs = 0;
  const run = (work) => {
    const began = performance.now();
    try {
      return work();
    } finally {
      spentMs += performance.now() - began;
    }
  };
  // What the engines see: the source itself, with its watches timed. Flags are read through.
  const timedWatch = (watch, names) =>
    new Proxy(watch, {
      get(target, name) {
        const value = target[name];
        return names.includes(name) ? (...args) => run(() => value(...args)) : value;
      },
    });
  const timedSource = new Proxy(source, {
    get(target, name) {
      const value = target[name];
      if (typeof value !== 'function') return value;
      if (name === 'watchLayers')
        return (watch) => target.watchLayers(timedWatch(watch, ['beginCall', 'capture']));
      if (name === 'watchParameters')
        return (watch) => target.watchParameters(timedWatch(watch, ['changed']));
      return value.bind(target);
    },
  });
  return {
    source: timedSource,
    run,
    take() {
      const ms = spentMs;
      spentMs = 0;
      return ms;
    },
  };
}

/** The longest time between two tasks until `isDone`, in milliseconds. */
export async function longestGap(isDone) {
  let longest = 0;
  for (let last = performance.now(); !isDone();) {
    await nextTask();
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
  }
  return longest;
}

/** A stopwatch that does not run. */
export const untimed = (source) => ({ source, run: (work) => work(), take: () => 0 });
