/** The template of a store in examples/ passes the suite, under this runner and under that of Node. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Store } from '../../src/store/store.ts';
import {
  LocationUnderTest,
  type LocationMaker,
} from '../../src/store/testing/location-under-test.ts';
import { testStore } from '../../src/store-testing.ts';
import { describeFollowing } from './store-following.ts';

vi.stubEnv('QUARK_EXAMPLE', 'import');
type OpenJournal = (uri: string, options: object) => Promise<Store>;
const file = new URL('../../examples/own-store.mjs', import.meta.url).href;
const { openJournal } = (await import(/* @vite-ignore */ file)) as { openJournal: OpenJournal };
vi.unstubAllEnvs();

const makeLocation: LocationMaker = async (clock) => {
  const folder = await mkdtemp(join(tmpdir(), 'quark-journal-'));
  return {
    open: () => openJournal(`journal:${folder}/journal.jsonl`, { clock }),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
};

testStore({ describe, test, beforeEach, afterEach }, 'journal', makeLocation);

// By the contract alone: it tells nobody of new rows, and has no notes.
describe('journal', () => {
  const location = new LocationUnderTest();
  beforeEach(() => location.set(makeLocation));
  afterEach(() => location.clear());
  describeFollowing(location);
});

test('the example is the one that the tests run', () => {
  expect(openJournal).toBeTypeOf('function');
});
