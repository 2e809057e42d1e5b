/** Columns on their way to a worker: in slices, since a message of hundreds of megabytes blocks the thread that copies it. */

/** Arrays of fewer bytes travel with the rest. */
const SMALL_BYTES = 16 << 10;
/** Bytes of one slice: some 0.5 ms of copying. */
const SLICE_BYTES = 1 << 20;

const TYPES = { Float64Array, Float32Array, Int32Array, Uint32Array, Uint8Array } as const;
type TypeName = keyof typeof TYPES;
type Numbers = Float64Array | Float32Array | Int32Array | Uint32Array | Uint8Array;

/** A slice of one of the arrays. */
export type ArraySlice = {
  readonly array: number;
  readonly type: TypeName;
  readonly length: number;
  readonly byteAt: number;
  readonly bytes: Uint8Array<ArrayBuffer>;
};

/** An array in the value that it was taken from. */
type ArrayMark = { readonly quarkArray: number };

/**
 * Takes long arrays of numbers out of a value of plain objects, lists and maps.
 *
 * @returns what remains, and the arrays in slices that own their bytes
 */
export function takeApart(value: unknown): {
  readonly rest: unknown;
  readonly slices: () => Generator<ArraySlice>;
} {
  const arrays: { readonly type: TypeName; readonly values: Numbers }[] = [];
  const walk = (one: unknown): unknown => {
    if (Array.isArray(one)) return one.map(walk);
    if (one instanceof Map) return new Map([...one].map(([key, member]) => [key, walk(member)]));
    if (typeof one !== 'object' || one === null) return one;
    if (ArrayBuffer.isView(one)) {
      const type = typeOf(one);
      if (type === undefined || one.byteLength < SMALL_BYTES) return one;
      arrays.push(type);
      const mark: ArrayMark = { quarkArray: arrays.length - 1 };
      return mark;
    }
    return Object.fromEntries(Object.entries(one).map(([key, member]) => [key, walk(member)]));
  };
  const rest = walk(value);
  return {
    rest,
    *slices() {
      for (const [array, { type, values }] of arrays.entries()) {
        const { buffer, byteLength, byteOffset, length } = values;
        for (let byteAt = 0; byteAt < byteLength; byteAt += SLICE_BYTES) {
          const size = Math.min(SLICE_BYTES, byteLength - byteAt);
          const bytes = new Uint8Array(size);
          bytes.set(new Uint8Array(buffer, byteOffset + byteAt, size));
          yield { array, type, length, byteAt, bytes };
        }
      }
    },
  };
}

/** Puts together what {@link takeApart} took apart. */
export class Assembly {
  readonly #arrays = new Map<number, Numbers>();

  add({ array, byteAt, bytes, length, type }: ArraySlice): void {
    const values = this.#arrays.get(array) ?? new TYPES[type](length);
    this.#arrays.set(array, values);
    new Uint8Array(values.buffer, values.byteOffset + byteAt, bytes.length).set(bytes);
  }

  /** The value, whose slices were all added. */
  finish(rest: unknown): unknown {
    if (Array.isArray(rest)) return rest.map((one) => this.finish(one));
    if (rest instanceof Map)
      return new Map([...rest].map(([key, member]) => [key, this.finish(member)]));
    if (typeof rest !== 'object' || rest === null || ArrayBuffer.isView(rest)) return rest;
    if ('quarkArray' in rest && typeof rest.quarkArray === 'number')
      return this.#arrays.get(rest.quarkArray);
    return Object.fromEntries(
      Object.entries(rest).map(([key, member]) => [key, this.finish(member)]),
    );
  }
}

function typeOf(
  view: ArrayBufferView,
): { readonly type: TypeName; readonly values: Numbers } | undefined {
  for (const [name, type] of Object.entries(TYPES))
    if (view instanceof type) return { type: name as TypeName, values: view }; // Object.entries forgets the names
  return undefined;
}
