// The first byte that no static data occupies: everything from there on belongs to the arena of src/kernel/arena.ts.
export function heapBase(): usize {
  return (__heap_base + 15) & ~15;
}
