// A TensorBoard event file of scalars, as PyTorch writes it: one value a record. The loops it is compared with.
import { createWriteStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { once } from 'node:events';
import { finished } from 'node:stream/promises';

const TAGS = [
  'train/loss',
  'train/accuracy',
  'train/grad_norm',
  'optimizer/learning_rate',
  'perf/samples_per_second',
  'layers/encoder.0.attention/weight_norm',
];
const HEADER = 12;
const TRAILER = 4;
/** What a record is larger than its data. */
const FRAME = HEADER + TRAILER;

const TABLE = Int32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
  return crc;
});

/** The checksum as one writes it: a table, a byte at a time. */
function masked(bytes, start, end) {
  let crc = -1;
  for (let i = start; i < end; i++) crc = (crc >>> 8) ^ TABLE[(crc ^ bytes[i]) & 255];
  crc = ~crc;
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0;
}

export const tensorBoardPart = {
  file: 'events.out.tfevents.1700000000.host',
  make: makeEvents,
  count: (path) => walk(path, undefined),
  each: (path) => walk(path, checked),
  plain: (path) => walk(path, decoded),
  unit: 'records',
  labels: {
    count: 'reading it and going from length to length',
    each: 'the same with checksums verified, a byte at a time',
    plain: 'a loop over records that checks and decodes them',
  },
};

/** Goes over the records; those that lie across two pieces are put together. */
async function walk(path, visit) {
  const file = await open(path);
  const piece = new Uint8Array(1 << 20);
  let rest = new Uint8Array(0);
  let count = 0;
  for (;;) {
    const { bytesRead } = await file.read(piece, 0, piece.length, null);
    if (bytesRead === 0) break;
    const bytes = new Uint8Array(rest.length + bytesRead);
    bytes.set(rest);
    bytes.set(piece.subarray(0, bytesRead), rest.length);
    const view = new DataView(bytes.buffer);
    let at = 0;
    while (bytes.length - at >= HEADER) {
      const length = view.getUint32(at, true);
      if (at + FRAME + length > bytes.length) break;
      if (visit !== undefined) visit(bytes, view, at, length);
      count++;
      at += FRAME + length;
    }
    rest = bytes.slice(at);
  }
  await file.close();
  return count;
}

function checked(bytes, view, at, length) {
  if (masked(bytes, at, at + 8) !== view.getUint32(at + 8, true)) throw new Error('length');
  const end = at + HEADER + length;
  if (masked(bytes, at + HEADER, end) !== view.getUint32(end, true)) throw new Error('data');
}

const TEXT = new TextDecoder();
const rows = [];

/** Time, step, tag and value of an event with one scalar, as makeEvents writes it. */
function decoded(bytes, view, at, length) {
  checked(bytes, view, at, length);
  let i = at + HEADER;
  const wallTime = view.getFloat64(i + 1, true);
  i += 9;
  if (bytes[i] !== 0x10) return;
  i++;
  let step = 0;
  for (let scale = 1; ; scale *= 128) {
    const byte = bytes[i++];
    step += (byte & 127) * scale;
    if (byte < 128) break;
  }
  const tagSize = bytes[i + 5];
  const tag = TEXT.decode(bytes.subarray(i + 6, i + 6 + tagSize));
  const value = view.getFloat32(i + 7 + tagSize, true);
  rows.push({ wallTime, step, tag, value });
  if (rows.length > 100_000) rows.length = 0;
}

async function makeEvents(path, size) {
  const stream = createWriteStream(path);
  const tags = TAGS.map((tag) => new TextEncoder().encode(tag));
  const part = new Uint8Array(1 << 20);
  const view = new DataView(part.buffer);
  let s = 88172645463325;
  const random = () => (s = (s * 16807) % 2147483647) / 2147483647;
  let at = 0;
  const end = (start) => {
    const length = at - start - HEADER;
    view.setUint32(start, length, true);
    view.setUint32(start + 4, 0, true);
    view.setUint32(start + 8, masked(part, start, start + 8), true);
    view.setUint32(at, masked(part, start + HEADER, at), true);
    at += TRAILER;
  };
  const begin = (seconds) => {
    const start = at;
    at += HEADER;
    part[at] = 0x09;
    view.setFloat64(at + 1, seconds, true);
    at += 9;
    return start;
  };
  const version = begin(1.7e9);
  part.set([0x1a, 13, ...new TextEncoder().encode('brain.Event:2')], at);
  at += 15;
  end(version);
  let written = 0;
  let count = 1;
  for (let step = 1; written < size; step++) {
    for (const tag of tags) {
      const start = begin(1.7e9 + step * 0.05);
      part[at++] = 0x10;
      let rest = step;
      for (; rest > 127; rest >>= 7) part[at++] = (rest & 127) | 128;
      part[at++] = rest;
      part.set([0x2a, tag.length + 9, 0x0a, tag.length + 7, 0x0a, tag.length], at);
      part.set(tag, at + 6);
      at += 6 + tag.length;
      part[at] = 0x15;
      view.setFloat32(at + 1, 2 * Math.exp(-step / 1e5) + random(), true);
      at += 5;
      end(start);
      count++;
    }
    if (at > part.length - 4096) {
      written += at;
      if (!stream.write(part.slice(0, at))) await once(stream, 'drain');
      at = 0;
    }
  }
  stream.end(part.slice(0, at));
  await finished(stream);
  return count;
}
