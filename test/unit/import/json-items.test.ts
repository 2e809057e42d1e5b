/** JSON in parts: the same as all of it at once, wherever the pieces end. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { bytesInput, type InputFile } from '../../../src/codecs/input.ts';
import { readJsonItems } from '../../../src/codecs/json/json-items.ts';
import { DEFAULT_IMPORT_LIMITS } from '../../../src/codecs/limits.ts';
import { runs } from '../../support/property.ts';

const limits = DEFAULT_IMPORT_LIMITS;

/** A file that comes in pieces of this size. */
function inPiecesOf(text: string, size: number): InputFile {
  const file = bytesInput('x.json', text);
  return {
    ...file,
    async *stream() {
      for (let at = 0; at < file.sizeBytes; at += size) yield await file.slice(at, at + size);
    },
  };
}

async function read(
  file: InputFile,
  bounds: Partial<typeof limits> = {},
): Promise<{ readonly value: unknown; readonly problems: readonly (readonly [string, string])[] }> {
  const problems: (readonly [string, string])[] = [];
  const entries = new Map<string, unknown>();
  let list: unknown[] | undefined;
  const parts = readJsonItems(file, { ...limits, ...bounds }, (place, reason) =>
    problems.push([place, reason]),
  );
  for await (const part of parts) {
    if (part.kind === 'value') entries.set(part.key, part.value);
    else if (part.key === null) (list ??= []).push(...part.items);
    else {
      const known = (part.index === 0 ? undefined : entries.get(part.key)) as unknown[] | undefined;
      entries.set(part.key, [...(known ?? []), ...part.items]);
    }
  }
  return { value: list ?? Object.fromEntries(entries), problems };
}

test('is what JSON.parse makes of it', async () => {
  const keys = fc.string({ maxLength: 6 }).filter((key) => !/^(?:\d+|__proto__)$/.test(key));
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(fc.dictionary(keys, fc.jsonValue()), fc.array(fc.jsonValue())),
      fc.integer({ min: 1, max: 20 }),
      fc.constantFrom(undefined, 2),
      async (value, size, indent) => {
        const text = JSON.stringify(value, null, indent);
        const found = await read(inPiecesOf(text, size));
        expect(found.problems).toEqual([]);
        expect(found.value).toEqual(JSON.parse(text));
      },
    ),
    runs(500),
  );
});

test('of long lists, the parts are bounded and all of it comes', async () => {
  const rows = Array.from({ length: 20_000 }, (_, i) => ({ step: i, text: 'a"],{b\\' }));
  const parts: number[] = [];
  const found: unknown[] = [];
  const file = bytesInput('x.json', JSON.stringify({ a: 1, rows, z: [] }));
  for await (const part of readJsonItems(file, limits, () => undefined)) {
    if (part.kind !== 'items' || part.key !== 'rows') continue;
    expect(part.index).toBe(found.length);
    parts.push(part.items.length);
    found.push(...part.items);
  }
  expect(found).toEqual(rows);
  expect(Math.max(...parts)).toBeLessThan(4000);
});

test('what is wrong costs itself', async () => {
  expect(await read(bytesInput('x', '[1, oops, NaN, {"a": Infinity}]'))).toMatchObject({
    value: [1, Number.NaN, { a: Infinity }],
    problems: [['[1]', expect.stringMatching(/no JSON/)]],
  });
  expect(await read(bytesInput('x', '{"a": 1, "b" 2, "c": [3, 4'))).toMatchObject({
    value: { a: 1, c: [3] },
    problems: [
      ['an entry', expect.stringMatching(/no JSON/)],
      ['c[1]', 'The file ends in the middle of it.'],
    ],
  });
  const long = `[1, "${'x'.repeat(100)}", 2]`;
  expect(await read(bytesInput('x', long), { maxJsonItemBytes: 50 })).toMatchObject({
    value: [1, 2],
    problems: [['[1]', expect.stringMatching(/limits.maxJsonItemBytes/)]],
  });
  await expect(read(bytesInput('x', '[[[[1]]]]'), { maxDepth: 3 })).rejects.toMatchObject({
    code: 'invalid_input',
  });
  await expect(read(bytesInput('x', 'hello'))).rejects.toMatchObject({ code: 'invalid_input' });
  await expect(read(bytesInput('x', ' '))).rejects.toMatchObject({ code: 'invalid_input' });
});
