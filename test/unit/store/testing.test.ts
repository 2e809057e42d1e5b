/** The suite for authors of stores: what it expects, and that it fails for stores that break a promise. */
import fc from 'fast-check';
import { describe, expect as expectOf, it } from 'vitest';
import { createMemoryStore } from '../../../src/store/memory/memory-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { expect } from '../../../src/store/testing/expect.ts';
import { testStore } from '../../../src/store-testing.ts';
import { runs } from '../../support/property.ts';

const holds = (check: () => unknown): boolean => {
  try {
    check();
    return true;
  } catch {
    return false;
  }
};

it('says what a maker of locations has to give', async () => {
  let prepare: (() => unknown) | undefined;
  const run = { describe: (_name: string, body: () => void) => body(), test: () => undefined };
  const tools = {
    ...run,
    beforeEach: (body: () => unknown) => (prepare ??= body),
    afterEach: () => undefined,
  };
  // @ts-expect-error a location has open and remove
  testStore(tools, 'mine', async () => ({ uri: 'mine:x' }));
  await expectOf(Promise.resolve().then(() => prepare?.())).rejects.toMatchObject({
    code: 'invalid_input',
    message: expectOf.stringContaining('{ open, remove }') as unknown,
  });
});

describe('expectations', () => {
  it('agree with those of vitest about any two values', () => {
    const value = fc.letrec((tie) => ({
      any: fc.oneof(
        { maxDepth: 3 },
        fc.constantFrom(undefined, null, 0, -0, 1, Number.NaN, '', 'a', true),
        fc.array(tie('any'), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('any'), { maxKeys: 3 }),
        fc.uint8Array({ maxLength: 3 }),
      ),
    })).any;
    fc.assert(
      fc.property(value, value, (a, b) => {
        for (const [one, other] of [
          [a, b],
          [a, structuredClone(a)],
          [[a], [b]],
        ]) {
          expectOf(holds(() => expect(one).toEqual(other))).toBe(
            holds(() => expectOf(one).toEqual(other)),
          );
          expectOf(holds(() => expect(one).toBe(other))).toBe(
            holds(() => expectOf(one).toBe(other)),
          );
        }
      }),
      runs(500),
    );
  });

  it('say what differs', () => {
    expectOf(() => expect({ a: 1 }, 'rows').toMatchObject({ a: 2 })).toThrow(
      'rows: Expected to match {"a":2}; got {"a":1}.',
    );
    expectOf(() => expect(() => undefined).toThrow('closed')).toThrow('Expected to throw "closed"');
    expectOf(() => expect([1]).not.toContain(1)).toThrow('Expected not to contain 1');
  });

  it('of a rejection fail where the promise resolves', async () => {
    await expectOf(expect(Promise.resolve(1)).rejects.toMatchObject({})).rejects.toThrow(
      'Expected a promise to reject; it resolved with 1.',
    );
    await expect(Promise.reject(new TypeError('no'))).rejects.toMatchObject({ message: 'no' });
    await expect(Promise.reject(new TypeError('no'))).rejects.toThrow('n');
  });
});

/** Runs the suite on a store, and gives the names of the tests that failed. */
async function failuresOf(change: (store: Store) => Partial<Store>): Promise<readonly string[]> {
  const tests: (readonly [name: string, body: () => Promise<void>])[] = [];
  const before: (() => Promise<void>)[] = [];
  const after: (() => Promise<void>)[] = [];
  testStore(
    {
      describe: (_name, body) => body(),
      test: (name, body) => tests.push([name, body]),
      beforeEach: (body) => before.push(body),
      afterEach: (body) => after.push(body),
    },
    'a store',
    async (clock) => {
      const store = createMemoryStore({ clock });
      const own = change(store);
      const open = async (): Promise<Store> =>
        new Proxy(store, {
          get: (_, name): unknown => {
            if (name === 'close') return () => Promise.resolve();
            if (Object.hasOwn(own, name)) return Reflect.get(own, name);
            const value: unknown = Reflect.get(store, name, store);
            return typeof value === 'function' ? value.bind(store) : value;
          },
        });
      return { open, remove: async () => undefined };
    },
  );
  const failed: string[] = [];
  for (const [name, body] of tests) {
    for (const one of before) await one();
    await body().catch(() => failed.push(name));
    for (const one of after) await one();
  }
  expectOf(tests.length).toBeGreaterThan(80);
  return failed;
}

describe('the suite', () => {
  it('finds what breaks the contract', async () => {
    const whole = await failuresOf(() => ({}));
    // These stores share one object, which is never closed.
    expectOf(whole).toHaveLength(1);
    const broken: readonly ((store: Store) => Partial<Store>)[] = [
      (store) => ({ appendSegments: (segments) => store.appendSegments(segments.slice(0, 1)) }),
      (store) => ({ appendSegments: (segments) => store.appendSegments(segments) }),
      (store) => ({
        updateRun: async (run) => ({ kind: 'updated', run: await unchanged(store, run.id) }),
      }),
      (store) => ({
        listSegments: async (filter) => (await store.listSegments(filter)).toReversed(),
      }),
      (store) => ({ replaceSegments: async () => true, getBlob: (hash) => store.getBlob(hash) }),
      () => ({ renewLease: async () => ({ runId: 'run_1', holder: 'a', expiresAtMs: 0 }) }),
      () => ({
        deleteRun: async (id) => ({ id, projectName: 'digits', deletedAtMs: 1, purgeAtMs: 2 }),
      }),
    ];
    for (const change of broken) {
      const failed = await failuresOf(change);
      expectOf(failed.length, String(change)).toBeGreaterThan(whole.length);
    }
  });
});

async function unchanged(
  store: Store,
  runId: string,
): Promise<NonNullable<Awaited<ReturnType<Store['findRun']>>>> {
  const run = await store.findRun(runId);
  if (run === undefined) throw new Error('The run is gone.');
  return run;
}
