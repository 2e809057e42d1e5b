/** `quark-sdk/store/testing`: the contract of stores as tests, for the author of a store. Runs with any runner of tests. */
export { testStore, type StoreFacets } from './store/testing/test-store.ts';
export type { SuiteTools } from './store/testing/suite-tools.ts';
export type { LocationMaker, TestLocation } from './store/testing/location-under-test.ts';
