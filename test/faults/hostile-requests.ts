/**
 * Requests that no service may take: valid ones with one thing wrong. Each names what is wrong with it. All of them are
 * wrong by construction, so that the only right answer is a 4xx.
 */
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { segmentChecksum } from '../../src/segment/checksum.ts';
import { PROTOCOL_HEADER, SPACE_HEADER, UPLOAD_MEDIA_TYPE } from '../../src/wire/protocol.ts';
import { encodeUpload } from '../../src/wire/upload.ts';
import { toWire } from '../../src/wire/wire.ts';
import type { NewSegment } from '../../src/store/store.ts';
import { RUN_ID, segmentOf } from './rows.ts';

/** A request as it is sent. */
export type HostileRequest = {
  /** What is wrong with it. */
  readonly wrong: string;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
};

export const API = '/api/v1';
export const JSON_HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'application/json',
};
export const UPLOAD_HEADERS: Readonly<Record<string, string>> = {
  'content-type': UPLOAD_MEDIA_TYPE,
};

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
const ROWS = 12;
const SHA = 'a'.repeat(64);
const LONG = 'x'.repeat(5_000);
/** What no name of anything may be. */
const badName = fc.constantFrom(
  '',
  '.',
  '..',
  'a/b',
  '../../etc/passwd',
  'a b',
  'ä',
  'x'.repeat(300),
  '\u0000',
  '-',
  '%2e',
);
const notText = fc.constantFrom<unknown>(null, 7, true, {}, [], ['x']);
const notNumber = fc.constantFrom<unknown>(null, 'x', '1', true, {}, [1]);
const notCount = fc.constantFrom<unknown>(null, 'x', true, {}, -1, 1.5, 2 ** 53, 1e308);

/** An upload with a head of one's own. */
function uploadOf(head: unknown, ...bytes: readonly Uint8Array[]): Uint8Array {
  const text = head instanceof Uint8Array ? head : utf8(JSON.stringify(head));
  const start = new Uint8Array(8);
  start.set(utf8('QSU1'));
  new DataView(start.buffer).setUint32(4, text.byteLength, true);
  return Buffer.concat([start, text, ...bytes]);
}

function post(wrong: string, body: Uint8Array, headers = UPLOAD_HEADERS): HostileRequest {
  return { wrong, method: 'POST', path: `${API}/segments`, headers, body };
}

/** A batch that nobody else sends. */
const anySegment = fc
  .integer({ min: 1_000_000, max: 9_000_000 })
  .map((batch) => segmentOf('hostile', batch, ROWS));

/** The segment as its manifest says, but for `change`; the checksum is right unless it is changed. */
function withBytes(
  segment: NewSegment,
  bytes: Uint8Array<ArrayBuffer>,
  change: object = {},
): Uint8Array {
  const checksum = segmentChecksum(segment.manifest, bytes);
  const manifest = { ...segment.manifest, sizeBytes: bytes.byteLength, checksum, ...change };
  return uploadOf({ segments: [toWire(manifest)] }, bytes);
}

const truncated = fc.tuple(anySegment, fc.nat()).map(([segment, at]) => {
  const whole = encodeUpload([segment]);
  return post('an upload that was cut off', whole.subarray(0, at % whole.byteLength));
});

const trailing = fc
  .tuple(anySegment, fc.uint8Array({ minLength: 1, maxLength: 50 }))
  .map(([segment, more]) =>
    post('bytes after the last segment', Buffer.concat([encodeUpload([segment]), more])),
  );

/** Bytes that are not those of the checksum. */
const flipped = fc
  .tuple(anySegment, fc.nat(), fc.integer({ min: 1, max: 255 }))
  .map(([segment, at, bits]) => {
    const bytes = segment.bytes.slice();
    const i = at % bytes.length;
    bytes[i] = (bytes[i] ?? 0) ^ bits;
    return post('a flipped byte', encodeUpload([{ ...segment, bytes }]));
  });

