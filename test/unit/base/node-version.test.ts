import { expect, it } from 'vitest';
import { refuseOldNode } from '../../../src/base/runtime.ts';

it.each(['18.20.8', '16.0.0', '6.1.0'])('Node %s is refused in one sentence', (version) => {
  expect(() => refuseOldNode(version)).toThrow(
    `quark-sdk needs Node 20.16 or later, and this is Node ${version}.`,
  );
});

it.each(['20.16.0', '22.1.0', '100.0.0', undefined])('%s is not refused', (version) => {
  expect(() => refuseOldNode(version)).not.toThrow();
});
