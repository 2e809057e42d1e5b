/** Requests that are aborted after the engine has collected what it could. */
import { createServer, type AddressInfo, type Server } from 'node:net';
import v8 from 'node:v8';
import vm from 'node:vm';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { holding } from '../../../src/base/held-request.ts';

let server: Server;

beforeAll(async () => {
  // Takes what it is asked, and never answers.
  server = createServer((socket) => socket.resume().on('error', () => undefined));
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
});
afterAll(() => {
  server.close();
});

test.each([
  ['without a body', {}],
  ['with a body', { method: 'POST', body: new Uint8Array(40_000) }],
])('a request %s that is held ends when it is aborted, whatever was collected', async (_, init) => {
  v8.setFlagsFromString('--expose_gc');
  const collect: unknown = vm.runInNewContext('gc');
  if (typeof collect !== 'function') throw new Error('This engine cannot be asked to collect.');
  const { port } = server.address() as AddressInfo;
  const controllers = Array.from({ length: 5 }, () => new AbortController());
  const ends = controllers.map(({ signal }) => begin(port, { ...init, signal }));
  for (let round = 0; round < 3; round += 1) {
    collect();
    await new Promise((resolve) => {
      setTimeout(resolve, 10);
    });
  }
  for (const controller of controllers) controller.abort(new Error('waited long enough'));
  for (const end of ends) await expect(end).rejects.toThrow('waited long enough');
});

/** Nobody but `holding` has the request when this has returned. */
function begin(port: number, init: RequestInit): Promise<Response> {
  const request = new Request(`http://127.0.0.1:${port}/`, init);
  return holding(request, () => fetch(request));
}
