/** Counts what code asks of memory, for tests of hostile input: bytes of typed arrays that are made by their length, and characters of keys that maps are given. */

/** What was counted since the beginning. */
export type CountedWork = { arrayBytes: number; mapEntries: number; keyChars: number };

const ARRAYS = ['Uint8Array', 'Int32Array', 'Uint32Array', 'Float64Array'] as const;

/** Runs `work` and counts. What the engine and Node make for themselves is not in it. */
export async function countWork(work: () => Promise<void>): Promise<CountedWork> {
  const counted: CountedWork = { arrayBytes: 0, mapEntries: 0, keyChars: 0 };
  const before = ARRAYS.map((name) => globalThis[name]);
  const prototype: object = Map.prototype;
  const set = Object.getOwnPropertyDescriptor(prototype, 'set');
  if (set === undefined) throw new Error('Map has no set');
  try {
    for (const name of ARRAYS) {
      const original = globalThis[name];
      const counting: object = new Proxy(original, {
        construct(target, given: unknown[], newTarget) {
          const [length] = given;
          if (typeof length === 'number') counted.arrayBytes += length * original.BYTES_PER_ELEMENT;
          const made: unknown = Reflect.construct(
            target,
            given,
            newTarget === counting ? target : newTarget,
          );
          return made as object;
        },
      });
      Reflect.set(globalThis, name, counting);
    }
    const original: unknown = set.value;
    if (typeof original !== 'function') throw new Error('Map has no set');
    Object.defineProperty(prototype, 'set', {
      ...set,
      value(this: Map<unknown, unknown>, key: unknown, value: unknown): unknown {
        counted.mapEntries++;
        if (typeof key === 'string') counted.keyChars += key.length;
        return Reflect.apply(original, this, [key, value]);
      },
    });
    await work();
  } finally {
    Object.defineProperty(prototype, 'set', set);
    ARRAYS.forEach((name, i) => Reflect.set(globalThis, name, before[i]));
  }
  return counted;
}
