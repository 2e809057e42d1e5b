/** One thing wrong with a recorded request, drawn from a seed. */
import { gzipSync } from 'node:zlib';
import { requestBytes } from './exchange.ts';
import type { RecordedRequest } from './recorder.ts';

/** A request to be sent: bytes, and whether it announces more than it has. */
export type MutatedRequest = {
  readonly kind: string;
  /** Method and path, for messages. */
  readonly what: string;
  readonly bytes: Buffer;
  readonly isCut: boolean;
  /** Sent twice at the same time. */
  readonly isDoubled?: boolean;
};

type Random = () => number;
type Draw = { readonly random: Random; readonly all: readonly RecordedRequest[] };
type Change = (request: RecordedRequest, draw: Draw) => Partial<Sent>;
type Sent = RecordedRequest & {
  readonly length: string;
  readonly isCut: boolean;
  readonly isDoubled: boolean;
};

const HUGE = [
  '1e308',
  '-1',
  '9007199254740993',
  '18446744073709551616',
  '0.5',
  '-0',
  '1e-320',
  '99999999999999999999999999',
];
const TYPES = [
  'text/plain',
  'application/json; charset=utf-16',
  'application/vnd.quark.upload',
  'application/json',
  'multipart/form-data; boundary=x',
  '',
];
const ENCODINGS = ['gzip', 'br', 'deflate', 'gzip, gzip', 'identity', 'x'.repeat(3_000)];
const BAD_PATHS = [
  '%00',
  '%ff',
  '..%2f',
  '/',
  '?limit=1e99',
  '?limit=99999999999999999999',
  '?step_min=-1e308',
  '?text=%E0%A4%A',
  ';x',
  '#',
  '\u00ff',
];
const METHODS = ['GET', 'PUT', 'POST', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS'];

const CHANGES: Readonly<Record<string, Change>> = {
  'flipped bits in the body': ({ body }, { random }) => ({ body: flipped(body, random) }),
  'flipped bits in the path': ({ path }, { random }) => ({
    path: flipped(Buffer.from(path, 'latin1'), random)
      .toString('latin1')
      .replaceAll(/[\r\n ]/g, '_'),
  }),
  'a truncated body': ({ body }, { random }) => ({ body: part(body, random) }),
  'a body that ends early': ({ body }, { random }) => ({
    body: part(body, random),
    length: String(body.byteLength + 1 + at(1_000, random)),
    isCut: true,
  }),
  'a body longer than it says': ({ body }, { random }) => ({
    length: String(at(Math.max(1, body.byteLength), random)),
  }),
  'a length that is none': (_, { random }) => ({
    length: pick(['-1', '1e3', '0x10', '18446744073709551616', ' ', '5, 6'], random),
    isCut: true,
  }),
  'the headers of another request': (_, { all, random }) => ({
    headers: pick(all, random).headers,
  }),
  'the body of another request': (_, { all, random }) => ({ body: pick(all, random).body }),
  'another method': (_, { random }) => ({ method: pick(METHODS, random) }),
  'a header twice': ({ headers }, { random }) => ({ headers: [...headers, pick(headers, random)] }),
  'a header less': ({ headers }, { random }) => {
    const gone = at(headers.length, random);
    return { headers: headers.filter((_, i) => i !== gone) };
  },
  'flipped bits in a header': ({ headers }, { random }) => {
    const changed = at(headers.length, random);
    return {
      headers: headers.map(([name, value], i) => [
        name,
        i === changed
          ? flipped(Buffer.from(value, 'latin1'), random)
              .toString('latin1')
              .replaceAll(/[\r\n]/g, '_')
          : value,
      ]),
    };
  },
  'huge and wrong numbers': ({ body, path }, { random }) => ({
    body: withNumbers(body, random),
    path: path.replace(/=\d+/, () => `=${pick(HUGE, random)}`),
  }),
  'numbers of another length': ({ body }, { random }) => {
    const text = body.toString('latin1');
    return {
      body: Buffer.from(
        text.replaceAll(/\d+/g, (digits) =>
          random() < 0.1 ? `${digits}${at(99, random)}` : digits,
        ),
        'latin1',
      ),
    };
  },
  'another media type': ({ headers }, { random }) => ({
    headers: withHeader(headers, 'content-type', pick(TYPES, random)),
  }),
  'another content encoding': ({ headers, body }, { random }) => ({
    headers: withHeader(headers, 'content-encoding', pick(ENCODINGS, random)),
    body: random() < 0.5 ? body : gzipSync(flipped(body, random)),
  }),
  'another character encoding': ({ body }, { random }) => ({
    body:
      random() < 0.5
        ? Buffer.concat([
            Buffer.from([0xff, 0xfe]),
            Buffer.from(body.toString('latin1'), 'utf16le'),
          ])
        : Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), body]),
  }),
  'something behind the path': ({ path }, { random }) => ({ path: path + pick(BAD_PATHS, random) }),
  'another space': ({ headers }, { random }) => ({
    headers: withHeader(
      headers,
      'quark-space',
      pick(['../x', 'victim:default', 'a/b', '', 'x'.repeat(400), 'new'], random),
    ),
  }),
  'sent twice at once': () => ({ isDoubled: true }),
  'sent out of order': () => ({}),
};

