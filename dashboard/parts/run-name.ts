/** What a run is called for people. */
import type { RunRecord } from 'quark-sdk';
import { shortId } from './format.ts';
import { countBy, getOrMake } from './maps.ts';

type Named = Pick<RunRecord, 'id' | 'name' | 'projectName' | 'environment'>;

/** What an import says of a run that it brought; undefined for a run that was recorded. */
export function importOf(
  run: Pick<RunRecord, 'environment'>,
): { readonly name: string; readonly format: string; readonly isComplete: boolean } | undefined {
  const about = run.environment['import'];
  if (typeof about !== 'object' || about === null || Array.isArray(about)) return undefined;
  const [name, format, isComplete] = ['name', 'format', 'is_complete'].map((field): unknown =>
    Reflect.get(about, field),
  );
  if (typeof name !== 'string' || typeof format !== 'string') return undefined;
  return { name, format, isComplete: isComplete === true };
}

/**
 * The names of runs beside each other: each is told from all others. Imported runs of one name are told by where their files lie, as far
 * as that differs.
 */
export function runNames(runs: readonly Named[]): ReadonlyMap<string, string> {
  const names = runs.map((run) => run.name ?? importOf(run)?.name ?? run.projectName);
  const folders = runs.map(folderOf);
  const byName = new Map<string, number[]>();
  for (const [at, name] of names.entries()) getOrMake(byName, name, () => []).push(at);
  for (const same of byName.values()) {
    if (same.length === 1) continue;
    const parts = same.map((at) => folders[at] ?? []);
    const shared = sharedStart(parts);
    for (const [i, at] of same.entries()) {
      const own = (parts[i] ?? []).slice(shared);
      const name = names[at] ?? '';
      if (own.length > 0)
        names[at] = own.at(-1) === name ? own.join('/') : [...own, name].join('/');
    }
  }
  const counts = countBy(names, (name) => name);
  return new Map(
    runs.map(({ id }, at) => {
      const name = names[at] ?? id;
      return [id, counts.get(name) === 1 ? name : `${name} ${shortId(id)}`];
    }),
  );
}

/** The folders above the first file of an imported run. */
function folderOf(run: Named): readonly string[] {
  const about = run.environment['import'];
  if (typeof about !== 'object' || about === null) return [];
  const files: unknown = Reflect.get(about, 'files');
  const first: unknown = Array.isArray(files) ? files[0] : undefined;
  return typeof first === 'string' ? first.split('/').slice(0, -1) : [];
}

/** How many parts all of these begin with. */
function sharedStart(all: readonly (readonly string[])[]): number {
  const [first = []] = all;
  const at = first.findIndex((part, index) => all.some((one) => one[index] !== part));
  return at < 0 ? first.length : at;
}