/** The checksum is right, the Arrow stream is not. */
const badArrow = fc
  .tuple(
    anySegment,
    fc.oneof(
      fc.uint8Array({ minLength: 1, maxLength: 400 }).map((noise) => () => noise),
      fc
        .double({ min: 0.01, max: 0.8, noNaN: true })
        .map((share) => (bytes: Uint8Array) => bytes.subarray(0, Math.ceil(share * bytes.length))),
      fc.constantFrom(
        (bytes: Uint8Array) =>
          Buffer.concat([bytes.subarray(0, 4), Buffer.alloc(4, 0xff), bytes.subarray(8)]),
        (bytes: Uint8Array) =>
          Buffer.concat([bytes.subarray(0, 8), Buffer.alloc(bytes.length - 8)]),
        (bytes: Uint8Array) => Buffer.concat([bytes.subarray(8), bytes.subarray(0, 8)]),
        () => Buffer.alloc(64),
        () => new Uint8Array(0),
      ),
    ),
  )
  .map(([segment, damage]) =>
    post('bad Arrow bytes', withBytes(segment, new Uint8Array(damage(segment.bytes)))),
  );

const badPacked = fc
  .tuple(anySegment, fc.integer({ min: 0, max: 2 ** 32 - 1 }), fc.uint8Array({ maxLength: 200 }))
  .map(([segment, length, noise]) => {
    const header = utf8(
      JSON.stringify({
        length,
        deflated: length,
        pieces: [[length, 8, 0, [0, 0, 0, 0, 0, 0, 0, 0]]],
      }),
    );
    const bytes = new Uint8Array(8 + header.length + noise.length);
    bytes.set(utf8('QPK1'));
    new DataView(bytes.buffer).setUint32(4, header.length, true);
    bytes.set(header, 8);
    bytes.set(noise, 8 + header.length);
    return post(
      'packed bytes that unpack to nothing',
      withBytes(segment, bytes, { encoding: 'packed' }),
    );
  });

/** What a manifest may not say, by field. */
const LIES: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  run_id: fc.oneof(badName, notText, fc.constantFrom('no_such_run', '__proto__', 'constructor')),
  table: fc.oneof(
    badName,
    notText,
    fc.constantFrom('Metrics', 'no_such_table', 'runs', 'toString'),
  ),
  writer_id: fc.oneof(badName, notText),
  batch_number: notCount,
  row_count: fc.oneof(notCount, fc.constantFrom(0, ROWS - 1, ROWS + 1, 2 ** 31, 2 ** 52)),
  step_min: fc.oneof(
    fc.constantFrom<unknown>(-1, 'x', 1, null, {}, 2 ** 53),
    notText.filter((value) => value !== null),
  ),
  step_max: fc.constantFrom<unknown>(-1, 'x', null, {}, 2 ** 52),
  epoch_min: fc.constantFrom<unknown>(0, 5, 'x', [], -7),
  epoch_max: fc.constantFrom<unknown>(0, 5, 'x', [], -7),
  time_min_ms: fc.constantFrom<unknown>(0, 'x', null, [], -1e300),
  time_max_ms: fc.constantFrom<unknown>(0, 'x', null, [], 1e300),
  keys: fc.constantFrom<unknown>(
    [],
    ['other'],
    'x',
    [1],
    {},
    [null],
    Array.from({ length: 2_000 }, (_, i) => `k${i}`),
  ),
  schema_version: fc.constantFrom<unknown>(99, 2 ** 31, -1, 1.5, '1', null),
  encoding: fc.constantFrom<unknown>('packed', 'gzip', 'ARROW', 1, null, '__proto__'),
  size_bytes: fc.constantFrom<unknown>(-1, 0, 1, 1.5, 2 ** 40, 2 ** 53, '400', null),
  checksum: fc.constantFrom<unknown>(0, 1, -1, 2 ** 32, 1.5, 'x', null),
  sources: fc.constantFrom<unknown>(
    null,
    'x',
    {},
    [1],
    [{}],
    [{ writer_id: 'w', batch_start: 3, batch_last: 1 }],
    [{ writer_id: '../', batch_start: 0, batch_last: 1 }],
  ),
};

const lyingManifest = fc
  .tuple(anySegment, fc.constantFrom(...Object.keys(LIES)))
  .chain(([segment, field]) =>
    (LIES[field] ?? fc.constant(undefined)).map((value) => {
      const manifest = { ...(toWire(segment.manifest) as object), [field]: value };
      return post(
        `${field} ${JSON.stringify(value).slice(0, 60)}`,
        uploadOf({ segments: [manifest] }, segment.bytes),
      );
    }),
  );

const missingField = fc
  .tuple(anySegment, fc.constantFrom(...Object.keys(LIES)))
  .map(([segment, field]) => {
    const { [field]: _, ...manifest } = toWire(segment.manifest) as Record<string, unknown>;
    return post(`no ${field}`, uploadOf({ segments: [manifest] }, segment.bytes));
  });

