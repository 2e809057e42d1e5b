/** Putting a handler of requests on a port, and taking it off again. */
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { checkCount } from '../../base/assert.ts';
import { invalidInput, messageOf, SessionStoreError } from '../../base/errors.ts';
import { encodeError } from '../../wire/wire-errors.ts';

/** Interval at which a closing server closes idle connections, in milliseconds. */
const IDLE_CHECK_MS = 100;

/** @throws {QuarkError} `invalid_input` */
export function checkPort(port: unknown): number {
  const checked = checkCount('port', port);
  if (checked > 65_535) throw invalidInput('port', port, 'a port number from 0 to 65535');
  return checked;
}

/** The address of a server as a URL, with a slash at its end. */
export function urlOf(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}/`;
}

/** @throws {SessionStoreError} `failed` when the port is taken or may not be used; `details.port` says which */
export function listen(server: Server, port: number, host: string): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    // Once it listens, a failure (no file descriptor left for a connection) is that connection's; an error that nobody
    // hears would end the process, and with it the training.
    server.on('error', (cause: Error & { code?: string }) =>
      reject(listenFailure(cause, port, host)),
    );
    server.on('clientError', answerBroken);
    server.listen(port, host, () => {
      const address = server.address();
      if (address !== null && typeof address === 'object') resolve(address);
      else reject(new SessionStoreError('failed', 'The server has no address.'));
    });
  });
}

/** What is no HTTP gets an answer like everything else that is refused, where Node would send none but the status. */
export function answerBroken(error: Error & { readonly code?: string }, socket: Duplex): void {
  const answer: unknown = Reflect.get(socket, '_httpMessage');
  const isAnswered =
    typeof answer === 'object' && answer !== null && Reflect.get(answer, 'headersSent') === true;
  // Clients and proxies open connections before they need them. An answer on one that never asked would be taken for that
  // of the request that its client sends in the same instant.
  const isSilent = Reflect.get(socket, 'bytesRead') === 0;
  if (!socket.writable || error.code === 'ECONNRESET' || isAnswered || isSilent) {
    socket.destroy();
    return;
  }
  const { status, text } = refusalOf(error.code);
  socket.end(rawAnswer(status, text), () => socket.destroy());
}

/** An answer in JSON as text, for a connection that has no request. */
export function rawAnswer(status: string, json: string, retryAfterSeconds?: number): string {
  const retry = retryAfterSeconds === undefined ? '' : `retry-after: ${retryAfterSeconds}\r\n`;
  return `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(json)}\r\n${retry}connection: close\r\n\r\n${json}`;
}

function refusalOf(code: string | undefined): { readonly status: string; readonly text: string } {
  // Slow is not wrong: a client that stores records has to send the same again.
  const isLate = code === 'ERR_HTTP_REQUEST_TIMEOUT';
  const [status, rule] = isLate
    ? ['408 Request Timeout', 'sent without long pauses']
    : code === 'HPE_HEADER_OVERFLOW'
      ? ['431 Request Header Fields Too Large', 'headers of at most 16 KiB']
      : ['400 Bad Request', 'HTTP/1.1'];
  const error = new SessionStoreError(
    isLate ? 'busy' : 'rejected',
    `The request must be ${rule}.`,
    { details: { field: 'request', rule, httpStatus: Number.parseInt(status, 10) } },
  );
  return { status, text: JSON.stringify(encodeError(error).body) };
}

function listenFailure(
  cause: Error & { code?: string },
  port: number,
  host: string,
): SessionStoreError {
  const message =
    cause.code === 'EADDRINUSE'
      ? `Port ${port} on ${host} is taken. Choose another with --port, or 0 for a free one.`
      : cause.code === 'EACCES'
        ? `This user may not listen on port ${port}. Choose one above 1023.`
        : `Cannot listen on ${host}, port ${port}: ${messageOf(cause)}`;
  return new SessionStoreError('failed', message, {
    details: { port, host, systemCode: cause.code ?? null },
    cause,
  });
}

/** Answers what was asked already, for `timeoutMs` at most, then closes. Closing twice is fine. */
export function closeServer(server: Server, timeoutMs: number): Promise<void> {
  return new Promise((resolve) => {
    if (!server.listening) {
      resolve();
      return;
    }
    const cut = setTimeout(() => {
      server.closeAllConnections();
    }, timeoutMs);
    const closeIdle = (): void => {
      server.closeIdleConnections();
    };
    // A connection whose answer began before is kept by Node when the answer ends, as one of a stream does.
    const again = setInterval(closeIdle, IDLE_CHECK_MS);
    server.close(() => {
      clearTimeout(cut);
      clearInterval(again);
      resolve();
    });
    closeIdle();
  });
}
