/**
 * Sessions on several machines that freeze, thaw, lose the network, crash, resume the run and append, in any order: readers
 * get each step of the run once and all rows of the session that resumed it, and every acknowledged row is stored.
 */
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isQuarkError, isStoreError } from '../../src/base/errors.ts';
import { createMemoryStore, openMemoryStorage } from '../../src/store/memory/memory-store.ts';
import { segmentName } from '../../src/records/shapes/manifest.ts';
import type { SegmentManifest, Store } from '../../src/store/store.ts';
import { OutboxStore } from '../../src/sync/outbox-store.ts';
import { FastClock } from '../support/fast-clock.ts';
import { runs } from '../support/property.ts';
import { RUN_ID, runOf, segmentOf } from '../support/segments.ts';
import { faultyStore } from '../support/store-proxy.ts';

const MACHINES = 3;

type Command =
  /** The session logs the next step, under the generation that it believes to have. */
  | { readonly kind: 'log'; readonly session: number }
  /** A new session on a machine takes the run over, whether the earlier one froze or crashed. */
  | { readonly kind: 'resume'; readonly machine: number }
  | { readonly kind: 'offline' | 'online'; readonly machine: number }
  | { readonly kind: 'settle' };

const machine = fc.nat({ max: MACHINES - 1 });
const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({ kind: fc.constant('log' as const), session: fc.nat({ max: 9 }) }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('resume' as const), machine }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('offline' as const), machine }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('online' as const), machine }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('settle' as const) }) },
);

type Session = {
  readonly machine: number;
  readonly generation: number;
  readonly writerId: string;
  batch: number;
  step: number;
};

class World {
  readonly service = createMemoryStore();
  readonly #clock = new FastClock(2_000);
  readonly #offline = new Set<number>();
  readonly #outboxes: OutboxStore[] = [];
  readonly #locals: Store[] = [];
  readonly #sessions: Session[] = [];
  /** Batches that a store has acknowledged. */
  readonly #acknowledged = new Set<string>();

