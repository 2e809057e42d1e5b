/**
 * Whatever is written here, and however the service, the network and the processes fail meanwhile: in the end the service
 * has what the local store has, batch by batch, nothing twice.
 */
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { batchesOf, coalesceRanges } from '../../src/store/batch-ranges.ts';
import { createMemoryStore, openMemoryStorage } from '../../src/store/memory/memory-store.ts';
import type { NewSegment, Store } from '../../src/store/store.ts';
import { mergeableSegments } from '../../src/store/unsent.ts';
import { OutboxStore } from '../../src/sync/outbox-store.ts';
import { FastClock } from '../support/fast-clock.ts';
import { runs } from '../support/property.ts';
import { mergeOf, runOf, segmentOf } from '../support/segments.ts';
import { faultyStore, mortalStore, type Fault } from '../support/store-proxy.ts';

const RUNS = ['run_a', 'run_b'];
const TABLES = ['metrics', 'events'];

type Command =
  | {
      readonly kind: 'append';
      readonly at: number;
      readonly run: number;
      readonly table: number;
      readonly count: number;
      readonly size: number;
    }
  | { readonly kind: 'replace'; readonly at: number; readonly run: number; readonly count: number }
  | { readonly kind: 'tag'; readonly at: number; readonly run: number; readonly tag: string }
  | { readonly kind: 'end'; readonly at: number; readonly run: number }
  | { readonly kind: 'merge'; readonly at: number; readonly run: number; readonly table: number }
  | { readonly kind: 'crash'; readonly at: number }
  | { readonly kind: 'wipe' }
  | { readonly kind: 'jump'; readonly hours: number }
  | { readonly kind: 'turn'; readonly turns: number };

const at = fc.nat({ max: 1 });
const run = fc.nat({ max: RUNS.length - 1 });
const table = fc.nat({ max: TABLES.length - 1 });

const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('append' as const),
      at,
      run,
      table,
      count: fc.integer({ min: 1, max: 5 }),
      size: fc.constantFrom(10, 64, 3_000_000),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('replace' as const),
      at,
      run,
      count: fc.nat({ max: 2 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('tag' as const),
      at,
      run,
      tag: fc.constantFrom('x', 'y', 'z'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('end' as const), at, run }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('merge' as const), at, run, table }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('crash' as const), at }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('wipe' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('jump' as const),
      hours: fc.constantFrom(-26, -3, -1, 1, 3, 26),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('turn' as const),
      turns: fc.integer({ min: 1, max: 6 }),
    }),
  },
);

const fault: fc.Arbitrary<Fault> = fc.oneof(
  { weight: 5, arbitrary: fc.constant({ kind: 'none' as const }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom('before' as const, 'after' as const),
      reason: fc.constantFrom('unreachable' as const, 'busy' as const, 'failed' as const),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('late' as const),
      reason: fc.constant('unreachable' as const),
    }),
  },
);

/** Calls that may be carried out after their caller gave up: others are not alike when they come late. */
const MAY_BE_LATE = new Set(['appendSegments', 'putBlob', 'renewLease']);

test('the service ends up with what is here, whatever fails', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(command, { minLength: 5, maxLength: 40, size: 'max' }),
      fc.array(fault, { minLength: 1, maxLength: 40, size: 'max' }),
      async (commands, faults) => {
        const world = await World.make(faults);
        try {
          for (const one of commands) await world.execute(one);
          await world.settle();
          await world.compare();
        } finally {
          await world.end();
        }
      },
    ),
    runs(40),
  );
}, 600_000);

class World {
  readonly #clock = new FastClock(200);
  readonly #faults: readonly Fault[];
  #calls = 0;
  #isHealed = false;
  #wasWiped = false;
  #service: Store = createMemoryStore();
  readonly #outboxes: (OutboxStore | undefined)[] = [undefined, undefined];
  readonly #kills: (() => void)[] = [() => undefined, () => undefined];
  readonly #nextBatch = new Map<string, number>();
  #merges = 0;
  readonly local: Store;

  private constructor(faults: readonly Fault[], local: Store) {
    this.#faults = faults;
    this.local = local;
  }

  static async make(faults: readonly Fault[]): Promise<World> {
    const world = new World(faults, await openMemoryStorage(`memory:${randomUUID()}`));
    for (const id of RUNS) await world.#at(0).createRun(runOf({ id, projectName: `of ${id}` }));
    return world;
  }

