/** The store on the origin-private file system, in its worker: see opfs-core.ts. */
import { OpfsBlobs } from './opfs-blobs.ts';
import { OpfsCore, ROOT, runLock, type EngineParts } from './opfs-core.ts';
import { OpfsDeletion } from './opfs-deletion.ts';
import { OpfsRuns } from './opfs-runs.ts';
import { OpfsSegments } from './opfs-segments.ts';

/** The calls of an engine. */
export type EngineCalls = PublicOf<OpfsBlobs & OpfsDeletion & OpfsRuns & OpfsSegments>;
type PublicOf<T> = { readonly [K in Exclude<keyof T, 'removeRuns'>]: T[K] };

/** See the top of this file. */
export class OpfsEngine {
  readonly #core: OpfsCore;
  readonly #parts: readonly object[];

  constructor(parts: EngineParts) {
    const core = new OpfsCore(parts);
    const deletion = new OpfsDeletion(core);
    this.#core = core;
    this.#parts = [
      new OpfsSegments(core),
      new OpfsRuns(core, deletion),
      new OpfsBlobs(core),
      deletion,
    ];
  }

  /** Carries a call out. */
  call(name: keyof EngineCalls, args: readonly unknown[]): unknown {
    for (const part of this.#parts) {
      const method: unknown = Reflect.get(part, name);
      if (typeof method === 'function') return Reflect.apply(method, part, args);
    }
    throw new Error(`No call ${name}.`);
  }

  /** Tells the time of the store's clock. */
  setTime(nowMs: number): void {
    this.#core.nowMs = nowMs;
  }

  /** Closes the files of a shard that somebody wants to remove. */
  async release(shard: string): Promise<void> {
    const { root, runs } = this.#core;
    if (shard === ROOT) await root.release();
    for (const [runId, known] of runs) if (shard === runLock(runId)) await known.shard.release();
  }

  async close(): Promise<void> {
    const { root, runs } = this.#core;
    await Promise.all([root.close(), ...Array.from(runs.values(), ({ shard }) => shard.close())]);
  }
}
