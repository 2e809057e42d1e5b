/** The values of a long list, so many at a time; the last group may be smaller, and none is empty. */
export async function* inGroups<T>(
  values: AsyncIterable<T>,
  count: number,
): AsyncGenerator<readonly T[]> {
  let group: T[] = [];
  for await (const value of values) {
    group.push(value);
    if (group.length < count) continue;
    yield group;
    group = [];
  }
  if (group.length > 0) yield group;
}
