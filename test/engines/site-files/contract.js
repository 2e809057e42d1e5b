// The contract of stores, of the package, on files of this browser: what failed, and how many tests there were.
const { openStorage } = await import('/sdk/index.js');
const { testStore } = await import('/sdk/store/testing.js');

const TEST_MS = 60_000;

/** Runs the tests that `declare` registers, one after the other. */
export async function runTests(declare) {
  const failed = [];
  const hooks = { before: [], after: [] };
  const tests = [];
  const names = [];
  declare({
    describe(name, body) {
      names.push(name);
      body();
      names.pop();
    },
    test: (name, body) => tests.push({ name: [...names, name].join(', '), body }),
    beforeEach: (hook) => hooks.before.push(hook),
    afterEach: (hook) => hooks.after.push(hook),
  });
  for (const { body, name } of tests)
    try {
      await inTime(async () => {
        try {
          for (const hook of hooks.before) await hook();
          await body();
        } finally {
          for (const hook of hooks.after) await hook();
        }
      });
    } catch (error) {
      failed.push(`${name}: ${String(error).split('\n')[0]}`);
    }
  return { count: tests.length, failed };
}

/** The contract of `opfs:`, in folders of its own; what is `lacking` where the browser has no such files. */
export async function testFiles() {
  let next = 0;
  try {
    await (await openStorage('opfs:contract')).close();
  } catch (error) {
    if (error.code === 'unsupported') return { lacking: error.details.lacking };
    throw error;
  }
  const makeLocation = async (clock) => {
    const name = `contract-${next++}`;
    return {
      open: () => openStorage(`opfs:${name}`, { clock }),
      async remove() {
        const root = await navigator.storage.getDirectory();
        const stores = await root.getDirectoryHandle('quark-sdk');
        await stores.removeEntry(name, { recursive: true });
      },
    };
  };
  return runTests((runner) =>
    testStore(runner, 'opfs', makeLocation, { hasNotes: true, serves: false }),
  );
}

function inTime(work) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('It did not end in time.')), TEST_MS);
    work()
      .then(resolve, reject)
      .finally(() => clearTimeout(timer));
  });
}
