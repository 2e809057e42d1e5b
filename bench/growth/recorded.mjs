// A run of many rows, recorded as a program does that has a turn of the event loop after each flush; and the time of a thread.
import { readFileSync } from 'node:fs';
import { nextTurn } from './turns.mjs';

/** Records `rows` rows of `keys` metrics in turn, flushed every `flushRows`. Returns the session, which goes on. */
export async function recordRows(
  session,
  { MetricsLogger },
  { rows, keys = 20, flushRows = 10_000 },
) {
  const names = Array.from({ length: keys }, (_, i) => `group${i % 4}/metric_${i}`);
  const metrics = new MetricsLogger(session, { batchSize: flushRows });
  let s = 5;
  for (let i = 0; i < rows;) {
    for (const end = Math.min(rows, i + flushRows); i < end; i++) {
      s = (s * 16807) % 2147483647;
      const value = 2 * Math.exp(-i / rows) + (s / 2147483647) * 0.1;
      metrics.log(names[i % keys], value, { step: Math.floor(i / keys) });
    }
    await session.flush();
    await nextTurn();
  }
}

/** Processor time of the main thread in milliseconds; of Linux alone. */
export function threadMs() {
  const text = readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'latin1');
  return Number(text.slice(0, text.indexOf(' '))) / 1e6;
}

/** The longest time that the thread worked between two turns of the event loop, while `work` went on. */
export async function longestSlice(work) {
  const state = { isOver: false, longest: 0 };
  const watching = (async () => {
    let last = threadMs();
    while (!state.isOver) {
      await nextTurn();
      const now = threadMs();
      state.longest = Math.max(state.longest, now - last);
      last = now;
    }
  })();
  try {
    await work();
  } finally {
    state.isOver = true;
    await watching;
  }
  return state.longest;
}

/** The median of some rounds in milliseconds, by the clock unless another is given. */
export async function timed(work, rounds = 5, now = () => performance.now()) {
  const times = [];
  for (let round = 0; round < rounds; round++) {
    const before = now();
    await work();
    times.push(now() - before);
  }
  return times.toSorted((a, b) => a - b)[rounds >> 1];
}
