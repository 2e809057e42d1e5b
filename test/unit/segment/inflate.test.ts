/** Both ways to inflate: what Node has, and what every engine has. */
import { deflateRawSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { inflate, inflateStream } from '../../../src/codecs/packed/inflate.ts';
import { runs } from '../../support/property.ts';

function deflated(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(deflateRawSync(bytes));
}

describe.each([
  ['of Node', inflate],
  ['of the web', inflateStream],
])('inflating by the means %s', (_name, way) => {
  test('gives what was deflated, and says when that is more or less than it should be', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.uint8Array({ maxLength: 200 }),
          fc.integer({ min: 0, max: 100_000 }).map((length) => new Uint8Array(length).fill(7)),
        ),
        fc.integer({ min: 1, max: 3 }),
        async (bytes, off) => {
          const stream = deflated(bytes);
          expect(Buffer.compare(await way(stream, bytes.length), bytes)).toBe(0);
          await expect(way(stream, bytes.length + off)).rejects.toMatchObject({
            code: 'segment_damaged',
            details: { reason: 'it holds less than it says' },
          });
          if (bytes.length >= off)
            await expect(way(stream, bytes.length - off)).rejects.toMatchObject({
              code: 'segment_damaged',
              details: { reason: 'it holds more than it says' },
            });
        },
      ),
      runs(15),
    );
  });

  test('a stream that is broken or cut off is damage', async () => {
    const bytes = Uint8Array.from({ length: 5000 }, (_, i) => (i * i) >> 3);
    const good = deflated(bytes);
    const reason = expect.stringMatching(/compressed part is broken|less than it says/);
    for (const bad of [
      good.slice(0, good.length >> 1),
      Uint8Array.of(255, 255, 255),
      good.slice(9),
    ])
      await expect(way(bad, bytes.length)).rejects.toMatchObject({
        code: 'segment_damaged',
        details: { reason },
      });
  });
});
