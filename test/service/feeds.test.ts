/** Live updates: streams of server-sent events, without a socket and on a clock that is turned. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeCursor, encodeCursor, type SeenRun } from '../../src/service/live/feed-cursor.ts';
import { createStoreHandler, type StoreHandler } from '../../src/service/routes/handler.ts';
import { openHttpStorage } from '../../src/wire/http-store.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import type { Store } from '../../src/store/store.ts';
import { TestClock } from '../support/clock.ts';
import { runs } from '../support/property.ts';
import { RUN_ID, runOf, segmentOf } from '../support/segments.ts';

type Event = { readonly name: string; readonly data: unknown; readonly id: string | undefined };

/** A client of a stream. */
class Listener {
  readonly response: Response;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  #text = '';
  comments = 0;

  constructor(response: Response) {
    this.response = response;
    this.#reader = response.body!.getReader();
  }

  /** The next event; undefined at the end. */
  async next(): Promise<Event | undefined> {
    for (;;) {
      const end = this.#text.indexOf('\n\n');
      if (end >= 0) {
        const lines = this.#text.slice(0, end).split('\n');
        this.#text = this.#text.slice(end + 2);
        const field = (name: string): string | undefined =>
          lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
        const data = field('data');
        if (data !== undefined)
          return { name: field('event') ?? '', data: JSON.parse(data), id: field('id') };
        this.comments += 1;
        continue;
      }
      const { done, value } = await this.#reader.read();
      if (done) return undefined;
      this.#text += new TextDecoder().decode(value);
    }
  }

  async some(count: number): Promise<Event[]> {
    const events: Event[] = [];
    while (events.length < count) events.push((await this.next())!);
    return events;
  }

  close(): Promise<void> {
    return this.#reader.cancel();
  }
}

const LOOKS: ReadonlySet<unknown> = new Set(['findRun', 'listRuns', 'listSegments', 'listStreams']);

class Place {
  readonly clock = new TestClock(1_000_000);
  readonly store: Store = createMemoryStore();
  readonly calls: string[] = [];
  readonly handler: StoreHandler;
  readonly failures: unknown[] = [];
  isAway = false;

  constructor() {
    this.handler = createStoreHandler({
      writable: true,
      clock: this.clock,
      onFailure: (error) => this.failures.push(error),
    });
  }

  /** The store as one request sees it, counting what is asked of it. */
  view(): Store {
    return new Proxy(this.store, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]): unknown => {
          if (LOOKS.has(name)) {
            this.calls.push(String(name));
            if (this.isAway) return Promise.reject(new Error('away'));
          }
          return Reflect.apply(value, target, args);
        };
      },
    });
  }

  handle(request: Request): Promise<Response> {
    return this.handler.handle(request, { store: this.view(), feed: { space: 's', view: 'v' } });
  }

  async listen(query: string, lastEventId?: string): Promise<Listener> {
    const headers = lastEventId === undefined ? {} : { 'last-event-id': lastEventId };
    const response = await this.handle(
      new Request(`http://127.0.0.1/api/v1/events${query}`, { headers }),
    );
    expect(response.status).toBe(200);
    return new Listener(response);
  }

  /** Time passes, and what begins by it ends. */
  async pass(ms: number): Promise<void> {
    this.clock.advance(ms);
    for (let i = 0; i < 50; i++) await Promise.resolve();
  }

  remote(): Promise<Store> {
    return openHttpStorage('http://quark.example', { fetch: (request) => this.handle(request) });
  }
}

const ABOUT_RUN = `?run=${RUN_ID}&table=metrics&table=events`;

async function placeWithRun(): Promise<Place> {
  const place = new Place();
  await place.store.createRun(runOf());
  await place.store.appendSegments([segmentOf(0)]);
  return place;
}

