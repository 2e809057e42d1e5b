/** What a page that imports a name gets of the package: the rest is left out, or comes when it is needed. `npm run matrix` has all bundlers. */
import { expect, test } from 'vitest';
import {
  FIRST_LOG_BUDGET_BYTES,
  IN_ALL_BUDGET_BYTES,
  START_BUDGET_BYTES,
} from '../../scripts/size.mjs';
import { pageBytes } from '../../scripts/page-bytes.mjs';
import { withPureInitialisers } from '../../scripts/pure-initialisers.ts';

test('a constant costs a constant', async () => {
  expect((await pageBytes(['VERSION'])).minified).toBeLessThan(1000);
});

test('a page that records stays within its budgets', async () => {
  const { atOnce, inAll, untilFirstLog } = await pageBytes(['startRun', 'MetricsLogger']);
  expect(atOnce).toBeLessThanOrEqual(START_BUDGET_BYTES);
  expect(untilFirstLog).toBeLessThanOrEqual(FIRST_LOG_BUDGET_BYTES);
  // Else the parts were not found, and nothing was counted.
  expect(untilFirstLog).toBeGreaterThan(atOnce + 10_000);
  expect(inAll).toBeLessThanOrEqual(IN_ALL_BUDGET_BYTES);
  expect(inAll).toBeGreaterThan(untilFirstLog + 10_000);
});

test.each([
  [
    'const a = f(g("x"), { b: h });',
    'const a = /* @__PURE__ */ f(/* @__PURE__ */ g("x"), { b: h });',
  ],
  ['const a = Object.freeze({});', 'const a = /* @__PURE__ */ Object.freeze({});'],
  ['const a = /* @__PURE__ */ new Map();', 'const a = /* @__PURE__ */ new Map();'],
  ['const a = [...b, c.d];', 'const a = /* @__PURE__ */ (() => ([...b, c.d]))();'],
  ['const a = f()();', 'const a = /* @__PURE__ */ (() => (f()()))();'],
  ['const a = 1 << 20, b = x;', 'const a = 1048576, b = x;'],
  ['const a = () => f();', 'const a = () => f();'],
  [
    'class A { [B]() {} }',
    'const A = /* @__PURE__ */ (() => { class A { [B]() {} }; return A; })();',
  ],
  [
    'class A extends B { static b = 1; #c = f(); }',
    'class A extends B { static b = 1; #c = f(); }',
  ],
  ['f();', 'f();'],
])('%s is marked', (code, marked) => {
  expect(withPureInitialisers(code)).toBe(marked);
});
