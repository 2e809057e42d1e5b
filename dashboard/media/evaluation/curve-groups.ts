/** Curves of classifiers that belong into one chart: those whose names differ in the last part, as of classes. Pure. */
import { getOrMake } from '../../parts/maps.ts';

/** Names that share all parts but the last. */
export type CurveGroup = { readonly title: string; readonly keys: readonly string[] };

/** Groups of names; a name without siblings is a group of its own. */
export function curveGroups(keys: readonly string[]): readonly CurveGroup[] {
  const parents = new Map<string, string[]>();
  for (const key of keys) {
    const parent = key.includes('/') ? key.slice(0, key.lastIndexOf('/')) : '';
    getOrMake(parents, parent, () => []).push(key);
  }
  return [...parents].flatMap(([parent, own]): CurveGroup[] =>
    parent === '' || own.length === 1
      ? own.map((key) => ({ title: key, keys: [key] }))
      : [{ title: parent, keys: own }],
  );
}

/** The last part of a name. */
export function lastPart(key: string): string {
  return key.slice(key.lastIndexOf('/') + 1);
}
