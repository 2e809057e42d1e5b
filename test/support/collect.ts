/** The garbage collector, for tests that measure memory or wait for files that collected statements close. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Lets go of files of databases that were closed: the driver does so when their statements are collected. */
export async function collect(): Promise<void> {
  setFlagsFromString('--expose-gc');
  const gc: unknown = runInNewContext('gc');
  for (let i = 0; i < 3; i++) {
    if (typeof gc === 'function') gc();
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
}
