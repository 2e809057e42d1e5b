/** What a server says to connections that are slow, silent or no HTTP. */
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { closeServer, listen } from '../../../src/service/node/listener.ts';
import { HttpClient } from '../../../src/wire/http-client.ts';
import { kindOfFailure } from '../../../src/sync/failures.ts';

/** Everything that comes back for these bytes. */
async function sent(port: number, bytes: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  socket.setEncoding('utf8').on('data', (part: string) => (text += part));
  socket.on('error', () => undefined);
  if (bytes !== '') socket.write(bytes);
  await once(socket, 'close');
  return text;
}

test('the slow are told to send again, and the silent nothing', async () => {
  const limits = { headersTimeout: 30, requestTimeout: 30, connectionsCheckingInterval: 10 };
  const server = createServer(limits, (request, response) => {
    request.resume().on('end', () => response.end('{}'));
  });
  const { port } = await listen(server, 0, '127.0.0.1');
  const head = 'POST /api/v1/runs HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\n';
  const [silent, headers, body, garbage] = await Promise.all(
    ['', head, `${head}\r\n{`, 'GARBAGE\r\n\r\n'].map((bytes) => sent(port, bytes)),
  );
  expect(silent).toBe('');
  for (const slow of [headers, body]) {
    expect(slow).toMatch(/^HTTP\/1\.1 408 /);
    expect(slow).toContain('"reason":"busy"');
  }
  expect(garbage).toMatch(/^HTTP\/1\.1 400 [^]*"reason":"rejected"/);
  await closeServer(server, 10_000);
});

test.each(['408 Request Timeout', '400 Bad Request'])(
  'a record whose request ended with %s is sent again',
  async (status) => {
    // As services of before have answered.
    const details = { reason: 'rejected', field: 'request', rule: 'sent without long pauses' };
    const [code, text] = [Number(status.slice(0, 3)), status.slice(4)];
    const client = new HttpClient('http://127.0.0.1/', {
      fetch: async () =>
        new Response(JSON.stringify({ code: 'store_failed', message: text, details }), {
          status: code,
        }),
    });
    const error: unknown = await client.json('GET /runs').catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ reason: code === 408 ? 'busy' : 'rejected' });
    expect(kindOfFailure(error)).toBe('retry');
    await client.close();
  },
);
