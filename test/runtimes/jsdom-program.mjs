// The walk where tests of pages run: Node with the globals that Vitest takes from jsdom.
import { JSDOM } from 'jsdom';
import { populateGlobal } from 'vitest/runtime';

const { window } = new JSDOM('<!doctype html>', { url: 'http://localhost/' });
populateGlobal(globalThis, window, { bindFunctions: true });
await import('./node-program.mjs');
