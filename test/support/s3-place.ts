/**
 * A bucket to test against: s3rver, which speaks the S3 API and keeps objects as files, with a front before it that does
 * what s3rver leaves out (it checks signatures and the hashes of bodies, gives uploads up and answers a put only once the
 * object can be read whole) and breaks requests on demand.
 */
import { createHash, createHmac } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import S3rver from 's3rver';
import type { S3Options } from '../../src/store/objects/s3-config.ts';

const ACCESS_KEY = 'S3RVER';
const SECRET_KEY = 'very-secret-key-of-the-tests';

/** A request as the front sees it. */
export type FrontCall = {
  readonly method: string;
  /** Path and query, with the bucket in the path. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly sizeBytes: number;
};

/** What the front does in place of passing a request on. */
export type Fault =
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly code?: string;
      readonly body?: string;
      readonly headers?: Readonly<Record<string, string>>;
    }
  /** The connection ends before the request is passed on. */
  | { readonly kind: 'drop' }
  /** The request is carried out, its answer is lost. */
  | { readonly kind: 'lose' }
  /** The answer ends after so many bytes of its body. */
  | { readonly kind: 'cut'; readonly bytes: number }
  /** The request gets no answer. */
  | { readonly kind: 'stall' }
  /** A byte of the body changes on the way to the server. */
  | { readonly kind: 'damage' };

/** A running server with one bucket. */
export type S3Place = {
  readonly options: S3Options;
  /** Every request so far. */
  readonly calls: FrontCall[];
  /** Decides on each request; undefined passes it on. */
  fault: ((call: FrontCall) => Fault | undefined) | undefined;
  /** Most keys on a page of a list. */
  pageKeys: number;
  close(): Promise<void>;
};

/** Starts a server on a port of its own. */
export async function openS3Place(change: Partial<S3Options> = {}): Promise<S3Place> {
  const directory = await mkdtemp(join(tmpdir(), 'quark-s3-'));
  const bucket = change.bucket ?? 'quark-tests';
  const server = new S3rver({
    address: '127.0.0.1',
    port: 0,
    silent: true,
    directory,
    vhostBuckets: false,
    allowMismatchedSignatures: true,
    configureBuckets: [{ name: 'quark-tests' }],
  });
  const { port } = await server.run();
  const place: S3Place = {
    calls: [],
    fault: undefined,
    pageKeys: 1000,
    options: { endpoint: '', bucket, accessKeyId: ACCESS_KEY, secretAccessKey: SECRET_KEY },
    close: async () => {
      front.closeAllConnections();
      await new Promise((resolve) => void front.close(resolve));
      await server.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
  const front = createServer((incoming, outgoing) => {
    answer(place, port, incoming, outgoing).catch(() => outgoing.destroy());
  });
  await new Promise<void>((resolve) => void front.listen(0, '127.0.0.1', resolve));
  const address = front.address();
  if (address === null || typeof address === 'string') throw new Error('There is no port.');
  // Pauses between attempts end at once: tests do not sleep.
  const wait = async (): Promise<void> => undefined;
  const endpoint = `http://127.0.0.1:${address.port}`;
  return Object.assign(place, { options: { ...place.options, endpoint, wait, ...change } });
}

async function answer(
  place: S3Place,
  port: number,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Uint8Array);
  let body = Buffer.concat(chunks);
  const method = incoming.method ?? '';
  const call: FrontCall = {
    method,
    path: pathOf(incoming),
    headers: incoming.headers,
    sizeBytes: body.byteLength,
  };
  place.calls.push(call);
  const fault = place.fault?.(call);
  if (fault?.kind === 'drop') return void incoming.socket.destroy();
  if (fault?.kind === 'stall') return;
  if (fault?.kind === 'answer') {
    const { status, code, body: text } = fault;
    refuse(outgoing, status, code ?? '', fault.headers, text);
    return;
  }
  if (fault?.kind === 'damage') {
    body = Buffer.from(body);
    body[0] = (body[0] ?? 0) ^ 1;
  }
  const expected = incoming.headers['x-amz-content-sha256'];
  if (createHash('sha256').update(body).digest('hex') !== expected)
    return refuse(outgoing, 400, 'XAmzContentSHA256Mismatch');
  if (!isSigned(incoming)) return refuse(outgoing, 403, 'SignatureDoesNotMatch');
  // s3rver cannot give an upload up.
  if (method === 'DELETE' && call.path.includes('uploadId='))
    return void outgoing.writeHead(204).end();
  const reply = call.path.includes('list-type=2')
    ? await listPage(port, call, place.pageKeys)
    : await pass(port, call, body);
  if (method === 'PUT' && !call.path.includes('uploadId=') && reply.status === 200)
    await untilWhole(port, call, body.byteLength);
  if (fault?.kind === 'lose') return void incoming.socket.destroy();
  outgoing.writeHead(reply.status, reply.headers);
  if (fault?.kind === 'cut') {
    outgoing.write(reply.body.subarray(0, fault.bytes), () => outgoing.destroy());
    return;
  }
  outgoing.end(method === 'HEAD' ? undefined : reply.body);
}

/** Path-style, whichever way the bucket was named. */
function pathOf(incoming: IncomingMessage): string {
  const [host = ''] = (incoming.headers.host ?? '').split(':');
  const bucket = /^(.+)\.localhost$/.exec(host)?.[1];
  return (bucket === undefined ? '' : `/${bucket}`) + (incoming.url ?? '');
}

function refuse(
  outgoing: ServerResponse,
  status: number,
  code: string,
  headers: Readonly<Record<string, string>> = {},
  text = code === ''
    ? ''
    : `<?xml version="1.0"?>\n<Error><Code>${code}</Code><Message>m</Message></Error>`,
): void {
  outgoing.writeHead(status, { 'content-type': 'application/xml', ...headers }).end(text);
}

type Reply = {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly body: Buffer;
};

function pass(port: number, call: FrontCall, body: Buffer): Promise<Reply> {
  return new Promise((resolve, reject) => {
    // s3rver knows one key, and trusts whoever names it.
    const headers = { ...call.headers, host: `127.0.0.1:${port}`, connection: 'close' };
    const passed = request({
      host: '127.0.0.1',
      port,
      method: call.method,
      path: call.path,
      headers,
    });
    passed.on('error', reject);
    passed.on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => void chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const {
          connection: _connection,
          'keep-alive': _keepAlive,
          'transfer-encoding': _transfer,
          ...kept
        } = response.headers;
        resolve({ status: response.statusCode ?? 0, headers: kept, body: Buffer.concat(chunks) });
      });
    });
    passed.end(body);
  });
}

