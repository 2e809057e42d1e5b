/** Random sequences of operations on two stores of one place, each answer compared with that of the model. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type {
  NewSegment,
  RunFilter,
  SegmentFilter,
  SegmentManifest,
  Store,
  StoredRun,
} from '../../src/store/store.ts';
import type { LocationMaker, TestLocation } from '../../src/store/testing/location-under-test.ts';
import { runs } from '../support/property.ts';
import { mergeOf, runOf, segmentOf } from '../support/segments.ts';
import {
  changeRuns,
  listDeleted,
  purge,
  RUN_COMMANDS,
  type RunCommand,
} from './store-deletions.ts';
import * as model from './store-model.ts';

const RUNS = ['run_a', 'run_b'];
const TABLES = ['metrics', 'events'];
const WRITERS = ['w1', 'w2'];
const KEYS = ['train/loss', 'val/loss', 'lr'];
const TAGS = ['x', 'y'];
const STATUSES = ['running', 'completed'];

/** A batch; everything else about the segment follows from it, as when a writer sends the same batch again. */
type Batch = {
  readonly run: number;
  readonly table: number;
  readonly writer: number;
  readonly batch: number;
};

type Command =
  | RunCommand
  | { readonly kind: 'append'; readonly store: number; readonly batches: readonly Batch[] }
  | {
      readonly kind: 'append both';
      readonly first: readonly Batch[];
      readonly second: readonly Batch[];
    }
  | {
      readonly kind: 'merge';
      readonly store: number;
      readonly run: number;
      readonly table: number;
      readonly start: number;
      readonly count: number;
      readonly isNewName: boolean;
      readonly fromHistory: boolean;
    }
  | {
      readonly kind: 'merge both';
      readonly run: number;
      readonly table: number;
      readonly start: number;
      readonly count: number;
    }
  | {
      readonly kind: 'replace table';
      readonly store: number;
      readonly run: number;
      readonly table: number;
      readonly batches: readonly Batch[];
    }
  | { readonly kind: 'list'; readonly store: number; readonly filter: SegmentFilter }
  | {
      readonly kind: 'read';
      readonly store: number;
      readonly picks: readonly number[];
      readonly withChecksum: boolean;
    }
  | { readonly kind: 'create run'; readonly store: number; readonly run: StoredRun }
  | {
      readonly kind: 'update run';
      readonly store: number;
      readonly run: StoredRun;
      readonly lag: number;
    }
  | { readonly kind: 'list runs'; readonly store: number; readonly filter: RunFilter }
  | {
      readonly kind: 'renew';
      readonly store: number;
      readonly run: number;
      readonly holder: number;
      readonly ttlMs: number;
    }
  | {
      readonly kind: 'release';
      readonly store: number;
      readonly run: number;
      readonly holder: number;
    }
  | { readonly kind: 'wait'; readonly ms: number }
  | { readonly kind: 'reopen'; readonly store: number }
  | { readonly kind: 'reclaim'; readonly store: number };

const index = (length: number): fc.Arbitrary<number> => fc.nat({ max: length - 1 });
const store = index(2);
const run = index(RUNS.length);
const table = index(TABLES.length);
const batch: fc.Arbitrary<Batch> = fc.record({
  run,
  table,
  writer: index(WRITERS.length),
  batch: index(6),
});
const batches = fc.array(batch, { minLength: 1, maxLength: 4 });
const maybe = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(value, { nil: undefined });

const storedRun: fc.Arbitrary<StoredRun> = fc
  .record({
    id: fc.constantFrom(...RUNS, 'run_c'),
    projectName: fc.constantFrom('p', 'q'),
    status: fc.constantFrom(...STATUSES),
    startedAtMs: index(3),
    tags: fc.uniqueArray(fc.constantFrom(...TAGS)),
    document: fc.json({ maxDepth: 1 }),
  })
  .map((fields) => ({ ...runOf(fields), revision: 1 }));

