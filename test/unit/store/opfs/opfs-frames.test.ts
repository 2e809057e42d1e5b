import { expect, test } from 'vitest';
import { encodeFrame, findFrames } from '../../../../src/store/opfs/opfs-frames.ts';

const joined = (buffers: readonly Uint8Array[]): Uint8Array<ArrayBuffer> =>
  new Uint8Array(Buffer.concat(buffers));
const frame = (order: number, ...parts: number[][]): Uint8Array<ArrayBuffer> =>
  joined(
    encodeFrame(
      { order, kind: 'tx', body: { n: order } },
      parts.map((part) => Uint8Array.from(part)),
    ).buffers,
  );
const find = (bytes: Uint8Array<ArrayBuffer>, from = 0) =>
  findFrames(async (start, end) => bytes.slice(start, end), from, bytes.byteLength);

test('the bytes are those of docs/formats.md', () => {
  const bytes = frame(7, [1, 2, 3]);
  expect(Buffer.from(bytes.subarray(0, 16)).toString('hex')).toMatchInlineSnapshot(
    `"514b4631400000000300000051c9436f"`,
  );
  expect(Buffer.from(bytes.subarray(16, -3)).toString()).toMatchInlineSnapshot(
    `"{"order":7,"kind":"tx","body":{"n":7},"parts":[[3,4120672452]]} "`,
  );
});

test('a file cut at any byte has the frames before it, and says where they end', async () => {
  const all = [frame(1), frame(2, [1, 2, 3], []), frame(3, [4])];
  const bytes = joined(all);
  const ends = all.map((_, i) => joined(all.slice(0, i + 1)).byteLength);
  for (let size = 0; size <= bytes.byteLength; size++) {
    const { end, frames } = await find(bytes.slice(0, size));
    const whole = ends.filter((one) => one <= size);
    expect(frames.map(({ order }) => order)).toEqual([1, 2, 3].slice(0, whole.length));
    expect(end).toBe(whole.at(-1) ?? 0);
  }
});

test('a changed byte in the middle costs its frame; in the last part, the frame that was not whole', async () => {
  const all = [frame(1), frame(2, [1, 2, 3]), frame(3), frame(4, [9, 9, 9, 9])];
  const bytes = joined(all);
  const first = all[0]?.byteLength ?? 0;
  const last = bytes.byteLength;
  for (const [at, orders] of [
    [first + 20, [1, 3, 4]],
    [first + 3, [1, 3, 4]],
    [last - 1, [1, 2, 3]],
  ] as const) {
    const damaged = bytes.slice();
    damaged[at] = (damaged[at] ?? 0) ^ 1;
    const { frames } = await find(damaged);
    expect(frames.map(({ order }) => order)).toEqual(orders);
  }
});

test('parts beyond a window, and a header larger than one, are found', async () => {
  const large = new Uint8Array(600_000).fill(7);
  const body = { text: 'x'.repeat(300_000) };
  const bytes = joined([
    ...encodeFrame({ order: 1, kind: 'tx', body }, [large, large]).buffers,
    frame(2, [1]),
  ]);
  const { end, frames } = await find(bytes);
  expect(frames.map(({ order, parts }) => [order, parts.length])).toEqual([
    [1, 2],
    [2, 1],
  ]);
  expect(end).toBe(bytes.byteLength);
});
