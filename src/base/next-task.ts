/**
 * After whatever else is waiting. Not a timer where there is something else: browsers make those of a busy page wait for 4 ms and more.
 * An earlier workerd, and environments of tests, have timers only.
 */
export function nextTask(): Promise<void> {
  return new Promise((resolve) => {
    if (typeof setImmediate === 'function') setImmediate(resolve);
    else if (typeof MessageChannel === 'undefined') setTimeout(resolve, 0);
    else {
      const { port1, port2 } = new MessageChannel();
      const done = (): void => {
        port1.close();
        resolve();
      };
      port1.addEventListener('message', done, { once: true });
      port1.start();
      port2.postMessage(null);
    }
  });
}
