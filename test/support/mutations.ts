/** Files that were damaged: bytes flipped, cut out, put in, doubled. What an importer does with them is no matter, but that it ends. */
import fc from 'fast-check';

/** A valid input: bytes or text by path. */
export type Files = Readonly<Record<string, string | Uint8Array<ArrayBuffer>>>;

type Mutation = {
  readonly kind: 'flip' | 'cut' | 'insert' | 'double';
  /** Where, as a share of the length. */
  readonly at: number;
  readonly length: number;
  readonly bytes: readonly number[];
};

/** Bytes that mean something in many formats are put in more often than others. */
const byte = fc.oneof(
  fc.integer({ min: 0, max: 255 }),
  fc.constantFrom(...Array.from('\n\r\t ,;:"\'{}[]-#=/.0123456789eNI\0', (c) => c.charCodeAt(0))),
);

const mutation: fc.Arbitrary<Mutation> = fc.record({
  kind: fc.constantFrom('flip' as const, 'cut' as const, 'insert' as const, 'double' as const),
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  length: fc.oneof(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 200 })),
  bytes: fc.array(byte, { minLength: 1, maxLength: 8 }),
});

/** One to four changes in one of the files of one of the inputs. */
export function damaged(
  inputs: readonly Files[],
): fc.Arbitrary<Record<string, Uint8Array<ArrayBuffer>>> {
  return fc
    .record({
      input: fc.nat(inputs.length - 1),
      file: fc.nat(),
      mutations: fc.array(mutation, { minLength: 1, maxLength: 4 }),
    })
    .map(({ input, file, mutations }) => {
      const entries = Object.entries(inputs[input] ?? {}).map(
        ([path, content]) =>
          [
            path,
            typeof content === 'string' ? new TextEncoder().encode(content) : content,
          ] as const,
      );
      const changed = file % entries.length;
      return Object.fromEntries(
        entries.map(([path, bytes], i) => [
          path,
          i === changed ? mutations.reduce(mutate, bytes) : bytes,
        ]),
      );
    });
}

function mutate(
  bytes: Uint8Array<ArrayBuffer>,
  { kind, at, length, bytes: put }: Mutation,
): Uint8Array<ArrayBuffer> {
  const from = Math.min(bytes.length, Math.floor(at * bytes.length));
  if (kind === 'flip') {
    const copy = bytes.slice();
    for (const [i, value] of put.entries()) if (from + i < copy.length) copy[from + i] = value;
    return copy;
  }
  const to = Math.min(bytes.length, from + length);
  const middle =
    kind === 'cut'
      ? []
      : kind === 'insert'
        ? put
        : [...bytes.subarray(from, to), ...bytes.subarray(from, to)];
  const rest = kind === 'insert' ? from : to;
  return Uint8Array.from([...bytes.subarray(0, from), ...middle, ...bytes.subarray(rest)]);
}

/** One of these byte strings after one to four changes, and which one it was. */
export function damagedBytes(
  inputs: readonly Uint8Array<ArrayBuffer>[],
): fc.Arbitrary<{ readonly input: number; readonly bytes: Uint8Array<ArrayBuffer> }> {
  return fc
    .tuple(fc.nat(inputs.length - 1), fc.array(mutation, { minLength: 1, maxLength: 4 }))
    .map(([input, mutations]) => ({
      input,
      bytes: mutations.reduce(mutate, inputs[input] ?? new Uint8Array(0)),
    }));
}
