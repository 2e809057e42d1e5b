/** Profiles made by hand, for tests of what is read from one. */
import type { ProfileValues } from '../../src/profile/measures.ts';
import {
  completeProfile,
  type Profile,
  type ProfileCheckpoint,
  type ProfileReading,
  type RecordedProfile,
} from '../../src/profile/profile.ts';

/** Records checkpoints at times that the test gives. */
export class MadeProfile {
  readonly #checkpoints: ProfileCheckpoint[] = [];
  readonly #readings: ProfileReading[] = [];
  readonly #open: { id: number; name: string; parentId: number | null }[] = [];
  #nextScope = 0;

  at(atMs: number, name: string, values: ProfileValues = {}): this {
    this.#add(atMs, name, values, null);
    return this;
  }

  begin(atMs: number, name: string, values: ProfileValues = {}, parentId?: number): number {
    const scope = {
      id: this.#nextScope++,
      name,
      parentId: parentId ?? this.#open.at(-1)?.id ?? null,
    };
    this.#open.push(scope);
    const mark = { ...scope, boundary: 'start', isAutomatic: false, hasFailed: false } as const;
    this.#add(atMs, `${name} Start`, values, mark);
    return scope.id;
  }

  /** Ends the innermost scope, or the one with this number. */
  end(atMs: number, values: ProfileValues = {}, id?: number): this {
    const found = this.#open.findIndex((one) => one.id === id);
    const [scope] = this.#open.splice(found < 0 ? -1 : found, 1);
    if (scope === undefined) throw new Error('No scope is open.');
    const mark = { ...scope, boundary: 'end', isAutomatic: false, hasFailed: false } as const;
    this.#add(atMs, `${scope.name} End`, values, mark);
    return this;
  }

  gpu(atMs: number, value: number, checkpoints: readonly number[] = []): this {
    const gpus = [{ index: 0, name: 'Made GPU', usedBytes: value, totalBytes: null }];
    this.#readings.push({ measure: 'gpu_bytes', atMs, checkpoints, value, gpus });
    return this;
  }

  done(changes: Partial<RecordedProfile> = {}): Profile {
    return completeProfile({
      id: 'prf_made',
      runId: null,
      startedAtMs: 1_709_395_200_000,
      endedMs: this.#checkpoints.at(-1)?.atMs ?? 0,
      checkpoints: this.#checkpoints,
      readings: this.#readings,
      summary: {},
      metrics: [],
      droppedCheckpoints: 0,
      ...changes,
    });
  }

  #add(atMs: number, name: string, values: ProfileValues, scope: ProfileCheckpoint['scope']): void {
    const timeMs = 1_709_395_200_000 + atMs;
    const index = this.#checkpoints.length;
    this.#checkpoints.push({ index, name, atMs, timeMs, values, peakSource: null, scope });
  }
}