const DEEP = utf8(`${'['.repeat(200_000)}${']'.repeat(200_000)}`);
const badHead = fc
  .constantFrom<readonly [string, unknown]>(
    ['a list', []],
    ['null', null],
    ['text', 'segments'],
    ['no segments', {}],
    ['segments that are no list', { segments: {} }],
    ['a segment that is none', { segments: [null] }],
    ['a segment that is a list', { segments: [[]] }],
    ['too many segments', { segments: Array.from({ length: 5_000 }, () => ({})) }],
    ['nesting', DEEP],
    ['no JSON', utf8('{"segments": [')],
    ['no UTF-8', Uint8Array.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d])],
    ['a prototype', utf8('{"__proto__": {"segments": []}}')],
  )
  .map(([wrong, head]) => post(`a head that is ${wrong}`, uploadOf(head)));

const noUpload = fc
  .oneof(
    fc.uint8Array({ maxLength: 64 }),
    fc.constantFrom(
      utf8('QSU1'),
      utf8('QSU2\0\0\0\0{}'),
      Buffer.from('QSU1ffffffff7b7d', 'latin1'),
      utf8('{"segments":[]}'),
    ),
  )
  .map((body) => post('a body that is no upload', body));

/** Zeros that shrink a thousandfold. Two of each size, made once. */
const BOMB_MB = [70, 130, 220] as const;
const bombs = new Map<number, Uint8Array>();
function bomb(megabytes: number): Uint8Array {
  let packed = bombs.get(megabytes);
  if (packed === undefined) {
    packed = gzipSync(Buffer.alloc(megabytes * 1024 * 1024), { level: 9 });
    bombs.set(megabytes, packed);
  }
  return packed;
}

const bombed = fc
  .tuple(
    fc.constantFrom(...BOMB_MB),
    fc.constantFrom(
      { method: 'POST', path: `${API}/segments`, headers: UPLOAD_HEADERS },
      { method: 'POST', path: `${API}/runs`, headers: JSON_HEADERS },
      { method: 'POST', path: `${API}/segments/read`, headers: JSON_HEADERS },
      { method: 'PUT', path: `${API}/runs/${RUN_ID}/tables/metrics`, headers: UPLOAD_HEADERS },
      {
        method: 'PUT',
        path: `${API}/blobs/${SHA}`,
        headers: { 'content-type': 'application/octet-stream' },
      },
    ),
  )
  .map(([megabytes, request]) => ({
    ...request,
    wrong: `${megabytes} MB of zeros in gzip`,
    headers: { ...request.headers, 'content-encoding': 'gzip' },
    body: bomb(megabytes),
  }));

const badPacking = fc
  .tuple(
    anySegment,
    fc.constantFrom<readonly [string, string, (bytes: Uint8Array) => Uint8Array]>(
      ['gzip that was cut off', 'gzip', (bytes) => gzipSync(bytes).subarray(0, 60)],
      ['gzip that is none', 'gzip', (bytes) => bytes],
      ['gzip with a wrong sum', 'gzip', (bytes) => withLastByte(gzipSync(bytes))],
      ['gzip in gzip', 'gzip', (bytes) => gzipSync(gzipSync(bytes))],
      ['no body in gzip', 'gzip', () => new Uint8Array(0)],
      ['an unknown packing', 'br', (bytes) => bytes],
      ['an unknown packing', 'deflate', (bytes) => bytes],
      ['two packings', 'gzip, gzip', (bytes) => gzipSync(gzipSync(bytes))],
      ['a packing without end', LONG, (bytes) => bytes],
    ),
  )
  .map(([segment, [wrong, encoding, pack]]) =>
    post(wrong, pack(encodeUpload([segment])), { ...UPLOAD_HEADERS, 'content-encoding': encoding }),
  );

function withLastByte(bytes: Uint8Array): Uint8Array {
  // The last eight bytes are the checksum and the length.
  const copy = Uint8Array.from(bytes);
  copy[copy.length - 6] = (copy[copy.length - 6] ?? 0) ^ 1;
  return copy;
}

