/**
 * An HTTP/1.1 server for a request handler. Every request ends exactly once, in every phase: its answer was sent, or its
 * connection is gone. The handler is notified of both.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { QuarkError } from '../../base/errors.ts';
import { failure } from '../http/answers.ts';
import type { ServiceConnection } from '../limits/origin-rules.ts';
import { answerBroken } from './listener.ts';
import { sendAnswer } from './send-answer.ts';

/** The handler of a server's requests. */
export type ExchangeHandler = (
  request: Request,
  connection: ServiceConnection,
  incoming: IncomingMessage,
) => Promise<Response>;

/** Time limits of connections, in milliseconds. Node checks them every second. */
export type ConnectionTimes = {
  /** From the first byte of a request, or from the start of the connection, to the last byte of its headers. */
  readonly headersMs: number;
  /** To the last byte of its body. */
  readonly requestMs: number;
  /** Longest pause in a body that arrives, and in an answer that the client reads. */
  readonly idleMs: number;
  /** Between the answer to a request and the next request. */
  readonly keepAliveMs: number;
};

/** Slow senders are disconnected. The idle limit is longer than that of common proxies. */
export const CONNECTION_TIMES: ConnectionTimes = Object.freeze({
  headersMs: 15_000,
  requestMs: 120_000,
  idleMs: 30_000,
  keepAliveMs: 75_000,
});

const MAX_HEADER_BYTES = 16 * 1024;
/** Node's default interval of 30 s would delay every limit above by as much. */
const CHECK_MS = 1_000;
/** Pipelined requests of a connection that may wait; then reading stops (back pressure). */
const MAX_WAITING = 8;
/** Data read before that may hold more requests. One more than this closes the connection. */
const MAX_READ_AHEAD = 256;

/** Creates the server; it does not listen yet. */
export function createHttpServer(
  handler: ExchangeHandler,
  times: ConnectionTimes = CONNECTION_TIMES,
): Server {
  const connections = new WeakMap<Socket, ConnectionTurns>();
  const turnsOf = (socket: Socket): ConnectionTurns => {
    const known = connections.get(socket) ?? new ConnectionTurns(socket);
    connections.set(socket, known);
    return known;
  };
  const server = createServer(
    {
      connectionsCheckingInterval: CHECK_MS,
      headersTimeout: times.headersMs,
      requestTimeout: times.requestMs,
      keepAliveTimeout: times.keepAliveMs,
      maxHeaderSize: MAX_HEADER_BYTES,
    },
    getRequestListener(
      async (request, env) => {
        const incoming = env.incoming as IncomingMessage;
        const outgoing = env.outgoing as ServerResponse;
        const { socket } = incoming;
        // A write after the end of the connection must not end the process.
        outgoing.on('error', () => undefined);
        const turns = turnsOf(socket);
        await turns.run(incoming, async (signal) => {
          const before = socket.bytesWritten;
          let isClosed: ((sentBytes: number) => void) | undefined;
          try {
            const answer = await answerTo(handler, request, incoming, {
              remoteAddress: socket.remoteAddress,
              httpVersion: incoming.httpVersion,
              signal,
              onClose: (callback) => {
                isClosed = callback;
              },
            });
            await sendAnswer(answer, outgoing, signal, times.idleMs);
          } finally {
            isClosed?.(socket.bytesWritten - before);
          }
        });
        return RESPONSE_ALREADY_SENT;
      },
      {
        overrideGlobalObjects: false,
        errorHandler: () => badRequest('a Host and a target that make a URL'),
      },
    ),
  );
  server.timeout = times.idleMs;
  server.on('timeout', (socket: Socket) => {
    turnsOf(socket).endIdle();
  });
  return server;
}

async function answerTo(
  handler: ExchangeHandler,
  request: Request,
  incoming: IncomingMessage,
  connection: ServiceConnection,
): Promise<Response> {
  // Proxies and this server could disagree about the host.
  const names = incoming.rawHeaders.filter((name, i) => i % 2 === 0 && /^host$/i.test(name));
  if (names.length > 1) return badRequest('one Host');
  try {
    return await handler(request, connection, incoming);
  } catch (error) {
    return failure(error);
  }
}

function badRequest(rule: string): Response {
  const answer = failure(
    new QuarkError('invalid_input', `The request must have ${rule}.`, {
      details: { field: 'request', rule },
    }),
  );
  answer.headers.set('connection', 'close');
  return answer;
}

type Exchange = {
  readonly incoming: IncomingMessage;
  readonly gone: AbortController;
  /** Starts the request, or ends it unanswered when the connection is gone. */
  readonly begin: () => void;
};

/**
 * The requests of one connection, one at a time. Answers are sent in order in any case, and a client that pipelines requests must
 * not delay other clients.
 */
class ConnectionTurns {
  readonly #socket: Socket;
  readonly #waiting: Exchange[] = [];
  #active: Exchange | undefined;
  #isPaused = false;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.once('close', () => {
      for (const { begin, gone } of [this.#active, ...this.#waiting.splice(0)].filter(isExchange)) {
        gone.abort();
        begin();
      }
    });
  }

  /** Handles a request after the ones before it; not at all when the connection is already gone. */
  async run(
    incoming: IncomingMessage,
    work: (signal: AbortSignal) => Promise<void>,
  ): Promise<void> {
    const gone = new AbortController();
    if (!this.#socket.writable) return;
    if (this.#waiting.length >= MAX_READ_AHEAD) {
      // Parsing stops, and all waiting requests end. The client sees from the answers which requests to repeat.
      this.#socket.destroy();
      return;
    }
    await new Promise<void>((begin) => {
      const exchange = { incoming, gone, begin };
      if (this.#active === undefined) {
        this.#active = exchange;
        begin();
      } else {
        this.#waiting.push(exchange);
        if (this.#waiting.length === MAX_WAITING) this.#pauseSoon();
      }
    });
    if (gone.signal.aborted) return;
    try {
      await work(gone.signal);
    } finally {
      this.#next();
    }
  }

  /** The socket has been idle for a while, which is allowed only while an answer is being computed. */
  endIdle(): void {
    if (this.#active === undefined) this.#socket.destroy();
    else if (!this.#active.incoming.complete) answerBroken(lateRequest(), this.#socket);
  }

  #next(): void {
    this.#active = this.#waiting.shift();
    if (this.#isPaused && this.#waiting.length < MAX_WAITING / 2) {
      this.#isPaused = false;
      this.#socket.resume();
    }
    this.#active?.begin();
  }

  #pauseSoon(): void {
    // While a chunk is being parsed, the parser would resume the socket.
    setImmediate(() => {
      if (this.#waiting.length < MAX_WAITING / 2 || this.#socket.destroyed) return;
      this.#isPaused = true;
      this.#socket.pause();
    });
  }
}

function isExchange(exchange: Exchange | undefined): exchange is Exchange {
  return exchange !== undefined;
}

function lateRequest(): Error & { readonly code: string } {
  return Object.assign(new Error('The request stopped arriving.'), {
    code: 'ERR_HTTP_REQUEST_TIMEOUT',
  });
}
