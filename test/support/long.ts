import { it, type TestOptions } from 'vitest';
import { isWhole } from './property.ts';

type Body = () => unknown;

/**
 * A test of more than one path of a feature. `npm test` does not register it, so that it stays quick; `npm run test:long`
 * runs it beside all the others. In a file whose name ends in ".long.test.ts" every test is one.
 */
export function longTest(name: string, options: TestOptions | Body, body?: Body | number): void {
  if (!isWhole) return;
  const register = it;
  if (typeof options !== 'function') {
    if (typeof body === 'function') register(name, options, body);
  } else register(name, options, typeof body === 'number' ? body : undefined);
}

/** All cases in `npm run test:long`, and the first `count` in `npm test`. */
export function casesOf<T>(all: readonly T[], count: number): readonly T[] {
  return isWhole ? all : all.slice(0, count);
}