const GOOD_RUN: Readonly<Record<string, unknown>> = {
  id: 'run_hostile',
  project_id: 'project_faults',
  project_name: 'faults',
  status: 'running',
  started_at_ms: 1_700_000_000_000,
  tags: ['a'],
  document: '{"id":"run_hostile"}',
};
const RUN_LIES: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  id: fc.oneof(badName, notText, fc.constantFrom('run_other', '../run', 'run.')),
  project_id: fc.oneof(badName, notText),
  project_name: fc.oneof(notText, fc.constantFrom('', LONG, '\u0000')),
  status: fc.oneof(notText, fc.constantFrom('', LONG, '\u0000')),
  started_at_ms: fc.oneof(notNumber, fc.constantFrom(1e300, -1e300, 8.65e15)),
  tags: fc.constantFrom<unknown>(
    null,
    'x',
    {},
    [1],
    [null],
    [''],
    [LONG],
    ['\u0000'],
    Array.from({ length: 5_000 }, (_, i) => `t${i}`),
  ),
  document: fc.oneof(
    notText,
    fc.constantFrom<unknown>('', '{', '[]', '{"id":"other"}', '{}', 'null', '"run_hostile"'),
  ),
};

const lyingRun = fc
  .tuple(fc.constantFrom(...Object.keys(RUN_LIES)), fc.boolean())
  .chain(([field, isNew]) =>
    (RUN_LIES[field] ?? fc.constant(undefined)).map((value) => {
      const run = { ...GOOD_RUN, [field]: value, ...(isNew ? {} : { revision: 1 }) };
      return {
        wrong: `run.${field} ${JSON.stringify(value).slice(0, 60)}`,
        method: isNew ? 'POST' : 'PUT',
        path: isNew ? `${API}/runs` : `${API}/runs/run_hostile`,
        headers: JSON_HEADERS,
        body: utf8(JSON.stringify({ run })),
      };
    }),
  );

/** Addresses that take JSON. */
const JSON_ROUTES: readonly (readonly [method: string, path: string])[] = [
  ['POST', '/projects'],
  ['POST', '/runs'],
  ['PUT', `/runs/${RUN_ID}`],
  ['PUT', `/runs/${RUN_ID}/leases/hostile`],
  ['POST', '/segments/read'],
];

const badJson = fc
  .tuple(
    fc.constantFrom(...JSON_ROUTES),
    fc.oneof(
      fc.constantFrom<Uint8Array>(
        utf8(''),
        utf8('null'),
        utf8('[]'),
        utf8('"x"'),
        utf8('7'),
        utf8('{}'),
        utf8('{"run": null, "project": [], "segments": {}, "ttl_ms": "1"}'),
        utf8('{"run": {"__proto__": {"id": "run_x"}}}'),
        utf8('{"project": {"id": "p", "name": "", "created_at_ms": 1}}'),
        utf8('{"ttl_ms": 1e300}'),
        utf8('{"ttl_ms": -1, "segments": 1}'),
        utf8(`{"segments": [${Array.from({ length: 300 }, () => '{}').join()}]}`),
        utf8(
          '{"segments": [{"run_id": "../..", "table": "metrics", "writer_id": "w", "batch_number": 0}]}',
        ),
        DEEP,
        Uint8Array.from([0xff, 0xfe, 0x7b, 0x7d]),
        Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), utf8('{}')]),
        utf8(`{"x": "${'y'.repeat(9 * 1024 * 1024)}"}`),
      ),
      fc.uint8Array({ minLength: 1, maxLength: 100 }).filter((bytes) => bytes[0] !== 0x7b),
      fc
        .json({ maxDepth: 3 })
        .map((text) => utf8(text.slice(0, Math.max(1, text.length >> 1))))
        .filter((bytes) => bytes[0] !== 0x7b),
    ),
  )
  .map(([[method, path], body]) => ({
    wrong: `the message ${new TextDecoder().decode(body.subarray(0, 60))}`,
    method,
    path: API + path,
    headers: JSON_HEADERS,
    body,
  }));

