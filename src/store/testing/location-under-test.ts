/** A location that stores are opened on, and the store under test. */
import { invalidInput } from '../../base/errors.ts';
import type { NewSegment, SegmentFilter, SegmentManifest, Store } from '../store.ts';
import { RUN_ID, runOf } from './segments.ts';

/** A location that stores can be opened on, as often as wanted. */
export type TestLocation = {
  /** Another store on the same location. Its clock is the one given to the maker. */
  open(): Promise<Store>;
  /** Overwrites or cuts the stored bytes of a segment behind the store's back, where the location has a way to. */
  damage?(segment: SegmentManifest): Promise<void>;
  /** How many bytes of segments lie there of a run, whatever state it is in, where the location has a way to tell. */
  countBytes?(runId: string): Promise<number>;
  /** Removes the location. All stores on it are closed by then. */
  remove(): Promise<void>;
};

/** Makes an empty location. Stores on it ask `clock` for the time. */
export type LocationMaker = (clock: { now(): number }) => Promise<TestLocation>;

/** The location of the running test, with one store open on it and one run in that. */
export class LocationUnderTest {
  readonly clock = {
    nowMs: 0,
    now(): number {
      return this.nowMs;
    },
  };
  readonly #opened: Store[] = [];
  #location: TestLocation | undefined;
  #store: Store | undefined;

  /** The store under test. */
  get store(): Store {
    if (this.#store === undefined) throw new Error('There is no store yet.');
    return this.#store;
  }

  get damage(): TestLocation['damage'] {
    return this.#location?.damage?.bind(this.#location);
  }

  get countBytes(): TestLocation['countBytes'] {
    return this.#location?.countBytes?.bind(this.#location);
  }

  async set(makePlace: LocationMaker): Promise<void> {
    this.clock.nowMs = 1_700_000_000_000;
    this.#location = checkLocation(await makePlace(this.clock));
    this.#store = await this.openAnother();
    await this.store.createRun(runOf());
  }

  async clear(): Promise<void> {
    for (const store of this.#opened.splice(0)) await store.close();
    await this.#location?.remove();
  }

  /** A second store on the same location. */
  async openAnother(): Promise<Store> {
    if (this.#location === undefined) throw new Error('There is no location yet.');
    const store = await this.#location.open();
    this.#opened.push(store);
    return store;
  }

  /** Closes the store under test and opens the location again. */
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

/** @throws {QuarkError} `invalid_input` where what the maker gave is no location */
function checkLocation(made: TestLocation): TestLocation {
  if (typeof made?.open !== 'function' || typeof made.remove !== 'function')
    throw invalidInput(
      'makeLocation',
      made,
      'a function whose promise gives { open, remove }: open() opens a store on the location, remove() deletes the location',
    );
  return made;
}