const segmentFilter: fc.Arbitrary<SegmentFilter> = fc
  .record({
    runId: fc.constantFrom(...RUNS),
    table: fc.constantFrom(...TABLES),
    sequenceMin: maybe(fc.nat({ max: 40 })),
    stepMin: maybe(fc.nat({ max: 70 })),
    stepMax: maybe(fc.nat({ max: 70 })),
    epochMin: maybe(fc.nat({ max: 4 })),
    epochMax: maybe(fc.nat({ max: 4 })),
    keys: maybe(fc.uniqueArray(fc.constantFrom(...KEYS))),
  })
  .map(withoutUndefined);

const runFilter: fc.Arbitrary<RunFilter> = fc
  .record({
    projectName: maybe(fc.constantFrom('p', 'q')),
    statuses: maybe(fc.uniqueArray(fc.constantFrom(...STATUSES))),
    tags: maybe(fc.uniqueArray(fc.constantFrom(...TAGS))),
    archived: maybe(fc.boolean()),
    limit: maybe(fc.nat({ max: 3 })),
    offset: maybe(fc.nat({ max: 3 })),
  })
  .map(withoutUndefined);

type Fields<K extends Command['kind']> = Omit<Extract<Command, { readonly kind: K }>, 'kind'>;

const of = <K extends Command['kind']>(
  kind: K,
  fields: { readonly [F in keyof Fields<K>]: fc.Arbitrary<Fields<K>[F]> },
): fc.Arbitrary<Command> =>
  fc
    .record(fields as Record<string, fc.Arbitrary<unknown>>)
    .map((rest) => ({ ...rest, kind }) as unknown as Command);

const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 6, arbitrary: of('append', { store, batches }) },
  { weight: 2, arbitrary: of('append both', { first: batches, second: batches }) },
  {
    weight: 4,
    arbitrary: of('merge', {
      store,
      run,
      table,
      start: index(4),
      count: fc.integer({ min: 1, max: 5 }),
      isNewName: fc.boolean(),
      fromHistory: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: of('merge both', {
      run,
      table,
      start: index(3),
      count: fc.integer({ min: 2, max: 4 }),
    }),
  },
  { weight: 1, arbitrary: of('replace table', { store, run, table, batches }) },
  { weight: 3, arbitrary: of('list', { store, filter: segmentFilter }) },
  {
    weight: 2,
    arbitrary: of('read', {
      store,
      picks: fc.array(fc.nat({ max: 60 }), { maxLength: 4 }),
      withChecksum: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: of('create run', { store, run: storedRun }) },
  { weight: 1, arbitrary: of('update run', { store, run: storedRun, lag: index(2) }) },
  { weight: 1, arbitrary: of('list runs', { store, filter: runFilter }) },
  {
    weight: 1,
    arbitrary: of('renew', {
      store,
      run,
      holder: index(2),
      ttlMs: fc.integer({ min: 1, max: 50 }),
    }),
  },
  { weight: 1, arbitrary: of('release', { store, run, holder: index(2) }) },
  { weight: 1, arbitrary: of('wait', { ms: index(30) }) },
  { weight: 1, arbitrary: of('reopen', { store }) },
  { weight: 1, arbitrary: of('reclaim', { store }) },
  ...RUN_COMMANDS,
);

/** Declares the test. `count` sequences of up to `length` operations. */
export function testStoreAgainstModel(
  name: string,
  makePlace: LocationMaker,
  count: number,
  length: number,
  timeoutMs: number,
): void {
  test(
    `${name}: any sequence of operations answers as the model does`,
    async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(command, { maxLength: length, size: 'max' }),
          async (commands) => {
            const clock = { nowMs: 1000, now: (): number => clock.nowMs };
            const place = await makePlace(clock);
            const stores = [await place.open(), await place.open()];
            const state = model.emptyState();
            const world = new World(place, stores, clock, state);
            try {
              for (const runId of RUNS)
                await world.createRun(stores[0], { ...runOf({ id: runId }), revision: 1 });
              for (const one of commands) await world.execute(one);
              await world.compareAll();
            } finally {
              for (const one of stores) await one.close();
              await place.remove();
            }
          },
        ),
        runs(count),
      );
    },
    timeoutMs,
  );
}

