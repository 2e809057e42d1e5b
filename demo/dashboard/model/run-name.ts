/** What a run is called for people. */
import type { RunRecord } from 'quark-sdk';
import { shortId } from './format.ts';

type Named = Pick<RunRecord, 'id' | 'projectName' | 'environment'>;

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

/** The names of runs beside each other: each is told from all others. */
export function runNames(runs: readonly Named[]): ReadonlyMap<string, string> {
  const plain = runs.map((run) => importOf(run)?.name ?? run.projectName);
  const counts = new Map<string, number>();
  for (const name of plain) counts.set(name, (counts.get(name) ?? 0) + 1);
  return new Map(
    runs.map((run, at) => {
      const name = plain[at] ?? run.projectName;
      return [run.id, counts.get(name) === 1 ? name : `${name} ${shortId(run.id)}`];
    }),
  );
}
