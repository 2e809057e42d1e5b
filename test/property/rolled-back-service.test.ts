/** A service that is put back to any earlier state, at any time: in the end it has everything that the client stores, once. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { batchesOf, coalesceRanges } from '../../src/store/batch-ranges.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import type { Store } from '../../src/store/store.ts';
import { OutboxStore } from '../../src/sync/outbox-store.ts';
import { FastClock } from '../support/fast-clock.ts';
import { runs } from '../support/property.ts';
import { RUN_ID, runOf, segmentOf } from '../support/segments.ts';

type Command =
  | {
      readonly kind: 'append';
      readonly writer: string;
      readonly table: string;
      readonly count: number;
    }
  | { readonly kind: 'replace'; readonly count: number }
  | { readonly kind: 'sent' | 'keep' | 'again' }
  | { readonly kind: 'back'; readonly to: number; readonly tells: boolean };

const TABLES = ['metrics', 'events'];

const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('append' as const),
      writer: fc.constantFrom('w1', 'w2'),
      table: fc.constantFrom(...TABLES),
      count: fc.integer({ min: 1, max: 4 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('replace' as const), count: fc.nat({ max: 2 }) }),
  },
  { weight: 5, arbitrary: fc.record({ kind: fc.constantFrom('sent' as const, 'keep' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('again' as const) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('back' as const),
      to: fc.nat({ max: 20 }),
      tells: fc.boolean(),
    }),
  },
);

/** The states of a service: the calls that changed it, done again from the start for an earlier one. */
class Service {
  store: Store = createMemoryStore();
  readonly #changes: (readonly [name: string, args: readonly unknown[]])[] = [];
  readonly marks: number[] = [0];
  epoch = 1;

  /** What a client has open: it goes on when the state behind it is another one. */
  readonly front: Store = new Proxy(this.store, {
    get: (_, name) => {
      if (name === 'identity') return async () => ({ id: 'db', epoch: this.epoch });
      if (name === 'uri') return 'https://service.test/';
      const value: unknown = Reflect.get(this.store, name);
      if (typeof value !== 'function') return value;
      return async (...args: unknown[]): Promise<unknown> => {
        const answer: unknown = await Reflect.apply(value, this.store, args);
        if (/^(?:ensure|create|update|append|replace|put)/.test(String(name)))
          this.#changes.push([String(name), args]);
        return answer;
      };
    },
  });

  mark(): void {
    this.marks.push(this.#changes.length);
  }

  async back(count: number): Promise<void> {
    this.store = createMemoryStore();
    for (const [name, args] of this.#changes.splice(0).slice(0, count)) {
      const call: unknown = Reflect.get(this.store, name);
      if (typeof call === 'function') await Reflect.apply(call, this.store, args);
      this.#changes.push([name, args]);
    }
    this.marks.splice(0, Infinity, ...this.marks.filter((one) => one <= count));
  }
}

async function batchesIn(store: Store, table: string): Promise<unknown> {
  const found = await store.listSegments({ runId: RUN_ID, table });
  return {
    batches: coalesceRanges(found.flatMap(batchesOf)),
    rows: found.reduce((sum, { rowCount }) => sum + rowCount, 0),
  };
}

test('what the client stores is at the service once, wherever the service goes back to', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(command, { minLength: 4, maxLength: 30, size: 'max' }),
      async (commands) => {
        const clock = new FastClock();
        const service = new Service();
        const local = createMemoryStore();
        const open = (): OutboxStore =>
          new OutboxStore({
            local,
            ownsLocal: false,
            openRemote: async () => service.front,
            remoteUri: 'https://service.test/',
            space: 'default',
            clock,
            random: () => 0.5,
            compareEveryMs: 1_000,
          });
        let outbox = open();
        await outbox.createRun(runOf());
        const next = new Map<string, number>();
        const take = (table: string, writerId: string) => {
          const batch = next.get(`${table} ${writerId}`) ?? 0;
          next.set(`${table} ${writerId}`, batch + 1);
          return segmentOf(batch, { table, writerId });
        };
        for (const one of commands) {
          if (one.kind === 'append') {
            const { count, table, writer } = one;
            await outbox.appendSegments(Array.from({ length: count }, () => take(table, writer)));
          } else if (one.kind === 'replace') {
            const segments = Array.from({ length: one.count }, () => take('events', 'w1'));
            await outbox.replaceTable(RUN_ID, 'events', segments);
          } else if (one.kind === 'sent') {
            await outbox.sync.synced({ timeoutMs: 20_000 });
          } else if (one.kind === 'keep') {
            service.mark();
          } else if (one.kind === 'again') {
            await outbox.close();
            outbox = open();
          } else if (one.kind === 'back') {
            await service.back(service.marks[one.to % service.marks.length] ?? 0);
            if (one.tells) service.epoch += 1;
          }
        }
        await outbox.compareSent();
        await outbox.sync.synced({ timeoutMs: 30_000 });
        await outbox.compareSent();
        expect(await outbox.sync.synced({ timeoutMs: 30_000 })).toMatchObject({
          pendingRuns: 0,
          refusedSegments: [],
        });
        for (const table of TABLES)
          expect(await batchesIn(service.store, table), table).toEqual(
            await batchesIn(local, table),
          );
        await outbox.close();
      },
    ),
    runs(60),
  );
});
