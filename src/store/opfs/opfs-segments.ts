/** Segments, in the shards of their runs. */
import { artifactTable } from '../../records/artifact.ts';
import { compareText } from '../run-rules.ts';
import { checkLive } from '../segment-rules.ts';
import type { NewSegment, RunGeneration, SegmentManifest, Store } from '../store.ts';
import { type RunFrame } from './opfs-run.ts';

import type { OpfsCore } from './opfs-core.ts';

/** See the top of this file. */
export class OpfsSegments {
  readonly #core: OpfsCore;

  constructor(core: OpfsCore) {
    this.#core = core;
  }

  readonly appendSegments = async (
    segments: readonly NewSegment[],
    _seen?: undefined,
    live: readonly RunGeneration[] = [],
  ): Promise<readonly SegmentManifest[]> => {
    const runIds = [...new Set(segments.map(({ manifest }) => manifest.runId))].sort(compareText);
    if (runIds.length === 0 && live.length === 0) return [];
    const hasArtifacts = segments.some(({ manifest }) => manifest.table === artifactTable.table);
    const append = (): Promise<readonly SegmentManifest[]> =>
      this.#core.inRuns(runIds, this.#core.parts.isFull, async () => {
        const generations = new Map<string, number>();
        for (const runId of runIds) generations.set(runId, await this.#core.generation(runId));
        for (const { runId } of live)
          if (!generations.has(runId)) generations.set(runId, await this.#core.generation(runId));
        checkLive(live, (runId) => generations.get(runId) ?? 1);
        const placed = new Map<NewSegment, SegmentManifest>();
        const changes: (readonly [string, RunFrame])[] = [];
        for (const runId of runIds) {
          const own = segments.filter(({ manifest }) => manifest.runId === runId);
          const { state } = this.#core.run(runId).shard;
          const { change, placed: found } = state.append(own, generations.get(runId) ?? 1);
          own.forEach((segment, i) => {
            const manifest = found[i];
            if (manifest !== undefined) placed.set(segment, manifest);
          });
          if (change !== undefined) changes.push([runId, change]);
        }
        await this.#core.appendAll(changes);
        return segments.flatMap((segment) => placed.get(segment) ?? []);
      });
    return hasArtifacts ? this.#core.lockArtifacts('shared', append) : append();
  };

  readonly listSegments: Store['listSegments'] = (filter) => {
    const { shard } = this.#core.run(filter.runId);
    return shard.read(async () =>
      (await this.#core.isListed(filter.runId)) ? shard.state.list(filter) : [],
    );
  };

  readonly readSegments: Store['readSegments'] = (segments) =>
    this.#core.readSegments(segments, (runId) => this.#core.isListed(runId));

  readonly replaceSegments: Store['replaceSegments'] = (runId, table, remove, add) =>
    this.#core.inRuns([runId], true, async () => {
      await this.#core.generation(runId, false);
      const { shard } = this.#core.run(runId);
      const change = shard.state.replace(table, remove, add);
      if (change === undefined) return false;
      await this.#core.append(runId, change);
      // Rows that somebody deleted are not to stay in a file.
      const isDeletion = add.some(({ manifest }) => manifest.droppedRows !== undefined);
      if (isDeletion || remove.length > 0) await this.#core.tidy(shard, isDeletion);
      return true;
    });

  readonly replaceTable: Store['replaceTable'] = (runId, table, add, seenCount) =>
    this.#core.inRuns([runId], true, async () => {
      const generation = await this.#core.generation(runId);
      const { shard } = this.#core.run(runId);
      const made = shard.state.empty(runId, table, add, generation, seenCount);
      await this.#core.append(runId, made.change);
      await this.#core.tidy(shard, false);
      return made.placed;
    });
}
