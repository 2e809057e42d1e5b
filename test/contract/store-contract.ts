/**
 * What every store has to do, as one suite: a test file per store calls {@link describeStore} with a way to open that
 * store.
 */
import { afterEach, beforeEach, describe } from 'vitest';
import type { NewSegment, SegmentFilter, SegmentManifest, Store } from '../../src/store/store.ts';
import { RUN_ID, runOf } from '../support/segments.ts';
import { describeAppends } from './store-appends.ts';
import { describeChanges } from './store-changes.ts';
import { describeDeletion } from './store-deletion.ts';
import { describeMerges } from './store-merges.ts';
import { describeNotes } from './store-notes.ts';
import { describeLocations } from './store-locations.ts';
import { describeProjects } from './store-projects.ts';
import { describeRowDeletion } from './store-rows.ts';
import { describeRuns } from './store-runs.ts';
import { describeEpochs } from './store-epochs.ts';
import { describeFencing } from './store-fencing.ts';
import { describeSweeps } from './store-sweeps.ts';

/** A place that stores can be opened on, as often as wanted. */
export type TestLocation = {
  /** Another store on the same place. Its clock is the one given to the maker. */
  open(): Promise<Store>;
  /** Overwrites or cuts the kept bytes of a segment behind the store's back, where the place has a way to. */
  damage?(segment: SegmentManifest): Promise<void>;
  /** How many bytes of segments lie there of a run, whatever state it is in, where the location has a way to tell. */
  countBytes?(runId: string): Promise<number>;
  /** Removes the place. All stores on it are closed by then. */
  remove(): Promise<void>;
};

/** Makes an empty place. Stores on it ask `clock` for the time. */
export type LocationMaker = (clock: { now(): number }) => Promise<TestLocation>;

/** The place of the running test, with one store open on it and one run in that. */
export class LocationUnderTest {
  readonly clock = {
    nowMs: 0,
    now(): number {
      return this.nowMs;
    },
  };
  readonly #opened: Store[] = [];
  #place: TestLocation | undefined;
  #store: Store | undefined;

  /** The store under test. */
  get store(): Store {
    if (this.#store === undefined) throw new Error('There is no store yet.');
    return this.#store;
  }

  get damage(): TestLocation['damage'] {
    return this.#place?.damage?.bind(this.#place);
  }

  get countBytes(): TestLocation['countBytes'] {
    return this.#place?.countBytes?.bind(this.#place);
  }

  async set(makePlace: LocationMaker): Promise<void> {
    this.clock.nowMs = 1_700_000_000_000;
    this.#place = await makePlace(this.clock);
    this.#store = await this.openAnother();
    await this.store.createRun(runOf());
  }

  async clear(): Promise<void> {
    for (const store of this.#opened.splice(0)) await store.close();
    await this.#place?.remove();
  }

  /** A second store on the same place. */
  async openAnother(): Promise<Store> {
    if (this.#place === undefined) throw new Error('There is no place yet.');
    const store = await this.#place.open();
    this.#opened.push(store);
    return store;
  }

  /** Closes the store under test and opens the place again. */
  async reopen(): Promise<void> {
    await this.store.close();
    this.#store = await this.openAnother();
  }

  list(filter: Partial<SegmentFilter> = {}): Promise<readonly SegmentManifest[]> {
    return this.store.listSegments({ runId: RUN_ID, table: 'metrics', ...filter });
  }

  append(...segments: NewSegment[]): Promise<readonly SegmentManifest[]> {
    return this.store.appendSegments(segments);
  }
}

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
  describe(name, () => {
    const place = new LocationUnderTest();
    beforeEach(() => place.set(makePlace));
    afterEach(() => place.clear());

    describeMerges(place);
    describeLocations(place);
    describeRowDeletion(place);
    if (options.sweeps !== false) describeSweeps(place);
    if (options.onlyBytes === true) return;
    describeRuns(place);
    describeAppends(place);
    describeFencing(place);
    describeDeletion(place);
    describeProjects(place);
    if (options.serves !== false) describeEpochs(place);
    if (options.hasNotes === true) describeNotes(place);
    if (options.hasNotes === true && options.serves !== false) describeChanges(place);
  });
}
