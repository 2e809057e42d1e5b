/** Segments unpacked in WebAssembly: what they hold, what zlib refuses, and nothing read or written outside. */
import { constants, deflateRawSync, inflateRawSync } from 'node:zlib';
import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { xxh32 } from '../../../src/base/xxh32.ts';
import { MAGIC, packSegment } from '../../../src/codecs/packed/pack.ts';
import { loadUnpacker } from '../../../src/codecs/packed/unpacker.ts';
import type { UnpackModule } from '../../../src/codecs/packed/unpack-module.ts';
import { unpackSegment } from '../../../src/codecs/packed/unpack.ts';
import { metricTable } from '../../../src/records/metric.ts';
import { encodeBatch } from '../../../src/segment/encode.ts';
import { runs } from '../../support/property.ts';

let module: UnpackModule;
beforeAll(async () => {
  const loaded = await loadUnpacker();
  if (loaded === undefined) throw new Error('WebAssembly runs here');
  module = loaded;
});

type Chunk = readonly [number] | readonly [number, number, 0 | 1, readonly number[]];

/** A packed segment of these parts, whatever they are. */
function packedOf(
  header: { length: number; deflated: number; pieces: readonly Chunk[] },
  ...parts: readonly Uint8Array[]
): Uint8Array<ArrayBuffer> {
  const json = new TextEncoder().encode(JSON.stringify(header));
  const frame = new Uint8Array(8);
  new DataView(frame.buffer).setUint32(0, MAGIC, true);
  new DataView(frame.buffer).setUint32(4, json.length, true);
  return Uint8Array.from(Buffer.concat([frame, json, ...parts]));
}

/** A segment that is one stream. */
function streamOf(stream: Uint8Array, length: number): Uint8Array<ArrayBuffer> {
  return packedOf({ length, deflated: length, pieces: [[length]] }, stream);
}

/** What a way of unpacking makes of bytes: the result, or that they are damaged. */
function outcome(bytes: Uint8Array): string {
  try {
    return Buffer.from(module.unpack(bytes)).toString('base64');
  } catch (error) {
    expect(error).toMatchObject({ code: 'segment_damaged' });
    return 'damaged';
  }
}

async function plainOutcome(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  try {
    return Buffer.from(await unpackSegment(bytes)).toString('base64');
  } catch (error) {
    expect(error).toMatchObject({ code: 'segment_damaged' });
    return 'damaged';
  }
}

/** Bytes that compress in every way: runs, periods of all lengths, few symbols, noise. */
const compressible = fc
  .array(
    fc.oneof(
      fc.record({ bytes: fc.uint8Array({ minLength: 1, maxLength: 40 }), times: fc.nat(200) }),
      fc.record({ bytes: fc.uint8Array({ maxLength: 600, max: 5 }), times: fc.constant(1) }),
      fc.record({ bytes: fc.uint8Array({ maxLength: 600 }), times: fc.constant(1) }),
    ),
    { maxLength: 12 },
  )
  .map((spans) =>
    Buffer.concat(spans.flatMap(({ bytes, times }) => Array.from({ length: times }, () => bytes))),
  );

const settings = fc.record({
  level: fc.integer({ min: 0, max: 9 }),
  memLevel: fc.integer({ min: 1, max: 9 }),
  strategy: fc.constantFrom(
    constants.Z_DEFAULT_STRATEGY,
    constants.Z_FILTERED,
    constants.Z_HUFFMAN_ONLY,
    constants.Z_RLE,
    constants.Z_FIXED,
  ),
});

describe('a stream', () => {
  test('gives what zlib deflated, by every level and strategy, and says when that is more or less', () => {
    fc.assert(
      fc.property(compressible, settings, fc.integer({ min: 1, max: 3 }), (bytes, options, off) => {
        const stream = deflateRawSync(bytes, options);
        expect(Buffer.compare(module.unpack(streamOf(stream, bytes.length)), bytes)).toBe(0);
        expect(() => module.unpack(streamOf(stream, bytes.length + off))).toThrow(/holds less/);
        if (bytes.length >= off)
          expect(() => module.unpack(streamOf(stream, bytes.length - off))).toThrow(/holds more/);
      }),
      runs(1_000),
    );
  });

  test('with bytes changed or cut off gives what zlib gives, or is damage where zlib refuses it', () => {
    const changes = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 4 });
    let refused = 0;
    let accepted = 0;
    fc.assert(
      fc.property(compressible, settings, changes, fc.nat(3), (bytes, options, edits, cut) => {
        const whole = Uint8Array.from(deflateRawSync(bytes, options));
        const stream = cut === 0 ? whole.slice(0, (edits[0]?.[0] ?? 0) % whole.length) : whole;
        if (stream.length === 0) return;
        if (cut > 0) for (const [at, value] of edits) stream[at % stream.length] = value;
        let wanted: Buffer | undefined;
        try {
          wanted = inflateRawSync(stream, { maxOutputLength: 1 << 20 });
        } catch {
          wanted = undefined;
        }
        const found = outcome(streamOf(stream, wanted?.length ?? bytes.length));
        expect(found).toBe(wanted === undefined ? 'damaged' : wanted.toString('base64'));
        if (wanted === undefined) refused++;
        else accepted++;
      }),
      runs(4_000),
    );
    expect(refused).toBeGreaterThan(50);
    expect(accepted).toBeGreaterThan(50);
  });

  test('of bytes of any kind is damage or what zlib makes of it', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 1, maxLength: 300 }),
        fc.nat(400),
        (stream, length) => {
          let wanted: Buffer | undefined;
          try {
            wanted = inflateRawSync(stream, { maxOutputLength: 1 << 20 });
          } catch {
            wanted = undefined;
          }
          const found = outcome(streamOf(stream, wanted?.length ?? length));
          expect(found).toBe(wanted === undefined ? 'damaged' : wanted.toString('base64'));
        },
      ),
      runs(5_000),
    );
  });
});