/** Addresses that lead nowhere, and ways around the ones that do. */
const badPath = fc
  .tuple(
    fc.constantFrom('GET', 'PUT', 'POST', 'DELETE', 'PATCH', 'HEAD'),
    fc.constantFrom(
      '/runs/..%2f..%2f..%2fetc%2fpasswd',
      '/runs/%00',
      '/runs/a%00b',
      '/runs/%ff%fe',
      '/runs/%',
      '/runs/%zz',
      '/runs/' + 'x'.repeat(300),
      '/runs/' + '%41'.repeat(1_000),
      `/runs/${RUN_ID}/tables/..%2f..%2fmetrics/segments`,
      `/runs/${RUN_ID}/tables/METRICS/segments`,
      `/runs/${RUN_ID}/tables/metrics%00/segments`,
      `/runs/no_such_run/tables/metrics/segments?step_min=x`,
      `/runs/${RUN_ID}/leases/..%2f..`,
      '/blobs/..%2f..%2fquark.db',
      `/blobs/${SHA.toUpperCase()}`,
      `/blobs/${SHA}0`,
      `/blobs/${SHA.slice(1)}%00`,
      '/nowhere',
      '//runs',
      '/runs//x',
      '/..;/..;/admin',
      '/runs;x=1',
      '/__proto__',
      '/constructor/prototype',
      '/runs/__proto__',
    ),
  )
  .map(([method, path]) => ({
    wrong: `the address ${path.slice(0, 60)}`,
    method,
    path: API + path,
    headers: JSON_HEADERS,
  }));

const badQuery = fc
  .constantFrom(
    '/runs?limit=-1',
    '/runs?limit=1.5',
    '/runs?limit=1e9',
    '/runs?limit=%00',
    '/runs?limit=',
    '/runs?limit=99999999999999999999',
    '/runs?offset=-1',
    '/runs?offset=NaN',
    '/runs?offset=1;DROP%20TABLE%20runs',
    '/runs?project=',
    '/runs?tag=',
    '/runs?status=',
    `/runs/${RUN_ID}/tables/metrics/segments?step_min=x`,
    `/runs/${RUN_ID}/tables/metrics/segments?step_max=`,
    `/runs/${RUN_ID}/tables/metrics/segments?sequence_min=0x`,
    `/runs/${RUN_ID}/tables/metrics/segments?epoch_min=--1`,
    '/leases?run=..%2f..',
    `/leases?${Array.from({ length: 150 }, (_, i) => `run=r${i}`).join('&')}`,
  )
  .map((path) => ({
    wrong: `the question ${path.slice(0, 60)}`,
    method: 'GET',
    path: API + path,
    headers: {},
  }));

const badMethod = fc
  .tuple(
    fc.constantFrom('PATCH', 'DELETE', 'PUT', 'PROPFIND', 'MKCOL', 'TRACE'),
    fc.constantFrom('', '/projects', '/runs', '/segments', '/segments/read', '/leases', '/reclaim'),
  )
  .map(([method, path]) => ({
    wrong: `${method} ${path}`,
    method,
    path: API + path,
    headers: JSON_HEADERS,
    ...(method === 'TRACE' ? {} : { body: utf8('{}') }),
  }));

const badHeader = fc
  .tuple(
    anySegment,
    fc.constantFrom<Record<string, string>>(
      { [PROTOCOL_HEADER]: '99' },
      { [PROTOCOL_HEADER]: '0' },
      { [PROTOCOL_HEADER]: '' },
      { [PROTOCOL_HEADER]: '1e0' },
      { [PROTOCOL_HEADER]: 'one' },
      { [PROTOCOL_HEADER]: '-1' },
      { [PROTOCOL_HEADER]: '2, 3, 4' },
      { [PROTOCOL_HEADER]: LONG },
      { 'content-type': 'text/plain' },
      { 'content-type': 'application/x-www-form-urlencoded' },
      { 'content-type': '' },
      { 'content-type': 'multipart/form-data; boundary=x' },
      { 'content-type': JSON_HEADERS['content-type'] ?? '' },
      { [SPACE_HEADER]: '../other' },
      { [SPACE_HEADER]: 'a/b' },
      { [SPACE_HEADER]: '..' },
      { [SPACE_HEADER]: 'x'.repeat(300) },
      { [SPACE_HEADER]: 'a b' },
      { [SPACE_HEADER]: '%2e%2e' },
      { [SPACE_HEADER]: 'somebody:else:entirely' },
      { [SPACE_HEADER]: 'somebody:default' },
      { [SPACE_HEADER]: "x'; DROP TABLE runs; --" },
    ),
  )
  .map(([segment, headers]) =>
    post(`the headers ${JSON.stringify(headers).slice(0, 60)}`, encodeUpload([segment]), {
      ...UPLOAD_HEADERS,
      ...headers,
    }),
  );

const badBlob = fc
  .tuple(
    fc.uint8Array({ minLength: 1, maxLength: 2_000 }),
    fc.constantFrom(SHA, '0'.repeat(64), 'f'.repeat(64)),
  )
  .map(([body, sha]) => ({
    wrong: 'bytes of another hash',
    method: 'PUT',
    path: `${API}/blobs/${sha}`,
    headers: { 'content-type': 'application/octet-stream' },
    body,
  }));

