/**
 * What every store has to do, as one suite: a test file per store calls {@link describeStore} with a way to open that store. Most of it
 * is public, as `quark-sdk/store/testing`; what is here besides asks through readers.
 */
import { afterEach, beforeEach, describe, test } from 'vitest';
import {
  LocationUnderTest,
  type LocationMaker,
} from '../../src/store/testing/location-under-test.ts';
import { testStore } from '../../src/store/testing/test-store.ts';
import { describeDocuments } from './store-documents.ts';
import { describeProjects } from './store-projects.ts';
import { describeRowDeletion } from './store-rows.ts';
import { describeFinding } from './store-finding.ts';
import { describeFollowing } from './store-following.ts';
import { describeTables } from './store-tables.ts';
import { describeSweeps } from './store-sweeps.ts';

/** The suite. `hasNotes` for stores at hand; `serves` false for stores that no service is made of. */
export function describeStore(
  name: string,
  makePlace: LocationMaker,
  options: {
    readonly hasNotes?: boolean;
    readonly serves?: boolean;
    /** True: only what has to do with where bytes lie. */
    readonly onlyBytes?: boolean;
    /** False for stores that remove no blobs: those behind a network. Default true. */
    readonly sweeps?: boolean;
  } = {},
): void {
  const { sweeps, ...facets } = options;
  testStore({ describe, test, beforeEach, afterEach }, name, makePlace, facets);
  describe(name, () => {
    const place = new LocationUnderTest();
    beforeEach(() => place.set(makePlace));
    afterEach(() => place.clear());

    describeRowDeletion(place);
    if (sweeps !== false) describeSweeps(place);
    if (options.onlyBytes === true) return;
    describeProjects(place);
    describeDocuments(place);
    describeFinding(place);
    describeFollowing(place);
    describeTables(place);
  });
}
