/** The protocol over HTTP: one address, a key for every request. */
import { createHash, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { isQuarkError } from '../../index.ts';

/** Where it listens, and who gets in. */
export type McpHttpOptions = {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly key: string;
  /** Answers a request that has the key. */
  readonly answer: (request: IncomingMessage, response: ServerResponse) => Promise<void>;
};

/** A running server. */
export type McpHttp = {
  readonly url: string;
  close(): Promise<void>;
};

const PATH = '/mcp';
const REQUEST_MS = 120_000;

/** Listens until it is closed. */
export async function serveMcp({ answer, host, key, port }: McpHttpOptions): Promise<McpHttp> {
  const server = createServer({ requestTimeout: REQUEST_MS }, (request, response) => {
    const refusal = refusalOf(request, key, host);
    if (refusal !== undefined) {
      response.writeHead(refusal.status, {
        'content-type': 'text/plain; charset=utf-8',
        ...(refusal.status === 401 && { 'www-authenticate': 'Bearer' }),
      });
      response.end(`${refusal.text}\n`);
      return;
    }
    answer(request, response).catch((error: unknown) => {
      if (!response.headersSent) response.writeHead(500);
      response.end(isQuarkError(error) ? `${error.message}\n` : undefined);
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  const address = server.address();
  const actual = typeof address === 'object' && address !== null ? address.port : port;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${actual}${PATH}`,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function refusalOf(
  { headers, url }: IncomingMessage,
  key: string,
  host: string,
): { readonly status: number; readonly text: string } | undefined {
  // A page of another site can make a browser ask under a name that leads here (DNS rebinding).
  if (headers.origin !== undefined) return { status: 403, text: 'Pages are not let in.' };
  if (isLoopback(host) && !isLoopback(hostName(headers.host ?? '')))
    return { status: 403, text: 'This is not the name of this server.' };
  if (!isKey(headers.authorization, key))
    return { status: 401, text: 'The header "Authorization: Bearer KEY" is missing or wrong.' };
  if (new URL(url ?? '/', 'http://localhost').pathname !== PATH)
    return { status: 404, text: `The address is ${PATH}.` };
  return undefined;
}

function hostName(host: string): string {
  return host.replace(/:\d+$/, '').replaceAll(/[[\]]/g, '');
}

function isLoopback(host: string): boolean {
  return /^(127\.\d+\.\d+\.\d+|localhost|::1)$/i.test(host);
}

/** Compares hashes, so that neither length nor time tells anything of the key. */
function isKey(header: string | undefined, key: string): boolean {
  const hash = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(hash(header ?? ''), hash(`Bearer ${key}`));
}