const badMerge = fc
  .tuple(
    anySegment,
    fc.constantFrom<unknown>(
      undefined,
      null,
      'x',
      [null],
      [{ run_id: RUN_ID, table: 'events', writer_id: 'w', batch_number: 0 }],
      [{ run_id: 'other', table: 'metrics', writer_id: 'w', batch_number: 0 }],
      [{ run_id: RUN_ID, table: 'metrics', writer_id: 'w', batch_number: -1 }],
    ),
  )
  .map(([segment, remove]) => ({
    wrong: `a merge of ${JSON.stringify(remove)?.slice(0, 60)}`,
    method: 'POST',
    path: `${API}/runs/${RUN_ID}/tables/metrics/merge`,
    headers: UPLOAD_HEADERS,
    body: uploadOf(
      {
        segments: [toWire({ ...segment.manifest, firstSequence: 0, lastSequence: ROWS - 1 })],
        remove,
      },
      segment.bytes,
    ),
  }));

/** Keys of the service under test, and what is wrong with each. */
export type KnownKeys = { readonly good: string; readonly bad: Readonly<Record<string, string>> };

const FOREIGN_WAYS = [
  ['GET', '/runs'],
  ['GET', `/runs/${RUN_ID}`],
  ['GET', '/projects'],
  ['POST', '/segments'],
  ['DELETE', `/runs/${RUN_ID}/leases/hostile`],
] as const;

function badKey({ bad, good }: KnownKeys): fc.Arbitrary<HostileRequest> {
  const headers = fc.oneof(
    fc
      .constantFrom(...Object.entries(bad))
      .map(([wrong, key]) => [wrong, `Bearer ${key}`] as const),
    fc
      .nat(good.length - 1)
      .map((at) => ['a key with a typing error', `Bearer ${mistyped(good, at)}`] as const),
    fc.constantFrom<readonly [string, string]>(
      ['no key', ''],
      ['half a header', 'Bearer'],
      ['another scheme', `Basic ${Buffer.from(`user:${good}`).toString('base64')}`],
      ['two keys', `Bearer ${good} ${good}`],
      ['a key cut off', `Bearer ${good.slice(0, -1)}`],
      ['a longer key', `Bearer ${good}a`],
      ['a key without end', `Bearer qk_${LONG}`],
      ['SQL', "Bearer qk_' OR '1'='1"],
    ),
  );
  return fc
    .tuple(headers, fc.constantFrom(...FOREIGN_WAYS))
    .map(([[wrong, authorization], [method, path]]) => ({
      wrong,
      method,
      path: API + path,
      headers: { ...JSON_HEADERS, ...(wrong === 'no key' ? {} : { authorization }) },
    }));
}

function mistyped(key: string, at: number): string {
  return key.slice(0, at) + (key[at] === 'x' ? 'y' : 'x') + key.slice(at + 1);
}

/** What a key may not do that is good for something else. */
function beyondScope(readOnly: string, foreign: string): fc.Arbitrary<HostileRequest> {
  return fc.oneof(
    fc
      .tuple(
        anySegment,
        fc.constantFrom(
          'POST /segments',
          `PUT /runs/${RUN_ID}/tables/metrics`,
          'POST /projects',
          `PUT /runs/${RUN_ID}/leases/x`,
        ),
      )
      .map(([segment, way]) => {
        const [method = '', path = ''] = way.split(' ');
        return {
          wrong: 'writing with a key that reads',
          method,
          path: API + path,
          headers: { ...UPLOAD_HEADERS, authorization: `Bearer ${readOnly}` },
          body: encodeUpload([segment]),
        };
      }),
    fc
      .tuple(
        anySegment,
        fc.constantFrom('', 'default', 'owner:default', 'owner:other', 'local:default'),
      )
      .map(([segment, space]) => ({
        wrong: `writing into the run of somebody else as ${space}`,
        method: 'POST',
        path: `${API}/segments`,
        headers: {
          ...UPLOAD_HEADERS,
          authorization: `Bearer ${foreign}`,
          ...(space === '' ? {} : { [SPACE_HEADER]: space }),
        },
        body: encodeUpload([segment]),
      })),
    fc.constantFrom('owner:default', 'owner:other', 'local:default').map((space) => ({
      wrong: `reading the runs of ${space}`,
      method: 'GET',
      path: `${API}/runs/${RUN_ID}`,
      headers: { authorization: `Bearer ${foreign}`, [SPACE_HEADER]: space },
    })),
    fc
      .tuple(
        fc.constantFrom(
          'GET /keys',
          'POST /keys',
          'DELETE /keys/qk_000000000000',
          'DELETE /keys/..',
          'GET /shares',
          'PUT /shares',
          'DELETE /shares?project=faults&user=somebody',
        ),
        fc.constantFrom(readOnly, foreign),
      )
      .map(([way, key]) => {
        const [method = '', path = ''] = way.split(' ');
        return {
          wrong: 'managing keys and shares with a key that is for runs',
          method,
          path: API + path,
          headers: { ...JSON_HEADERS, authorization: `Bearer ${key}` },
          ...(method === 'POST' || method === 'PUT'
            ? {
                body: utf8('{"key":{"scope":"admin"},"share":{"project":"faults","user":"owner"}}'),
              }
            : {}),
        };
      }),
  );
}