/** s3rver makes tokens of further pages with a cipher that OpenSSL has dropped: here the token is the last key. */
async function listPage(port: number, call: FrontCall, pageKeys: number): Promise<Reply> {
  const url = new URL(call.path, 'http://front');
  url.searchParams.delete('list-type');
  const token = url.searchParams.get('continuation-token');
  url.searchParams.delete('continuation-token');
  if (token !== null) url.searchParams.set('marker', token);
  const asked = Number(url.searchParams.get('max-keys'));
  url.searchParams.set('max-keys', String(Math.min(asked, pageKeys)));
  const reply = await pass(port, { ...call, path: url.pathname + url.search }, Buffer.alloc(0));
  const text = reply.body.toString();
  const last = [...text.matchAll(/<Key>([^<]*)<\/Key>/g)].at(-1)?.[1];
  if (!text.includes('<IsTruncated>true</IsTruncated>')) return reply;
  // s3rver leaves out objects that were deleted while it made the page: all of them, here.
  if (last === undefined) return listPage(port, call, pageKeys);
  const end = '</ListBucketResult>';
  const next = `<NextContinuationToken>${last}</NextContinuationToken>${end}`;
  const body = Buffer.from(text.replace(end, next));
  return {
    ...reply,
    body,
    headers: { ...reply.headers, 'content-length': String(body.byteLength) },
  };
}

/** s3rver answers a put when it has read the body, and writes the file after that. */
async function untilWhole(port: number, call: FrontCall, size: number): Promise<void> {
  const { 'content-length': _length, ...headers } = call.headers;
  const look = { ...call, method: 'HEAD', headers };
  while (Number((await pass(port, look, Buffer.alloc(0))).headers['content-length']) !== size);
}

/** Signature version 4, worked out anew from the request as it came. */
function isSigned(incoming: IncomingMessage): boolean {
  const match =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/.exec(
      incoming.headers.authorization ?? '',
    );
  if (match === null) return false;
  const [, accessKey, day = '', region = '', signedHeaders = '', signature] = match;
  const [path = '', query = ''] = (incoming.url ?? '').split('?');
  const stamp = String(incoming.headers['x-amz-date']);
  const names = signedHeaders.split(';');
  const isComplete = ['host', 'x-amz-content-sha256', 'x-amz-date'].every((name) =>
    names.includes(name),
  );
  const canonical = [
    incoming.method,
    path,
    query
      .split('&')
      .filter((pair) => pair !== '')
      .map((pair) => (pair.includes('=') ? pair : `${pair}=`))
      .map((pair) => pair.replaceAll('+', '%20'))
      .sort()
      .join('&'),
    ...names.map((name) => `${name}:${String(incoming.headers[name]).trim()}`),
    '',
    signedHeaders,
    incoming.headers['x-amz-content-sha256'],
  ].join('\n');
  const scope = `${day}/${region}/s3/aws4_request`;
  const text = [
    'AWS4-HMAC-SHA256',
    stamp,
    scope,
    createHash('sha256').update(canonical).digest('hex'),
  ];
  const key = [day, region, 's3', 'aws4_request'].reduce<Buffer | string>(
    (secret, part) => createHmac('sha256', secret).update(part).digest(),
    `AWS4${SECRET_KEY}`,
  );
  const wanted = createHmac('sha256', key).update(text.join('\n')).digest('hex');
  return isComplete && accessKey === ACCESS_KEY && stamp.startsWith(day) && wanted === signature;
}