const planeKind = fc.oneof(fc.integer({ min: 0, max: 255 }), fc.constantFrom(-1, -2));

test('planes of all widths, in the stream, random or of one byte, are put together as JavaScript does it', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.record({
          width: fc.constantFrom(0, 2, 4, 8),
          rows: fc.nat(70),
          isDelta: fc.constantFrom<0 | 1>(0, 1),
          kinds: fc.array(planeKind, { minLength: 8, maxLength: 8 }),
        }),
        { maxLength: 5 },
      ),
      fc.integer({ min: 1, max: 2 ** 31 - 2 }),
      async (list, seed) => {
        const chunks = list.map(({ isDelta, kinds, rows, width }): Chunk =>
          width === 0 ? [rows] : [rows * width, width, isDelta, kinds.slice(0, width)],
        );
        let s = seed;
        const noise = (length: number): Uint8Array =>
          Uint8Array.from({ length }, () => (s = (s * 16807) % 2147483647) & 255);
        const sum = (kind: number): number =>
          chunks.reduce((total, chunk) => {
            if (chunk.length === 1) return total + (kind === -1 ? chunk[0] : 0);
            const [length, width, , kinds] = chunk;
            return total + (length / width) * kinds.filter((one) => one === kind).length;
          }, 0);
        const stream = noise(sum(-1));
        const length = chunks.reduce((total, [size]) => total + size, 0);
        const packed = packedOf(
          { length, deflated: stream.length, pieces: chunks },
          noise(sum(-2)),
          deflateRawSync(stream),
        );
        const wanted = await unpackSegment(packed);
        const found = module.unpack(packed);
        expect(Buffer.compare(found, wanted)).toBe(0);
        expect(found.length).toBe(length);
      },
    ),
    runs(500),
  );
});

test('a segment with any byte changed is what JavaScript makes of it, and its checksum is looked at first', async () => {
  const rowCount = 700;
  const column = (value: (row: number) => number): Float64Array =>
    Float64Array.from({ length: rowCount }, (_, row) => value(row));
  const plain = encodeBatch(metricTable, {
    rowCount,
    columns: new Map([
      ['timestamp', { kind: 'number', values: column((row) => 1.7e12 + 250 * row) }],
      ['value', { kind: 'f64', values: column((row) => Math.sin(row) / 3), isNull: null }],
      ['step', { kind: 'number', values: column((row) => row >> 1) }],
    ]),
  });
  const packed = await packSegment(plain);
  const seed = 77;
  const checksum = xxh32(packed, seed);
  expect(Buffer.compare(module.unpack(packed, { seed, checksum }), plain)).toBe(0);
  expect(() => module.unpack(packed, { seed, checksum: checksum ^ 1 })).toThrow(/checksum/);
  for (let at = 0; at < packed.length; at += 11) {
    const bad = packed.slice();
    bad[at] = (bad[at] ?? 0) ^ (1 << (at & 7));
    expect(() => module.unpack(bad, { seed, checksum })).toThrow(/checksum/);
    expect(outcome(bad)).toBe(await plainOutcome(bad));
  }
  for (const length of [0, 7, 8, 20, packed.length >> 1, packed.length - 1])
    expect(outcome(packed.slice(0, length))).toBe('damaged');
});

test('a large segment is unpacked, and its memory given back before the next', async () => {
  const bytes = Uint8Array.from({ length: 20_000_000 }, (_, i) => (i >> 9) & 255);
  const stream = deflateRawSync(bytes, { level: 1 });
  expect(Buffer.compare(module.unpack(streamOf(stream, bytes.length)), bytes)).toBe(0);
  const small = Uint8Array.of(1, 2, 3);
  const view = module.unpack(streamOf(deflateRawSync(small), 3));
  expect([...view]).toEqual([...small]);
  expect(view.buffer.byteLength).toBeLessThan(1 << 20);
});