const oversized = fc
  .constantFrom(
    {
      wrong: 'an upload of 70 MB',
      path: `${API}/segments`,
      headers: UPLOAD_HEADERS,
      megabytes: 70,
    },
    { wrong: 'a message of 12 MB', path: `${API}/runs`, headers: JSON_HEADERS, megabytes: 12 },
    {
      wrong: 'a question of 2 MB',
      path: `${API}/segments/read`,
      headers: JSON_HEADERS,
      megabytes: 2,
    },
  )
  .map(({ wrong, path, headers, megabytes }) => ({
    wrong,
    method: 'POST',
    path,
    headers,
    body: zeros(megabytes),
  }));

const zeroBytes = new Map<number, Uint8Array>();
function zeros(megabytes: number): Uint8Array {
  const made = zeroBytes.get(megabytes) ?? Buffer.alloc(megabytes * 1024 * 1024);
  zeroBytes.set(megabytes, made);
  return made;
}

/** The keys of two users: one of each that is good, and those that are not. */
export type HostileKeys = KnownKeys & {
  /** Of the owner of the data, for reading only. */
  readonly readOnly: string;
  /** Of somebody else. */
  readonly foreign: string;
};

/** All of them but the heavy ones, made with a good key unless that is what is wrong. */
export function anyHostileRequest(keys: HostileKeys): fc.Arbitrary<HostileRequest> {
  const withKey = (one: HostileRequest): HostileRequest => ({
    ...one,
    headers: { authorization: `Bearer ${keys.good}`, ...one.headers },
  });
  return fc.oneof(
    ...WEIGHTED.map(({ arbitrary, weight }) => ({ arbitrary: arbitrary.map(withKey), weight })),
    { arbitrary: badKey(keys), weight: 80 },
    { arbitrary: beyondScope(keys.readOnly, keys.foreign), weight: 60 },
  );
}

const WEIGHTED: readonly {
  readonly arbitrary: fc.Arbitrary<HostileRequest>;
  readonly weight: number;
}[] = [
  { arbitrary: truncated, weight: 80 },
  { arbitrary: trailing, weight: 20 },
  { arbitrary: flipped, weight: 60 },
  { arbitrary: badArrow, weight: 80 },
  { arbitrary: badPacked, weight: 40 },
  { arbitrary: lyingManifest, weight: 120 },
  { arbitrary: missingField, weight: 40 },
  { arbitrary: badHead, weight: 20 },
  { arbitrary: noUpload, weight: 30 },
  { arbitrary: badPacking, weight: 40 },
  { arbitrary: lyingRun, weight: 80 },
  { arbitrary: badJson, weight: 60 },
  { arbitrary: badPath, weight: 80 },
  { arbitrary: badQuery, weight: 40 },
  { arbitrary: badMethod, weight: 30 },
  { arbitrary: badHeader, weight: 50 },
  { arbitrary: badBlob, weight: 30 },
  { arbitrary: badMerge, weight: 20 },
];

/** Requests that cost a service much if it lets them: a few of them will do. */
export function anyHeavyRequest({ good }: HostileKeys): fc.Arbitrary<HostileRequest> {
  const authorization = `Bearer ${good}`;
  return fc
    .oneof({ arbitrary: bombed, weight: 2 }, oversized)
    .map((one) => ({ ...one, headers: { authorization, ...one.headers } }));
}
