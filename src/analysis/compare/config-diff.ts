/** Configurations of runs, setting by setting. */
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { configDiffRecord, type ConfigDiff } from './diff-records.ts';

/** Names of settings that say which random numbers were drawn, and nothing else. */
const SEED = /^(?:(?:random|rng|global|torch|np|numpy|data|model|init|shuffle)[_-]?)?seeds?$/iu;

/** Settings in one object, by their path. Lists are values as they are: a list of layers differs as a whole. */
export function flatSettings(config: JsonObject): ReadonlyMap<string, JsonValue> {
  const found = new Map<string, JsonValue>();
  const walk = (value: JsonValue, path: string): void => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      found.set(path, value);
      return;
    }
    const entries = Object.entries(value);
    if (entries.length === 0 && path !== '') found.set(path, value);
    for (const [name, inner] of entries) walk(inner, path === '' ? name : `${path}.${name}`);
  };
  walk(config, '');
  return found;
}

/** The settings that differ, by path in alphabetical order. */
export function diffConfigs(primary: JsonObject, reference: JsonObject): readonly ConfigDiff[] {
  const first = flatSettings(primary);
  const second = flatSettings(reference);
  return [...new Set([...first.keys(), ...second.keys()])].toSorted().flatMap((path) => {
    const a = first.get(path);
    const b = second.get(path);
    if (canonicalText(a) === canonicalText(b)) return [];
    return configDiffRecord.create({
      path,
      presence: a === undefined ? 'reference' : b === undefined ? 'primary' : 'both',
      primaryValue: a ?? null,
      referenceValue: b ?? null,
    });
  });
}

/** Whether a path names a seed: `seed`, `train.random_seed`, ... */
export function isSeedPath(path: string): boolean {
  return SEED.test(path.split('.').at(-1) ?? '');
}

/** The same text for configurations that differ in seeds only. */
export function configWithoutSeeds(config: JsonObject): string {
  const kept = [...flatSettings(config)].filter(([path]) => !isSeedPath(path));
  const settings = kept.map(([path, value]) => [path, sorted(value)] as const);
  return JSON.stringify(settings.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** The same text for values that say the same; undefined for none. */
export function canonicalText(value: JsonValue | undefined): string | undefined {
  return JSON.stringify(sorted(value));
}

/** Keys of objects within lists in one order. */
function sorted(value: JsonValue | undefined): JsonValue | undefined {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => sorted(item) ?? null);
  const entries = Object.entries(value).map(
    ([name, inner]) => [name, sorted(inner) ?? null] as const,
  );
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