describe('live updates of a run', () => {
  it('begin with what is there, and go on with what comes', async () => {
    const place = await placeWithRun();
    const listener = await place.listen(ABOUT_RUN);
    expect(listener.response.headers.get('content-type')).toBe('text/event-stream');
    await place.pass(20);
    expect(await listener.some(2)).toEqual([
      { name: 'run', data: { run_id: RUN_ID, status: 'running', revision: 1 }, id: undefined },
      {
        name: 'segments',
        data: { run_id: RUN_ID, table: 'metrics', last_sequence: 9 },
        id: `${RUN_ID}=1,metrics:10,events:0`,
      },
    ]);
    // Another process writes: the next look finds it.
    await place.store.appendSegments([segmentOf(1), segmentOf(0, { table: 'events' })]);
    await place.pass(1_000);
    expect(await listener.some(2)).toMatchObject([
      { data: { table: 'metrics', last_sequence: 19 } },
      { data: { table: 'events', last_sequence: 9 }, id: `${RUN_ID}=1,metrics:20,events:10` },
    ]);
    const run = await place.store.findRun(RUN_ID);
    await place.store.updateRun({ ...run!, status: 'completed' });
    await place.pass(1_000);
    expect(await listener.next()).toMatchObject({
      name: 'run',
      data: { status: 'completed', revision: 2 },
    });
  });

  it('come at once where they were written through the same process', async () => {
    const place = await placeWithRun();
    const listener = await place.listen(ABOUT_RUN);
    await place.pass(20);
    await listener.some(2);
    const remote = await place.remote();
    await remote.appendSegments([segmentOf(1)]);
    await remote.appendSegments([segmentOf(2)]);
    place.calls.length = 0;
    await place.pass(20);
    expect(await listener.next()).toMatchObject({ data: { last_sequence: 29 } });
    // One look for both, and only at what was written.
    expect(place.calls).toEqual(['findRun', 'listSegments']);
    await remote.replaceTable(RUN_ID, 'metrics', [segmentOf(7)]);
    await place.pass(20);
    expect(await listener.next()).toMatchObject({ data: { last_sequence: 39 } });
  });

  it('go on from a cursor without a gap and without repeating', async () => {
    const place = await placeWithRun();
    const first = await place.listen(ABOUT_RUN);
    await place.pass(20);
    const cursor = (await first.some(2))[1]?.id;
    await first.close();
    await place.store.appendSegments([segmentOf(1)]);
    const second = await place.listen(ABOUT_RUN, cursor);
    await place.pass(20);
    expect(await second.next()).toMatchObject({
      name: 'segments',
      data: { last_sequence: 19 },
      id: `${RUN_ID}=1,metrics:20,events:0`,
    });
  });

  it('of many clients cost one look at the store, and none when all are gone', async () => {
    const place = await placeWithRun();
    const listeners = await Promise.all(Array.from({ length: 20 }, () => place.listen(ABOUT_RUN)));
    await place.pass(20);
    place.calls.length = 0;
    await place.pass(1_000);
    expect(place.calls).toEqual(['findRun', 'listStreams']);
    for (const listener of listeners) await listener.close();
    place.calls.length = 0;
    await place.pass(60_000);
    expect(place.calls).toEqual([]);
  });

  it('about very many runs look at some of them at a time, and reach all', async () => {
    const place = new Place();
    const ids = Array.from({ length: 300 }, (_, i) => `run_${i}`);
    for (const id of ids) await place.store.createRun(runOf({ id }));
    const listeners: Listener[] = [];
    for (let i = 0; i < ids.length; i += 15) {
      const runsOf = ids.slice(i, i + 15).map((id) => `run=${id}`);
      listeners.push(await place.listen(`?${runsOf.join('&')}&table=metrics&table=events`));
    }
    const told = Promise.all(listeners.map((listener) => listener.some(15)));
    for (let i = 0; i < 3; i++) {
      place.calls.length = 0;
      await place.pass(i === 0 ? 20 : 1_000);
      await expect.poll(() => place.calls.length, { timeout: 30_000 }).toBeGreaterThan(255);
      for (let turn = 0; turn < 10; turn++) await place.pass(0);
      expect(place.calls).toHaveLength(256);
    }
    const seen = (await told).flat().map(({ data }) => (data as { run_id: string }).run_id);
    expect(new Set(seen)).toEqual(new Set(ids));
    for (const listener of listeners) await listener.close();
  });

  it('are not shared between views that see other things', async () => {
    const place = await placeWithRun();
    const blind = createMemoryStore();
    await blind.createRun(runOf({ status: 'failed' }));
    const url = `http://127.0.0.1/api/v1/events${ABOUT_RUN}`;
    const other = new Listener(
      await place.handler.handle(new Request(url), {
        store: blind,
        feed: { space: 's', view: 'other' },
      }),
    );
    const unnamed = new Listener(await place.handler.handle(new Request(url), { store: blind }));
    await (await place.listen(ABOUT_RUN)).close();
    await place.pass(20);
    for (const listener of [other, unnamed])
      expect(await listener.next()).toMatchObject({ data: { status: 'failed' } });
  });

  it('wait for a slow client as the latest of each kind', async () => {
    const place = await placeWithRun();
    const slow = await place.listen(ABOUT_RUN);
    for (let i = 1; i <= 50; i++) {
      await place.store.appendSegments([segmentOf(i)]);
      await place.pass(1_000);
    }
    expect(await slow.some(2)).toMatchObject([
      { name: 'run' },
      { name: 'segments', data: { last_sequence: 509 } },
    ]);
  });

  it('outlive a store that is away, and say that they are alive', async () => {
    const place = await placeWithRun();
    const listener = await place.listen(ABOUT_RUN);
    await place.pass(20);
    await listener.some(2);
    place.isAway = true;
    await place.store.appendSegments([segmentOf(1)]);
    await place.pass(1_000);
    expect(place.failures).toHaveLength(1);
    place.isAway = false;
    const next = listener.next();
    await place.pass(1_000);
    expect(await next).toMatchObject({ data: { last_sequence: 19 } });
    const end = listener.next();
    await place.pass(15_000);
    place.handler.close();
    expect(await end).toBeUndefined();
    expect(listener.comments).toBeGreaterThan(1);
  });

  it('tell when a run is gone', async () => {
    const place = await placeWithRun();
    const listener = await place.listen(ABOUT_RUN);
    await place.pass(20);
    await listener.some(2);
    await place.store.notes?.forgetRun(RUN_ID);
    await place.pass(1_000);
    expect(await listener.next()).toMatchObject({ name: 'gone', data: { run_id: RUN_ID } });
  });

  it.each([
    ['?run=nobody', undefined, 404],
    ['?run=..%2f', undefined, 400],
    [`?run=${RUN_ID}&table=No`, undefined, 400],
    ['?table=metrics', undefined, 400],
    [`?${Array.from({ length: 17 }, (_, i) => `run=r${i}`).join('&')}`, undefined, 400],
    [ABOUT_RUN, 'nonsense', 400],
    [ABOUT_RUN, `${RUN_ID}=1,metrics:-1`, 400],
    [ABOUT_RUN, `${RUN_ID}=1,../:1`, 400],
  ])('%s from %s are refused', async (query, cursor, status) => {
    const place = await placeWithRun();
    const headers = cursor === undefined ? {} : { 'last-event-id': cursor };
    const request = new Request(`http://127.0.0.1/api/v1/events${query}`, { headers });
    expect((await place.handle(request)).status).toBe(status);
  });

  it('cursors come back as they went out, and other texts are refused', () => {
    const id = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,20}[a-z]$/);
    const tables = fc.dictionary(fc.stringMatching(/^[a-z][a-z0-9_]{0,10}$/), fc.nat(2 ** 31 - 1), {
      noNullPrototype: true,
    });
    fc.assert(
      fc.property(fc.array(fc.tuple(id, fc.nat(), tables)), (items) => {
        const seen = new Map(
          items.map(([runId, revision, counts]): [string, SeenRun] => [
            runId,
            { revision, tables: new Map(Object.entries(counts)) },
          ]),
        );
        expect(decodeCursor(encodeCursor(seen))).toEqual(seen);
      }),
      runs(100),
    );
    fc.assert(
      fc.property(fc.string(), (text) => {
        try {
          decodeCursor(text);
        } catch (error) {
          expect(error).toMatchObject({ reason: 'rejected', details: { field: 'last-event-id' } });
        }
      }),
      runs(300),
    );
  });
});

