/** The first of some fields of a batch's metadata that is a number. */
export function numberOf(value: unknown, ...names: readonly string[]): number | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  for (const name of names) {
    const found: unknown = Reflect.get(value, name);
    if (typeof found === 'number') return found;
  }
  return undefined;
}
