/** Requests as bytes, whatever is wrong with them, each on a connection of its own. */
import { connect } from 'node:net';

/** What came back. Status 0: the connection was closed without an answer; -1: nothing came in time. */
export type RawAnswer = { readonly status: number; readonly text: string };

const MAX_TEXT = 1 << 18;
/** Live updates have no end: this much of them is read. */
const STREAM_MS = 200;

/** How bytes are sent. */
export type Sending = {
  readonly port: number;
  readonly localAddress?: string;
  /** Close this side once all is sent: for a request that announces more than it sends. */
  readonly isCut?: boolean;
  readonly limitMs?: number;
};

/** Sends bytes, and reads until the other side closes. */
export function exchange(
  bytes: Uint8Array,
  { port, localAddress = '127.0.0.1', isCut = false, limitMs = 30_000 }: Sending,
): Promise<RawAnswer> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, localAddress });
    let text = '';
    let isLate = false;
    const late = setTimeout(() => {
      isLate = true;
      socket.destroy();
    }, limitMs);
    socket.on('connect', () => (isCut ? socket.end(bytes) : socket.write(bytes)));
    socket.on('data', (data) => {
      if (text.length < MAX_TEXT) text += data.toString('latin1');
      if (/^content-type: text\/event-stream/im.test(text.slice(0, 4_000)))
        setTimeout(() => socket.destroy(), STREAM_MS);
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      clearTimeout(late);
      // 100 Continue comes before the answer.
      const statuses = [...text.matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map(([, code]) => Number(code));
      const status = statuses.find((code) => code >= 200) ?? (isLate ? -1 : 0);
      resolve({ status, text });
    });
  });
}

/** The bytes of a request; `length` is what it announces, where that is not the truth. */
export function requestBytes(
  request: {
    readonly method: string;
    readonly path: string;
    readonly headers: readonly (readonly [name: string, value: string])[];
    readonly body: Uint8Array | undefined;
  },
  port: number,
  length: string = String(request.body?.byteLength ?? 0),
): Buffer {
  const { method, path, headers, body } = request;
  const lines = [
    `${method} ${path} HTTP/1.1`,
    `host: 127.0.0.1:${port}`,
    ...headers.map(([name, value]) => `${name}: ${value}`),
    ...(body === undefined && length === '0' ? [] : [`content-length: ${length}`]),
    'connection: close',
  ];
  return Buffer.concat([
    Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'),
    body ?? Buffer.alloc(0),
  ]);
}