describe('live updates of the list', () => {
  it('tell to read it first, and then what changed', async () => {
    const place = await placeWithRun();
    const listener = await place.listen('');
    await place.pass(20);
    expect(await listener.next()).toEqual({ name: 'list', data: {}, id: undefined });
    await place.store.createRun(runOf({ id: 'run_2' }));
    await place.pass(1_000);
    expect(await listener.next()).toMatchObject({ name: 'run', data: { run_id: 'run_2' } });
    const remote = await place.remote();
    const run = await remote.findRun(RUN_ID);
    await remote.updateRun({ ...run!, status: 'failed' });
    await remote.appendSegments([segmentOf(5)]);
    await place.pass(20);
    expect(await listener.next()).toMatchObject({ data: { run_id: RUN_ID, status: 'failed' } });
    // A deletion is told at once where it came through this process, else with the next poll; so is the way back.
    await remote.deleteRun(RUN_ID);
    await place.pass(20);
    expect(await listener.next()).toMatchObject({ name: 'gone', data: { run_id: RUN_ID } });
    await place.store.restoreRun(RUN_ID);
    await place.pass(1_000);
    expect(await listener.next()).toMatchObject({ name: 'run', data: { run_id: RUN_ID } });
    await place.store.deleteRun('run_2');
    await place.pass(1_000);
    expect(await listener.next()).toMatchObject({ name: 'gone', data: { run_id: 'run_2' } });
    const late = await place.listen('');
    await place.pass(20);
    expect(await late.next()).toMatchObject({ name: 'list' });
    await place.store.createRun(runOf({ id: 'run_3' }));
    await place.pass(1_000);
    for (const one of [late, listener])
      expect(await one.next()).toMatchObject({ data: { run_id: 'run_3' } });
  });

  it('lose nothing that is written between the answer and the first look: it is in the list', async () => {
    const place = new Place();
    const listener = await place.listen('');
    const remote = await place.remote();
    await remote.createRun(runOf({ id: 'early' }));
    await place.pass(20);
    expect(await listener.next()).toMatchObject({ name: 'list' });
    expect((await remote.listRuns()).map(({ id }) => id)).toEqual(['early']);
    await remote.createRun(runOf({ id: 'later' }));
    await place.pass(20);
    expect(await listener.next()).toMatchObject({ name: 'run', data: { run_id: 'later' } });
  });

  it('notice old runs that change through the same process', async () => {
    const place = new Place();
    for (let i = 0; i < 150; i++)
      await place.store.createRun(runOf({ id: `run_${i}`, startedAtMs: i }));
    const listener = await place.listen('');
    await place.pass(20);
    await listener.next();
    const remote = await place.remote();
    const old = await remote.findRun('run_3');
    await remote.updateRun({ ...old!, status: 'completed' });
    await place.pass(20);
    expect(await listener.next()).toMatchObject({ data: { run_id: 'run_3', revision: 2 } });
  });

  it('notice each of the runs that change through other processes, however old and many', async () => {
    const place = new Place();
    const all = Array.from({ length: 700 }, (_, i) => `run_${i}`);
    for (const [i, id] of all.entries()) await place.store.createRun(runOf({ id, startedAtMs: i }));
    const listener = await place.listen('');
    await place.pass(20);
    await listener.next();
    const change = async (ids: readonly string[]): Promise<void> => {
      for (const id of ids) {
        const run = await place.store.findRun(id);
        await place.store.updateRun({ ...run!, status: 'completed' });
      }
      await place.pass(1_000);
    };
    for (const ids of [['run_3'], all, ['run_5', 'run_3']]) {
      await change(ids);
      const told = (await listener.some(ids.length)).map(
        ({ data }) => (data as { readonly run_id: string }).run_id,
      );
      expect(new Set(told)).toEqual(new Set(ids));
    }
  });
});
