/** Fields of values that nobody has checked: configurations of models, metadata of batches. */

/** The first of some fields that is there. */
export function field(value: unknown, ...names: readonly string[]): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  for (const name of names) {
    const found: unknown = Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined;
    if (found !== undefined && found !== null) return found;
  }
  return undefined;
}

/** The first of some fields that is a number. */
export function numberOf(value: unknown, ...names: readonly string[]): number | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  for (const name of names) {
    const found: unknown = Reflect.get(value, name);
    if (typeof found === 'number') return found;
  }
  return undefined;
}
