/** A bucket in memory that can be full or slow: as much of the S3 API as the service asks for. */
import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A running bucket. */
export type MadeBucket = {
  /** What a service finds it by. */
  readonly environment: Readonly<Record<string, string>>;
  /** True: what is put is refused with status 507. */
  isFull: boolean;
  /** Each answer comes so many milliseconds later. */
  delayMs: number;
  readonly objects: ReadonlyMap<string, Buffer>;
  close(): Promise<void>;
};

const EMPTY_LIST =
  '<?xml version="1.0"?><ListBucketResult><IsTruncated>false</IsTruncated><KeyCount>0</KeyCount></ListBucketResult>';
const EMPTY_UPLOADS =
  '<?xml version="1.0"?><ListMultipartUploadsResult><IsTruncated>false</IsTruncated></ListMultipartUploadsResult>';
const FULL =
  '<?xml version="1.0"?><Error><Code>XMinioStorageFull</Code><Message>full</Message></Error>';

/** Starts one. */
export async function makeBucket(): Promise<MadeBucket> {
  const objects = new Map<string, Buffer>();
  const state = { isFull: false, delayMs: 0 };
  const answer = (request: IncomingMessage, body: Buffer, response: ServerResponse): void => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://bucket');
    const xml = (status: number, text: string): void => {
      response.writeHead(status, { 'content-type': 'application/xml' }).end(text);
    };
    const found = objects.get(pathname);
    switch (request.method) {
      case 'PUT':
        if (state.isFull) return xml(507, FULL);
        objects.set(pathname, body);
        response.writeHead(200, { etag: etagOf(body) }).end();
        return;
      case 'DELETE':
        objects.delete(pathname);
        response.writeHead(204).end();
        return;
      default:
    }
    if (searchParams.has('uploads')) return xml(200, EMPTY_UPLOADS);
    if (searchParams.has('list-type')) return xml(200, EMPTY_LIST);
    if (found === undefined)
      return xml(404, '<?xml version="1.0"?><Error><Code>NoSuchKey</Code></Error>');
    const [, from, to] = /^bytes=(\d+)-(\d*)$/.exec(String(request.headers.range)) ?? [];
    const start = Number(from ?? 0);
    const end = to === undefined || to === '' ? found.length : Number(to) + 1;
    const part = found.subarray(start, end);
    response.writeHead(from === undefined ? 200 : 206, {
      'content-length': part.length,
      etag: etagOf(found),
      ...(from === undefined
        ? {}
        : { 'content-range': `bytes ${start}-${start + part.length - 1}/${found.length}` }),
    });
    response.end(request.method === 'HEAD' ? undefined : part);
  };
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      setTimeout(() => answer(request, Buffer.concat(parts), response), state.delayMs);
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const environment = {
    QUARK_S3_ENDPOINT: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    QUARK_S3_BUCKET: 'siege',
    QUARK_S3_ACCESS_KEY_ID: 'siege',
    QUARK_S3_SECRET_ACCESS_KEY: 'siege-secret',
  };
  return Object.assign(state, {
    environment,
    objects,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  });
}

function etagOf(bytes: Buffer): string {
  return `"${createHash('md5').update(bytes).digest('hex')}"`;
}
