import { afterEach, describe, expect, it, vi } from 'vitest';
import { nextTask } from '../../../src/base/next-task.ts';
import { isNode, refuseOldNode } from '../../../src/base/runtime.ts';

it.each(['18.20.8', '16.0.0', '6.1.0'])('Node %s is refused in one sentence', (version) => {
  expect(() => refuseOldNode(version)).toThrow(
    `quark-sdk needs Node 20.16 or later, and this is Node ${version}.`,
  );
});

it.each(['20.16.0', '22.1.0', '100.0.0', undefined])('%s is not refused', (version) => {
  expect(() => refuseOldNode(version)).not.toThrow();
});

describe('what only looks like Node', () => {
  afterEach(() => {
    vi.unstubAllGlobals();
  });

  it('Node is Node', () => {
    expect(isNode()).toBe(true);
  });

  it.each([
    ['workerd, which has process.versions', { navigator: { userAgent: 'Cloudflare-Workers' } }],
    ['a page of Electron', { process: { versions: { node: '22.1.0' }, type: 'renderer' } }],
    ['a bundler’s process', { process: { env: {} } }],
  ])('%s, is not', (_name, globals) => {
    for (const [name, value] of Object.entries(globals)) vi.stubGlobal(name, value);
    expect(isNode()).toBe(false);
  });

  it('the next task comes where there are timers only', async () => {
    vi.stubGlobal('setImmediate', undefined);
    vi.stubGlobal('MessageChannel', undefined);
    await expect(nextTask()).resolves.toBeUndefined();
  });
});
