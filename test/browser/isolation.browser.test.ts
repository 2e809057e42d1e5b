// What every other browser test takes for granted: if this fails, look at the browser, not at the code.
import { expect, test } from 'vitest';

test('the page is cross-origin isolated and has shared memory', () => {
  expect(globalThis.crossOriginIsolated).toBe(true);
  expect(new SharedArrayBuffer(8).byteLength).toBe(8);
});

test('the browser draws WebGL2 into float textures', () => {
  const gl = document.createElement('canvas').getContext('webgl2');
  expect(gl?.getExtension('EXT_color_buffer_float')).toBeTruthy();
});

test('IndexedDB opens', async () => {
  const name = await new Promise<string>((resolve, reject) => {
    const request = indexedDB.open('harness');
    request.addEventListener('success', () => {
      resolve(request.result.name);
      request.result.close();
    });
    request.addEventListener('error', () => reject(request.error ?? new Error('no database')));
  });
  expect(name).toBe('harness');
});