/** The names of all changes. */
export const MUTATIONS: readonly string[] = Object.keys(CHANGES);

/** Request `i` of so many: changes and requests take turns, what is drawn follows from the seed. */
export function mutated(
  all: readonly RecordedRequest[],
  i: number,
  to: { readonly port: number; readonly key: string; readonly random: Random },
): MutatedRequest {
  const { port, key, random } = to;
  const kind = MUTATIONS[i % MUTATIONS.length] ?? '';
  const recorded = pick(all, random);
  const own = {
    ...recorded,
    headers: withHeader(recorded.headers, 'authorization', `Bearer ${key}`),
  };
  const keyed = {
    random,
    all: all.map((one) => ({
      ...one,
      headers: withHeader(one.headers, 'authorization', `Bearer ${key}`),
    })),
  };
  const sent: Sent = {
    ...own,
    length: '',
    isCut: false,
    isDoubled: false,
    ...CHANGES[kind]?.(own, keyed),
  };
  const bytes = requestBytes(
    sent,
    port,
    sent.length === '' ? String(sent.body.byteLength) : sent.length,
  );
  const { isCut, isDoubled } = sent;
  return { kind, what: `${sent.method} ${sent.path.slice(0, 80)}`, bytes, isCut, isDoubled };
}

function withHeader(
  headers: RecordedRequest['headers'],
  name: string,
  value: string,
): RecordedRequest['headers'] {
  return [...headers.filter(([one]) => one.toLowerCase() !== name), [name, value]];
}

function at(length: number, random: Random): number {
  return Math.floor(random() * length);
}

function pick<T>(values: readonly T[], random: Random): T {
  const found = values[at(values.length, random)];
  if (found === undefined) throw new Error('There is nothing to pick from.');
  return found;
}

function part(body: Buffer, random: Random): Buffer {
  return body.subarray(0, at(body.byteLength + 1, random));
}

function flipped(bytes: Buffer, random: Random): Buffer {
  const changed = Buffer.from(bytes);
  const times = 1 + at(4, random);
  for (let i = 0; i < times && changed.byteLength > 0; i++) {
    const where = at(changed.byteLength, random);
    changed[where] = (changed[where] ?? 0) ^ (1 << at(8, random));
  }
  return changed;
}

/** Some of the numbers replaced; the head of an upload says how long it is, so that it is read. */
function withNumbers(body: Buffer, random: Random): Buffer {
  const replaced = (text: string): string =>
    text.replaceAll(/(?<=:)-?\d+(?:\.\d+)?/g, (found) =>
      random() < 0.25 ? pick(HUGE, random) : found,
    );
  if (body.toString('latin1', 0, 3) !== 'QSU')
    return Buffer.from(replaced(body.toString('latin1')), 'latin1');
  const headBytes = body.readUInt32LE(4);
  const head = Buffer.from(replaced(body.toString('latin1', 8, 8 + headBytes)), 'latin1');
  const start = Buffer.from(body.subarray(0, 8));
  start.writeUInt32LE(head.byteLength, 4);
  return Buffer.concat([start, head, body.subarray(8 + headBytes)]);
}
