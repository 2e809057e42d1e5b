// A clock that does not run while this process waits for a core: processor time of the process, and what it slept on purpose. With
// it a step takes as long as on a machine that does nothing else, whatever else runs; storage that makes the process wait counts
// for nothing, either.
//
// Threads that collect garbage or compile count as well, although they may run beside the main one: a pause counts at its dearest.

let sleptMs = 0;
const beganAtMs = Date.now();
const began = process.cpuUsage();

function ownMs() {
  const { user, system } = process.cpuUsage(began);
  return (user + system) / 1000 + sleptMs;
}

/** Puts the clock in place of `performance.now` in the whole process: before anything measures. */
export function useOwnClock() {
  performance.now = ownMs;
}

/** For the time stamps of a session: began when the process did, and runs at the rate of {@link ownMs}. */
export const ownClock = {
  now: () => Math.floor(beganAtMs + ownMs()),
  after(delayMs, callback) {
    const timer = setTimeout(() => callback(), Math.min(delayMs, 2 ** 31 - 1)).unref();
    return () => clearTimeout(timer);
  },
};

/** Waits, and counts exactly what was asked for: a timer that fires late because the cores are taken does not show. */
export function sleep(ms) {
  return new Promise((resolve) => {
    setTimeout(() => {
      sleptMs += ms;
      resolve();
    }, ms);
  });
}

/** Keeps the thread busy. */
export function block(ms) {
  const until = ownMs() + ms;
  while (ownMs() < until);
}
