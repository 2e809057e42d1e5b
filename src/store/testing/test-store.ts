/** The contract of stores as a suite of tests, for the author of a store. */
import { LocationUnderTest, type LocationMaker } from './location-under-test.ts';
import { describeAppends } from './store-appends.ts';
import { describeChanges } from './store-changes.ts';
import { describeDeletion } from './store-deletion.ts';
import { describeEpochs } from './store-epochs.ts';
import { describeFencing } from './store-fencing.ts';
import { describeLocations } from './store-locations.ts';
import { describeMerges } from './store-merges.ts';
import { describeNotes } from './store-notes.ts';
import { describeRuns } from './store-runs.ts';
import { withTools, type SuiteTools } from './suite-tools.ts';

/** Which of the optional parts a store has. */
export type StoreFacets = {
  /** Whether it has `notes`. Default false. */
  readonly hasNotes?: boolean | undefined;
  /** Whether a service can be made of it: `listStreams`, `listRunChanges`, `identity` and the like. Default true. */
  readonly serves?: boolean | undefined;
  /** True: only what has to do with where bytes lie, for a store that differs from a tested one in that alone. Default false. */
  readonly onlyBytes?: boolean | undefined;
};

/**
 * Registers the tests that every store has to pass, in a group of this name. Each test has an empty location of its own.
 *
 * @param tools `describe`, `test`, `beforeEach` and `afterEach` of what runs the tests
 * @param makeLocation makes an empty location; its stores ask `clock` for the time
 * @example
 * ```js
 * import * as tools from 'node:test'; // or describe, test, beforeEach and afterEach of vitest, Jest, ...
 * import { openStorage } from 'quark-sdk';
 * import { testStore } from 'quark-sdk/store/testing';
 *
 * let count = 0;
 * testStore(tools, 'my store', async (clock) => {
 *   const uri = `memory:location-${count++}`; // a location of its own for each test
 *   return { open: () => openStorage(uri, { clock }), remove: async () => {} };
 * }, { serves: false });
 * console.log('registered'); // registered
 * ```
 */
export function testStore(
  tools: SuiteTools,
  name: string,
  makeLocation: LocationMaker,
  facets: StoreFacets = {},
): void {
  tools.describe(name, () => {
    const location = new LocationUnderTest();
    tools.beforeEach(() => location.set(makeLocation));
    tools.afterEach(() => location.clear());
    withTools(tools, () => {
      describeMerges(location);
      describeLocations(location);
      if (facets.onlyBytes === true) return;
      describeRuns(location);
      describeAppends(location);
      describeFencing(location);
      describeDeletion(location);
      if (facets.serves !== false) describeEpochs(location);
      if (facets.hasNotes === true) describeNotes(location);
      if (facets.hasNotes === true && facets.serves !== false) describeChanges(location);
    });
  });
}