  static async make(): Promise<World> {
    const world = new World();
    for (let at = 0; at < MACHINES; at++) {
      const local = await openMemoryStorage(`memory:${randomUUID()}`);
      world.#locals.push(local);
      world.#outboxes.push(
        new OutboxStore({
          local,
          ownsLocal: true,
          openRemote: async () =>
            faultyStore(world.service, () =>
              world.#offline.has(at) ? { kind: 'before', reason: 'unreachable' } : { kind: 'none' },
            ),
          remoteUri: 'https://service.test/',
          space: 'default',
          clock: world.#clock,
          random: () => 0.5,
        }),
      );
    }
    await world.#outboxes[0]?.createRun(runOf({ document: documentOf(0) }));
    world.#begin(0, 1, 0);
    await world.settle();
    return world;
  }

  #begin(at: number, generation: number, step: number): void {
    const writerId = `writer_${this.#sessions.length}`;
    this.#sessions.push({ machine: at, generation, writerId, batch: 0, step });
  }

  async run(one: Command): Promise<void> {
    if (one.kind === 'log') return this.#log(one.session);
    if (one.kind === 'settle') return this.settle();
    const outbox = this.#outboxes[one.machine];
    if (outbox === undefined) return;
    if (one.kind === 'offline') this.#offline.add(one.machine);
    else if (one.kind === 'online') {
      this.#offline.delete(one.machine);
      outbox.urge();
    } else await this.#resume(outbox, one.machine);
  }

  /** As `resumeRun` does: what became of the run elsewhere, the rows that are there, and a compare-and-set. */
  async #resume(outbox: OutboxStore, at: number): Promise<void> {
    try {
      await outbox.sync.catchUp(RUN_ID);
      const run = await outbox.findRun(RUN_ID);
      if (run === undefined) return;
      const generation = (run.generation ?? 1) + 1;
      await outbox.renewLease(RUN_ID, `ses_${this.#sessions.length}`, 1);
      const document = documentOf(this.#sessions.length);
      const result = await outbox.updateRun({ ...run, document, generation });
      if (result.kind === 'conflict') return;
      // Goes on behind the last step that readers on this machine see.
      const seen = await outbox.listSegments({ runId: RUN_ID, table: 'metrics' });
      this.#begin(at, generation, Math.max(0, ...seen.map(({ stepMax }) => (stepMax ?? -1) + 1)));
    } catch (error) {
      if (!isStoreError(error, 'unreachable') && !isQuarkError(error, 'run_not_found')) throw error;
    }
  }

  async #log(index: number): Promise<void> {
    const session = this.#sessions[index % this.#sessions.length];
    if (session === undefined) return;
    const { generation, step, writerId } = session;
    const segment = segmentOf(session.batch, {
      writerId,
      rowCount: 1,
      stepMin: step,
      stepMax: step,
    });
    const outbox = this.#outboxes[session.machine];
    const write = async (isLive: boolean): Promise<void> => {
      const { manifest, bytes } = segment;
      await (isLive
        ? outbox?.appendSegments([segment], undefined, [{ runId: RUN_ID, generation }])
        : outbox?.appendSegments([{ bytes, manifest: { ...manifest, generation } }]));
    };
    try {
      await write(true);
    } catch (error) {
      if (!isStoreError(error, 'fenced')) throw error;
      await write(false);
    }
    session.batch++;
    session.step++;
    this.#acknowledged.add(segmentName(segment.manifest));
  }

  /** Everything that can be sent has arrived. */
  async settle(): Promise<void> {
    for (const [at, outbox] of this.#outboxes.entries()) {
      if (this.#offline.has(at)) continue;
      outbox.urge();
      await outbox.sync.synced({ timeoutMs: 20_000 });
    }
  }

  async check(): Promise<void> {
    this.#offline.clear();
    for (let round = 0; round < 2; round++) await this.settle();
    const before = this.#sessions.length;
    // A service that could not be reached is asked again after a pause.
    await expect
      .poll(
        async () => {
          await this.run({ kind: 'resume', machine: 1 });
          await this.#log(this.#sessions.length - 1);
          await this.settle();
          return this.#winners(before);
        },
        { timeout: 30_000 },
      )
      .toBe(true);
    const list = (store: Store, superseded: boolean): Promise<readonly SegmentManifest[]> =>
      store.listSegments({ runId: RUN_ID, table: 'metrics', superseded });
    const all = await list(this.service, true);
    expect(new Set(all.map(segmentName))).toEqual(this.#acknowledged);
    const shown = await list(this.service, false);
    expectOnce(shown);
    const generation = (await this.service.findRun(RUN_ID))?.generation ?? 1;
    for (const one of all) {
      const isApart = one.superseded === true;
      if (isApart) expect(one.generation ?? 1).toBeLessThan(generation);
    }
    for (const outbox of this.#outboxes) {
      if ((await outbox.local.findRun(RUN_ID)) === undefined) continue;
      // A machine without news of the run shows what it had; one that knows of the takeover shows what the service has.
      expectOnce(await list(outbox, false));
    }
  }

  /** Whether the session that took the run over last is one of those since `before`, and readers see its row. */
  async #winners(before: number): Promise<boolean> {
    if (this.#sessions.length === before) return false;
    const { writerId } = this.#sessions.at(-1) ?? { writerId: '' };
    const shown = await this.service.listSegments({ runId: RUN_ID, table: 'metrics' });
    return shown.some((one) => one.writerId === writerId);
  }

  async close(): Promise<void> {
    for (const outbox of this.#outboxes) await outbox.close();
  }
}

/** No step is there under two generations. */
function expectOnce(shown: readonly SegmentManifest[]): void {
  const found = new Map<number, Set<string>>();
  for (const { stepMin, writerId } of shown) {
    const writers = found.get(stepMin ?? -1) ?? new Set();
    writers.add(writerId);
    found.set(stepMin ?? -1, writers);
  }
  for (const [step, writers] of found)
    expect([step, [...writers]]).toEqual([step, [...writers].slice(0, 1)]);
}

function documentOf(session: number): string {
  return JSON.stringify({ status: 'running', session });
}

test('no step twice, nothing acknowledged gone, however sessions freeze, thaw and resume', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(command, { minLength: 5, maxLength: 30, size: 'max' }),
      async (commands) => {
        const world = await World.make();
        try {
          for (const one of commands) await world.run(one);
          await world.check();
        } finally {
          await world.close();
        }
      },
    ),
    runs(40),
  );
}, 240_000);