class World {
  readonly #place: TestLocation;
  readonly #stores: Store[];
  readonly #clock: { nowMs: number };
  readonly #state: model.State;
  /** Every manifest that was ever live: what readers and merges in other processes may still hold. */
  readonly #history: SegmentManifest[] = [];
  #merges = 0;

  constructor(place: TestLocation, stores: Store[], clock: { nowMs: number }, state: model.State) {
    this.#place = place;
    this.#stores = stores;
    this.#clock = clock;
    this.#state = state;
  }

  async execute(one: Command): Promise<void> {
    const state = this.#state;
    switch (one.kind) {
      case 'append': {
        return this.#append(this.#at(one.store), one.batches.map(segmentFor));
      }
      case 'append both':
        return this.#appendBoth(one.first.map(segmentFor), one.second.map(segmentFor));
      case 'merge': {
        const { runId, tableName } = names(one);
        const known = one.fromHistory
          ? this.#history.filter((m) => m.runId === runId && m.table === tableName)
          : model.list(state, { runId, table: tableName });
        const remove = distinct(known.slice(one.start, one.start + one.count));
        if (remove.length === 0 || overlap(remove)) return;
        const merged = this.#merged(remove, one.isNewName);
        if (state.deleted.has(runId)) {
          const call = this.#at(one.store).replaceSegments(runId, tableName, remove, [merged]);
          return expectDeleted(call);
        }
        const done = await this.#at(one.store).replaceSegments(runId, tableName, remove, [merged]);
        expect(done).toBe(model.replace(state, runId, tableName, remove, merged));
        if (done) this.#history.push(merged.manifest);
        return;
      }
      case 'merge both': {
        const { runId, tableName } = names(one);
        const live = model.list(state, { runId, table: tableName });
        const first = live.slice(one.start, one.start + one.count);
        const second = live.slice(one.start + 1, one.start + one.count + 1);
        if (first.length === 0 || second.length === 0) return;
        const merges = [this.#merged(first, false), this.#merged(second, true)] as const;
        const results = await Promise.all([
          this.#at(0).replaceSegments(runId, tableName, first, [merges[0]]),
          this.#at(1).replaceSegments(runId, tableName, second, [merges[1]]),
        ]);
        const winner = results.indexOf(true);
        const [chosen, taken] = winner === 0 ? [merges[0], first] : [merges[1], second];
        expect(model.replace(state, runId, tableName, taken, chosen)).toBe(true);
        const [other, late] = winner === 0 ? [merges[1], second] : [merges[0], first];
        expect(model.replace(state, runId, tableName, late, other)).toBe(results[1 - winner]);
        this.#history.push(chosen.manifest);
        return;
      }
      case 'replace table': {
        const { runId, tableName } = names(one);
        const segments = one.batches.map((b) =>
          segmentFor({ ...b, run: one.run, table: one.table }),
        );
        const call = this.#at(one.store).replaceTable(runId, tableName, segments);
        if (state.deleted.has(runId)) return expectDeleted(call);
        const placed = await call;
        expect(placed).toEqual(model.replaceTable(state, runId, tableName, segments));
        this.#history.push(...placed);
        return;
      }
      case 'list':
        expect(await this.#at(one.store).listSegments(one.filter)).toEqual(
          model.list(state, one.filter),
        );
        return;
      case 'read': {
        const wanted = one.picks.flatMap(
          (pick) => this.#history.at(pick % Math.max(1, this.#history.length)) ?? [],
        );
        const references = wanted.map(({ runId, table: name, writerId, batchNumber, checksum }) =>
          one.withChecksum
            ? { runId, table: name, writerId, batchNumber, checksum }
            : { runId, table: name, writerId, batchNumber },
        );
        expect(await this.#at(one.store).readSegments(references)).toEqual(
          references.map((reference) => {
            const bytes = model.read(state, reference);
            return bytes === undefined ? { kind: 'gone' } : { kind: 'bytes', bytes };
          }),
        );
        return;
      }
      case 'create run':
        return this.createRun(this.#at(one.store), one.run);
      case 'update run': {
        if (state.deleted.has(one.run.id))
          return expectDeleted(this.#at(one.store).updateRun(one.run));
        const kept = state.runs.get(one.run.id);
        if (kept === undefined) return;
        const change = { ...one.run, revision: Math.max(1, kept.revision - one.lag) };
        const isCurrent = change.revision === kept.revision;
        // Whether it is archived stays as it is.
        const { archivedAtMs } = kept;
        const archived = archivedAtMs === undefined ? {} : { archivedAtMs };
        const next = isCurrent ? { ...change, ...archived, revision: kept.revision + 1 } : kept;
        expect(await this.#at(one.store).updateRun(change)).toEqual({
          kind: isCurrent ? 'updated' : 'conflict',
          run: next,
        });
        state.runs.set(next.id, next);
        return;
      }
      case 'list runs':
        expect(await this.#at(one.store).listRuns(one.filter)).toEqual(
          model.listRuns(state, one.filter),
        );
        return;
      case 'renew': {
        const lease = {
          runId: names({ ...one, table: 0 }).runId,
          holder: `h${one.holder}`,
          expiresAtMs: this.#clock.nowMs + one.ttlMs,
        };
        const call = this.#at(one.store).renewLease(lease.runId, lease.holder, one.ttlMs);
        if (state.deleted.has(lease.runId)) return expectDeleted(call);
        expect(await call).toEqual(lease);
        state.leases.set(`${lease.runId} ${lease.holder}`, lease);
        return;
      }
      case 'release': {
        const { runId } = names({ ...one, table: 0 });
        await this.#at(one.store).releaseLease(runId, `h${one.holder}`);
        state.leases.delete(`${runId} h${one.holder}`);
        return;
      }
      case 'wait':
        this.#clock.nowMs += one.ms;
        expect(await this.#at(0).listLeases()).toEqual(model.listLeases(state, this.#clock.nowMs));
        return;
      case 'reopen':
        await this.#at(one.store).close();
        this.#stores[one.store] = await this.#place.open();
        return;
      case 'reclaim':
        await this.#at(one.store).reclaimSpace();
        purge(state, this.#clock.nowMs);
        return;
      case 'delete':
      case 'archive':
      case 'restore':
      case 'purge':
        return changeRuns(this.#at(one.store), state, this.#clock.nowMs, one);
    }
  }

  async createRun(at: Store | undefined, made: StoredRun): Promise<void> {
    const isTaken = this.#state.runs.has(made.id);
    const isDeleted = this.#state.deleted.has(made.id);
    const result = await at?.createRun(made).catch((error: unknown) => error);
    if (isTaken || isDeleted) {
      expect(result).toMatchObject({ reason: isDeleted ? 'deleted' : 'rejected' });
      return;
    }
    expect(result).toEqual({ ...made, revision: 1 });
    this.#state.runs.set(made.id, { ...made, revision: 1 });
  }

  /** Everything there is, read by both stores. */
  async compareAll(): Promise<void> {
    for (const at of this.#stores) {
      for (const runId of RUNS) {
        for (const name of TABLES) {
          const live = model.list(this.#state, { runId, table: name });
          expect(await at.listSegments({ runId, table: name })).toEqual(live);
          const wanted = live.map((manifest) => ({
            kind: 'bytes',
            bytes: model.read(this.#state, manifest),
          }));
          expect(await at.readSegments(live)).toEqual(wanted);
        }
      }
      expect(await at.listRuns()).toEqual(model.listRuns(this.#state, {}));
      const deleted = listDeleted(this.#state);
      expect(await at.listDeletedRuns()).toEqual(deleted);
      for (const tombstone of deleted) {
        expect(await at.findRun(tombstone.id)).toBeUndefined();
        expect(await at.findDeletedRun(tombstone.id)).toEqual(tombstone);
      }
    }
  }

  async #append(at: Store, segments: readonly NewSegment[]): Promise<void> {
    const call = at.appendSegments(segments);
    if (this.#isRefused(segments)) return expectDeleted(call);
    const placed = await call;
    expect(placed).toEqual(model.append(this.#state, segments));
    this.#history.push(...placed);
  }

  #isRefused(segments: readonly NewSegment[]): boolean {
    return segments.some(({ manifest }) => this.#state.deleted.has(manifest.runId));
  }

  /** Two appends at once answer as if one had come after the other, in either order. */
  async #appendBoth(first: readonly NewSegment[], second: readonly NewSegment[]): Promise<void> {
    if (this.#isRefused([...first, ...second])) {
      await this.#append(this.#at(0), first);
      return this.#append(this.#at(1), second);
    }
    const swapped = model.copyState(this.#state);
    const results = await Promise.all([
      this.#at(0).appendSegments(first),
      this.#at(1).appendSegments(second),
    ]);
    const inOrder = [model.append(this.#state, first), model.append(this.#state, second)];
    if (!sameOrder(results, inOrder)) {
      const late = model.append(swapped, second);
      expect(results).toEqual([model.append(swapped, first), late]);
      for (const [name, stream] of swapped.streams) this.#state.streams.set(name, stream);
    } else {
      expect(results).toEqual(inOrder);
    }
    this.#history.push(...results.flat());
  }

  #merged(remove: readonly SegmentManifest[], isNewName: boolean): ReturnType<typeof mergeOf> {
    this.#merges++;
    const name = isNewName ? { writerId: 'merge', batchNumber: this.#merges } : {};
    return mergeOf(remove, { ...name, checksum: 1_000_000 + this.#merges });
  }

  #at(position: number): Store {
    const found = this.#stores[position];
    if (found === undefined) throw new Error('There is no such store.');
    return found;
  }
}

async function expectDeleted(call: Promise<unknown>): Promise<void> {
  await expect(call).rejects.toMatchObject({ reason: 'deleted' });
}

type Placed = readonly (readonly SegmentManifest[] | undefined)[];

function sameOrder(a: Placed, b: Placed): boolean {
  const text = (placed: Placed): string =>
    JSON.stringify(
      placed.map((some) => some?.map((m) => [m.writerId, m.batchNumber, m.firstSequence])),
    );
  return text(a) === text(b);
}

function segmentFor({
  run: runIndex,
  table: tableIndex,
  writer,
  batch: number,
}: Batch): NewSegment {
  const { runId, tableName } = names({ run: runIndex, table: tableIndex });
  const hasSteps = (number + writer) % 4 !== 3;
  return segmentOf(number, {
    runId,
    table: tableName,
    writerId: WRITERS[writer] ?? '',
    rowCount: 1 + ((number + writer) % 3),
    stepMin: hasSteps ? number * 10 : null,
    stepMax: hasSteps ? number * 10 + 12 : null,
    epochMin: writer === 0 ? null : number % 3,
    epochMax: writer === 0 ? null : (number % 3) + 1,
    keys: number === 5 ? null : KEYS.slice(number % 3, (number % 3) + writer + 1),
    checksum: runIndex * 1000 + tableIndex * 100 + writer * 10 + number,
  });
}

function names(one: { readonly run: number; readonly table: number }): {
  runId: string;
  tableName: string;
} {
  return { runId: RUNS[one.run] ?? '', tableName: TABLES[one.table] ?? '' };
}

function distinct(manifests: readonly SegmentManifest[]): SegmentManifest[] {
  const byName = new Map(manifests.map((m) => [`${m.writerId}#${m.batchNumber}`, m]));
  return [...byName.values()];
}

/** Whether two of the segments hold the same batch: no live segments ever do, so nobody merges such. */
function overlap(manifests: readonly SegmentManifest[]): boolean {
  const seen = new Set<string>();
  for (const { sources, writerId, batchNumber } of manifests) {
    const ranges =
      sources.length > 0
        ? sources
        : [{ writerId, batchStart: batchNumber, batchLast: batchNumber }];
    for (const range of ranges) {
      for (let i = range.batchStart; i <= range.batchLast; i++) {
        const name = `${range.writerId}#${i}`;
        if (seen.has(name)) return true;
        seen.add(name);
      }
    }
  }
  return false;
}

function withoutUndefined<T extends object>(
  value: T,
): { [K in keyof T]: Exclude<T[K], undefined> } {
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]: Exclude<T[K], undefined> };
}
