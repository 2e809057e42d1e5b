/** The functions of whatever runs the tests, as the parts of the suite call them. */
export { expect } from './expect.ts';

/** Registers a test, and those of a list. */
type RegisterTest = ((name: string, body: () => Promise<void> | void) => void) & {
  /** One test for each value; `%i` in the name is the value. */
  each<T>(values: readonly T[]): (name: string, body: (value: T) => Promise<void> | void) => void;
};

/**
 * What runs the tests: the functions of these names of `vitest`, of `node:test`, or of Jest. Of a runner with other names, functions that do
 * the same.
 */
export type SuiteTools = {
  readonly describe: (name: string, body: () => void) => unknown;
  readonly test: (name: string, body: () => Promise<void>) => unknown;
  readonly beforeEach: (body: () => Promise<void>) => unknown;
  readonly afterEach: (body: () => Promise<void>) => unknown;
};

let tools: SuiteTools | undefined;

/** Registers what `body` registers with these functions. */
export function withTools(given: SuiteTools, body: () => void): void {
  // Groups lie in each other, where the runner calls their bodies at once.
  const outer = tools;
  tools = given;
  try {
    body();
  } finally {
    tools = outer;
  }
}

function current(): SuiteTools {
  if (tools === undefined) throw new Error('Tests of stores are registered by testStore().');
  return tools;
}

/** A group of tests. */
export function describe(name: string, body: () => void): void {
  const given = current();
  // Runners may call the body later.
  given.describe(name, () => withTools(given, body));
}

/** A test. */
export const test: RegisterTest = Object.assign(
  (name: string, body: () => Promise<void> | void): void => {
    current().test(name, async () => {
      await body();
    });
  },
  {
    each:
      <T>(values: readonly T[]) =>
      (name: string, body: (value: T) => Promise<void> | void): void => {
        for (const value of values) test(name.replace('%i', String(value)), () => body(value));
      },
  },
);
