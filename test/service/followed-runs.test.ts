/** Runs that are followed over HTTP, also while the service is away. */
import { expect, test, vi } from 'vitest';
import { openRun } from '../../src/read/run-reader.ts';
import { createStoreHandler } from '../../src/service/routes/handler.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import type { Store } from '../../src/store/store.ts';
import { openHttpStorage } from '../../src/wire/http-store.ts';
import { metricSegments, ROWS } from '../support/metric-segments.ts';
import { RUN_ID, runOf } from '../support/segments.ts';

/** A service whose answers can be replaced. */
class Service {
  readonly store: Store = createMemoryStore();
  instead: (path: string) => Response | undefined = () => undefined;
  #handler = createStoreHandler({ writable: true, feedPollMs: 10 });

  static async start(): Promise<Service> {
    const service = new Service();
    await service.store.createRun(runOf());
    await service.store.renewLease(RUN_ID, 'me', 600_000);
    return service;
  }

  /** Follows the metrics from the start; what has come is in `rows`. */
  async follow(pollMs: number) {
    const store = await openHttpStorage('http://127.0.0.1:4173/', {
      fetch: async (request) => {
        const { pathname } = new URL(request.url);
        return this.instead(pathname) ?? this.#handler.handle(request, { store: this.store });
      },
    });
    const rows: number[] = [];
    const following = (await openRun(store, RUN_ID)).follow(
      { table: 'metrics', from: 'start', pollMs },
      ({ sequences }) => void rows.push(...sequences),
    );
    return { rows, following };
  }

  async append(batch: number): Promise<void> {
    await this.store.appendSegments(metricSegments(RUN_ID, batch, 1));
  }

  async end(): Promise<void> {
    const run = (await this.store.findRun(RUN_ID)) ?? expect.fail('no run');
    await this.store.updateRun({ ...run, status: 'completed' });
  }

  restart(): void {
    this.#handler.close();
    this.#handler = createStoreHandler({ writable: true, feedPollMs: 10 });
  }
}

const eventually = (check: () => void) => vi.waitFor(check, 20_000);
const upTo = (rows: number): number[] => Array.from({ length: rows }, (_, i) => i);

test('a service that is away for a while, and starts again, is waited for', async () => {
  const service = await Service.start();
  const { following, rows } = await service.follow(10);
  await service.append(0);
  await eventually(() => expect(rows).toHaveLength(ROWS));
  expect(following.problem).toBeUndefined();
  service.instead = () => new Response('away', { status: 502 });
  service.restart();
  await eventually(() => expect(following.problem).toMatchObject({ reason: 'unreachable' }));
  await service.append(1);
  service.instead = () => undefined;
  await eventually(() => expect(rows).toHaveLength(2 * ROWS));
  expect(following.problem).toBeUndefined();
  await following.close();
  expect(rows).toEqual(upTo(2 * ROWS));
});

test('a service is asked again and again, up to the end of the run', async () => {
  const service = await Service.start();
  const { following, rows } = await service.follow(5);
  for (const batch of [0, 1, 2]) {
    await service.append(batch);
    await eventually(() => expect(rows).toHaveLength((batch + 1) * ROWS));
  }
  await service.end();
  expect(await following.done).toMatchObject({ reason: 'ended', status: 'completed' });
  expect(rows).toEqual(upTo(3 * ROWS));
});

test('who may not read the run any more is told so', async () => {
  const service = await Service.start();
  const { following, rows } = await service.follow(5);
  await service.append(0);
  await eventually(() => expect(rows).toHaveLength(ROWS));
  const { done } = following;
  service.instead = () => new Response('{}', { status: 403 });
  await expect(done).rejects.toMatchObject({ reason: 'unauthorised' });
});
