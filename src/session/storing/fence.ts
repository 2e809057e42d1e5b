/**
 * The fence of a session. A session writes under the generation that its run had when it began. Once another session has taken the
 * run over, the store refuses its live appends. What it had buffered is then stored under its own generation, as superseded; its run
 * is not changed any more, and its training is told.
 */
import { isStoreError, type SessionStoreError } from '../../base/errors.ts';
import { generationOf } from '../../records/shapes/run.ts';
import type { RowSpill } from '../../store/row-spill.ts';
import { runFenced } from '../../store/run-rules.ts';
import type { NewSegment, RunGeneration, SegmentManifest, StoredRun } from '../../store/store.ts';

type Write<T> = (segments: readonly NewSegment[], live?: readonly RunGeneration[]) => T;

/** See the top of this file. */
export class Fence {
  /** The condition of live appends. */
  readonly live: readonly [RunGeneration];
  readonly #onFenced: (error: SessionStoreError, current: number) => void;
  #error: SessionStoreError | undefined;

  /** @param onFenced called once, with the generation that the run has now */
  constructor(live: RunGeneration, onFenced: (error: SessionStoreError, current: number) => void) {
    this.live = [live];
    this.#onFenced = onFenced;
  }

  /** Why the session may not write any more; undefined while it may. */
  get error(): SessionStoreError | undefined {
    return this.#error;
  }

  /** Checks what was thrown. Returns whether another session has taken the run over. */
  notice(error: unknown): boolean {
    if (!isStoreError(error, 'fenced')) return false;
    if (this.#error !== undefined) return true;
    this.#error = error;
    this.#onFenced(error, Number(error.details['generation']));
    return true;
  }

  /** @throws {SessionStoreError} `fenced` when the run has a later generation */
  check(run: StoredRun): void {
    const [{ generation, runId }] = this.live;
    const current = generationOf(run);
    if (current > generation) throw runFenced(runId, generation, current);
  }

  /** Appends as a live session; where that is refused, and from then on, under the generation of the session. */
  async append(
    segments: readonly NewSegment[],
    write: Write<Promise<readonly SegmentManifest[]>>,
  ): Promise<readonly SegmentManifest[]> {
    if (this.#error === undefined) {
      try {
        return await write(segments, this.live);
      } catch (error) {
        if (!this.notice(error)) throw error;
      }
    }
    return write(this.stamp(segments));
  }

  /** The same, before it returns. */
  appendNow(
    segments: readonly NewSegment[],
    write: Write<readonly SegmentManifest[]>,
  ): readonly SegmentManifest[] {
    if (this.#error === undefined) {
      try {
        return write(segments, this.live);
      } catch (error) {
        if (!this.notice(error)) throw error;
      }
    }
    return write(this.stamp(segments));
  }

  /** The segments under the generation of the session, for the one that appends them later. */
  stamp(segments: readonly NewSegment[]): readonly NewSegment[] {
    const [{ generation }] = this.live;
    return segments.map((segment) =>
      segment.manifest.generation === undefined
        ? { bytes: segment.bytes, manifest: { ...segment.manifest, generation } }
        : segment,
    );
  }

  /** The spill, which saves segments under the generation of the session. */
  spill(spill: RowSpill): RowSpill {
    const own: Partial<RowSpill> = {
      save: (segments) => spill.save(this.stamp(segments)),
      leave: (segments) => spill.leave(this.stamp(segments)),
    };
    return new Proxy(spill, {
      get: (target, name): unknown => {
        if (Object.hasOwn(own, name)) return Reflect.get(own, name);
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  }
}
