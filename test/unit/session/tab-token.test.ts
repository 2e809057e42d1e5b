/** What a tab remembers of its runs, and what a duplicated tab can do with it. */
import { expect, test } from 'vitest';
import { tabTokens } from '../../../src/session/platforms/tab-token.ts';
import { storageOf } from '../../support/local-storage.ts';

const URI = 'idb:quark';
const RUN = { runId: 'run_1', generation: 3 };
const CLAIM = { holder: 'ses_1', generation: 3, hasLeft: false };
const LEFT = { ...CLAIM, hasLeft: true };

test('the next page in the tab may take a run over once the page before has left', () => {
  const [storage, page] = [storageOf(), new EventTarget()];
  const tokens = tabTokens(storage, page);
  tokens.hold(URI, 'ses_1', RUN);
  expect(tokens.read(URI, 'run_1')).toEqual(CLAIM);
  page.dispatchEvent(new Event('pagehide'));
  expect(tokens.read(URI, 'run_1')).toEqual(LEFT);
  expect(tokens.read(URI, 'run_2')).toBeUndefined();
  expect(tokens.read('idb:other', 'run_1')).toBeUndefined();
  // It comes back from the back/forward cache.
  page.dispatchEvent(new Event('pageshow'));
  expect(tokens.read(URI, 'run_1')).toEqual(CLAIM);
});

test('a page that comes back leaves the token of the one that has taken over', () => {
  const storage = storageOf();
  const [first, second] = [new EventTarget(), new EventTarget()];
  tabTokens(storage, first).hold(URI, 'ses_1', RUN);
  first.dispatchEvent(new Event('pagehide'));
  const drop = tabTokens(storage, second).hold(URI, 'ses_2', { ...RUN, generation: 4 });
  first.dispatchEvent(new Event('pageshow'));
  second.dispatchEvent(new Event('pagehide'));
  expect(tabTokens(storage, second).read(URI, 'run_1')).toEqual({
    ...LEFT,
    holder: 'ses_2',
    generation: 4,
  });
  drop();
  expect(tabTokens(storage, second).read(URI, 'run_1')).toBeUndefined();
  expect(storage.length).toBe(0);
});

test('what is no token is none', () => {
  const storage = storageOf();
  const tokens = tabTokens(storage, new EventTarget());
  for (const text of ['', '{', 'null', '7', '{"holder":1}', '{"holder":"a","hasLeft":true}']) {
    storage.setItem(`quark-run ${URI} run_1`, text);
    expect(tokens.read(URI, 'run_1')).toBeUndefined();
  }
});