  async execute(one: Command): Promise<void> {
    switch (one.kind) {
      case 'append': {
        const [runId, tableName] = [RUNS[one.run] ?? '', TABLES[one.table] ?? ''];
        const segments = Array.from({ length: one.count }, () =>
          this.#segment(runId, tableName, one.at, one.size),
        );
        await this.#at(one.at).appendSegments(segments);
        return;
      }
      case 'replace': {
        const runId = RUNS[one.run] ?? '';
        const segments = Array.from({ length: one.count }, () =>
          this.#segment(runId, 'alerts', one.at, 64),
        );
        await this.#at(one.at).replaceTable(runId, 'alerts', segments);
        return;
      }
      case 'tag':
      case 'end': {
        const store = this.#at(one.at);
        const stored = await store.findRun(RUNS[one.run] ?? '');
        if (stored === undefined) throw new Error('The run is gone.');
        const change =
          one.kind === 'tag'
            ? { tags: [...new Set([...stored.tags, one.tag])] }
            : { status: 'completed' };
        await store.updateRun({ ...stored, ...change });
        return;
      }
      case 'merge': {
        const store = this.#at(one.at);
        const [runId, tableName] = [RUNS[one.run] ?? '', TABLES[one.table] ?? ''];
        const segments = (await mergeableSegments(store, runId, tableName)).segments.slice(0, 3);
        if (segments.length < 2) return;
        const merged = mergeOf(segments, {
          writerId: `merge_${this.#merges++}_${one.at}`,
          batchNumber: 0,
        });
        await store.replaceSegments(runId, tableName, segments, [merged]);
        return;
      }
      case 'crash':
        this.#kills[one.at]?.();
        this.#outboxes[one.at] = undefined;
        return;
      case 'wipe':
        this.#service = createMemoryStore();
        this.#wasWiped = true;
        return;
      case 'jump':
        this.#clock.jump(one.hours * 3_600_000);
        return;
      case 'turn':
        for (let i = 0; i < one.turns; i++)
          await new Promise((resolve) => {
            setImmediate(resolve);
          });
    }
  }

  /** The faults are over: everything arrives. */
  async settle(): Promise<void> {
    this.#isHealed = true;
    // Nobody asks a service for what it has acknowledged, until something is written or somebody wants to know.
    if (this.#wasWiped) for (const id of RUNS) await this.#at(0).syncNotes.forgetSent(id);
    const status = await this.#at(0).sync.synced({ timeoutMs: 10_000 });
    expect(status).toMatchObject({ pendingRuns: 0, pendingSegments: 0, refusedSegments: [] });
    // What was under way when its sender gave up comes in now.
    await new Promise((resolve) => {
      setTimeout(resolve, 10);
    });
  }

  async compare(): Promise<void> {
    for (const id of RUNS) {
      const [here, there] = [await this.local.findRun(id), await this.#service.findRun(id)];
      expect(there).toEqual({ ...here, projectId: there?.projectId, revision: there?.revision });
      for (const name of [...TABLES, 'alerts']) {
        const filter = { runId: id, table: name };
        const [mine, theirs] = [
          await this.local.listSegments(filter),
          await this.#service.listSegments(filter),
        ];
        expect(coalesceRanges(theirs.flatMap(batchesOf))).toEqual(
          coalesceRanges(mine.flatMap(batchesOf)),
        );
        const rows = (list: typeof mine): number =>
          list.reduce((sum, one) => sum + one.rowCount, 0);
        expect(rows(theirs)).toBe(rows(mine));
        for (const one of theirs) {
          const own = mine.find(
            (m) => m.writerId === one.writerId && m.batchNumber === one.batchNumber,
          );
          if (own !== undefined) expect(one.checksum).toBe(own.checksum);
        }
      }
    }
  }

  /** Those that were killed wait for ever, as dead processes do. */
  async end(): Promise<void> {
    await Promise.all(this.#outboxes.map(async (outbox) => outbox?.close()));
  }

  #segment(runId: string, tableName: string, place: number, size: number): NewSegment {
    const writerId = `writer_${place}`;
    const name = `${runId}/${tableName}/${writerId}`;
    const batchNumber = this.#nextBatch.get(name) ?? 0;
    this.#nextBatch.set(name, batchNumber + 1);
    return segmentOf(batchNumber, { runId, table: tableName, writerId }, size);
  }

  #at(index: number): OutboxStore {
    const known = this.#outboxes[index];
    if (known !== undefined) return known;
    const life = mortalStore(this.local);
    const outbox = new OutboxStore({
      local: life.store,
      ownsLocal: false,
      openRemote: async () => {
        const way = mortalStore(
          faultyStore(
            forward(() => this.#service),
            (call) => this.#nextFault(call),
          ),
        );
        this.#kills[index] = () => {
          life.kill();
          way.kill();
        };
        return way.store;
      },
      remoteUri: 'https://service.test/',
      space: 'default',
      clock: this.#clock,
      random: () => 0.01,
    });
    this.#kills[index] = () => life.kill();
    this.#outboxes[index] = outbox;
    return outbox;
  }

  #nextFault(call: string): Fault {
    if (this.#isHealed) return { kind: 'none' };
    const next = this.#faults[this.#calls++ % this.#faults.length] ?? { kind: 'none' };
    return next.kind === 'late' && !MAY_BE_LATE.has(call) ? { ...next, kind: 'before' } : next;
  }
}

/** A store that is another one from call to call. */
function forward(current: () => Store): Store {
  return new Proxy(current(), {
    get: (_target, property) => {
      const store = current();
      const value: unknown = Reflect.get(store, property, store);
      return typeof value === 'function' ? value.bind(store) : value;
    },
  });
}
