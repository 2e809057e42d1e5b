/** Connections of a service: slow ones end in time, many of them leave room, and what they send ahead is bounded. */
import { once } from 'node:events';
import { createServer, get, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { ConnectionSlots } from '../../src/service/node/connection-slots.ts';
import { CONNECTION_TIMES, createHttpServer } from '../../src/service/node/http-exchanges.ts';
import { ask, RunningServices } from './running-service.ts';

const services = new RunningServices();
const servers: Server[] = [];
afterEach(async () => {
  await services.clear();
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function open(port: number): Promise<{ socket: Socket; text: () => string }> {
  const socket = connect(port, '127.0.0.1').on('error', () => undefined);
  let text = '';
  socket.on('data', (data: Buffer) => (text += data.toString('latin1')));
  await once(socket, 'connect');
  return { socket, text: () => text };
}

async function listening(server: Server): Promise<number> {
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

const SHORT = { ...CONNECTION_TIMES, headersMs: 300, idleMs: 400 };
const GENEROUS = { timeout: 20_000, interval: 20 };

describe('a slow client', () => {
  it('that trickles its headers is cut off when its time is over, not at the next look half a minute later', async () => {
    const port = await listening(createHttpServer(async () => new Response('ok'), SHORT));
    const { socket, text } = await open(port);
    socket.write('GET / HTTP/1.1\r\n');
    const trickle = setInterval(() => socket.write('a: b\r\n'), 50);
    try {
      await Promise.race([
        once(socket, 'close'),
        vi.waitFor(() => expect(text()).toContain('408'), GENEROUS),
      ]);
    } finally {
      clearInterval(trickle);
      socket.destroy();
    }
    expect(text()).toContain('408 Request Timeout');
  });

  it('whose body stops arriving is told so, and its request ends', async () => {
    let signal: AbortSignal | undefined;
    const port = await listening(
      createHttpServer(async (request, connection) => {
        signal = connection.signal;
        return new Response(await request.arrayBuffer());
      }, SHORT),
    );
    const { socket, text } = await open(port);
    socket.write('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\n\r\nhalf');
    await once(socket, 'close');
    expect(text()).toContain('408 Request Timeout');
    await vi.waitFor(() => expect(signal?.aborted).toBe(true), GENEROUS);
  });

  it('that does not read its answer is left, and no more of the answer is made', async () => {
    let isCancelled = false;
    let ends = 0;
    const body = (): ReadableStream<Uint8Array> =>
      new ReadableStream(
        {
          pull: (controller) => controller.enqueue(new Uint8Array(1 << 20)),
          cancel: () => {
            isCancelled = true;
          },
        },
        { highWaterMark: 0 },
      );
    const port = await listening(
      createHttpServer(async (_request, { onClose }) => {
        onClose?.(() => {
          ends += 1;
        });
        return new Response(body());
      }, SHORT),
    );
    const { socket } = await open(port);
    socket.pause();
    socket.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n');
    await vi.waitFor(() => expect([isCancelled, ends]).toEqual([true, 1]), GENEROUS);
    socket.destroy();
  });
});

describe('requests that are sent ahead', () => {
  it('are worked on one at a time, and answered in order', async () => {
    let atWork = 0;
    let most = 0;
    const port = await listening(
      createHttpServer(async (request) => {
        atWork += 1;
        most = Math.max(most, atWork);
        await new Promise((resolve) => {
          setImmediate(resolve);
        });
        atWork -= 1;
        return new Response(`<${new URL(request.url).pathname}>`);
      }),
    );
    const { socket, text } = await open(port);
    const paths = Array.from({ length: 100 }, (_, i) => `/${i}`);
    socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`).join(''));
    await vi.waitFor(() => expect(text()).toContain('</99>'), GENEROUS);
    expect(text().match(/<\/\d+>/g)).toEqual(paths.map((path) => `<${path}>`));
    expect(most).toBe(1);
    socket.destroy();
  });

  it('end the connection when there are thousands, with nothing begun for the rest', async () => {
    let begun = 0;
    const port = await listening(
      createHttpServer(async () => {
        begun += 1;
        await new Promise((resolve) => {
          setImmediate(resolve);
        });
        return new Response('ok');
      }),
    );
    const { socket } = await open(port);
    socket.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n'.repeat(5_000));
    // Whether it ends with a reset or not.
    await vi.waitFor(() => expect(socket.closed).toBe(true), GENEROUS);
    expect(begun).toBeLessThan(5_000);
    // The server goes on.
    const { socket: other, text } = await open(port);
    other.write('GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n');
    await once(other, 'close');
    expect(text()).toContain('200 OK');
  });
});

describe('a request', () => {
  it('with two Host headers is refused', async () => {
    const { port } = await services.start();
    const { socket, text } = await open(port);
    socket.write('GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\nhost: 127.0.0.1\r\n\r\n');
    await once(socket, 'close');
    expect(text()).toMatch(/^HTTP\/1\.1 400 /);
    expect(text()).toContain('"code":"invalid_input"');
  });

  it('that fails before its first byte gets the status of the failure, as JSON', async () => {
    const port = await listening(
      createHttpServer(async () => {
        const body = new ReadableStream({
          pull: () => {
            throw new Error('no');
          },
        });
        return new Response(body);
      }),
    );
    const answer = await fetch(`http://127.0.0.1:${port}/`);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([500, 'application/json']);
    expect(await answer.json()).toMatchObject({ code: 'store_failed' });
  });
});

describe('many connections', () => {
  it('make room for one that asks for something: the one that has waited longest ends', async () => {
    const service = await services.start({ limits: { maxConnections: 3 } });
    const idle = await Promise.all([open(service.port), open(service.port), open(service.port)]);
    expect((await ask(service.port, '/healthz')).status).toBe(200);
    await vi.waitFor(
      () => expect(idle.filter(({ socket }) => socket.closed).length).toBeGreaterThan(0),
      GENEROUS,
    );
    for (const { socket } of idle) socket.destroy();
  });

  it('from one address that is not of this machine are so many; others get in', async () => {
    const slots = new ConnectionSlots({ maxConnections: 100, maxConnectionsPerAddress: 2 });
    const server = createServer((_request, answer) => answer.end('ok'));
    // Stands for connections of another machine.
    server.on('connection', (socket) =>
      Object.defineProperty(socket, 'remoteAddress', { value: '192.0.2.7' }),
    );
    slots.guard(server);
    const port = await listening(server);
    const held = [await open(port), await open(port)];
    await vi.waitFor(() => expect(slots.open).toBe(2), GENEROUS);
    const { socket, text } = await open(port);
    await once(socket, 'close');
    expect(text()).toMatch(/^HTTP\/1\.1 503 [\s\S]*retry-after: \d+/);
    expect([slots.open, slots.refused]).toEqual([2, 1]);
    held[0]?.socket.destroy();
    await vi.waitFor(() => expect(slots.open).toBe(1), GENEROUS);
    const status = await new Promise((resolve, reject) => {
      get({ port, host: '127.0.0.1', agent: false }, ({ statusCode }) => resolve(statusCode)).on(
        'error',
        reject,
      );
    });
    expect(status).toBe(200);
    for (const one of held) one.socket.destroy();
  });
});
