/** Live updates: streams of server-sent events about runs, and about the list of runs. */
import { checkRunId, checkTable } from '../../base/names.ts';
import { systemClock, type Clock } from '../../base/clock.ts';
import { invalidInput, RunNotFoundError } from '../../base/errors.ts';
import type { Store } from '../../store/store.ts';
import { HEADERS } from '../http/answers.ts';
import type { Asked } from '../http/router.ts';
import { FeedChannel, type FeedChange } from './feed-channel.ts';
import { decodeCursor } from './feed-cursor.ts';
import { lastingStoreOf, type StoreScope } from '../http/handler-options.ts';
import { EVENTS_MEDIA_TYPE, MAX_RUNS_PER_FEED, MAX_TABLES_PER_FEED } from '../../wire/protocol.ts';

/** How {@link Feeds} are made. */
export type FeedParts = {
  readonly pollMs: number;
  readonly clock?: Clock;
  /** Called with the failure of a poll; streams go on. */
  readonly onFailure: (error: unknown) => void;
};

/** The open streams of a handler. */
export class Feeds {
  readonly #parts: FeedParts;
  readonly #spaces = new Map<unknown, Map<unknown, FeedChannel>>();

  constructor(parts: FeedParts) {
    this.#parts = parts;
  }

  /** Tells listeners of what was written. */
  notify(scope: StoreScope, change: FeedChange): void {
    for (const channel of this.#spaces.get(keysOf(scope).space)?.values() ?? [])
      channel.notify(change);
  }

  /** Ends all streams. */
  end(): void {
    for (const views of this.#spaces.values()) for (const channel of views.values()) channel.end();
  }

  /** A stream of what changes. */
  async answer({
    context,
    scope,
    query: { run = [], table = [] },
  }: Asked<'GET /events', StoreScope>): Promise<Response> {
    const runIds = [...new Set(run)].map(checkRunId);
    const tables = [...new Set(table)].map(checkTable);
    if (runIds.length > MAX_RUNS_PER_FEED)
      throw invalidInput('run', runIds.length, `at most ${MAX_RUNS_PER_FEED} runs`);
    if (tables.length > MAX_TABLES_PER_FEED)
      throw invalidInput('table', tables.length, `at most ${MAX_TABLES_PER_FEED} tables`);
    if (tables.length > 0 && runIds.length === 0)
      throw invalidInput('table', tables[0], 'left out where no run is named');
    const seen = decodeCursor(context.req.header('last-event-id') ?? '');
    await requireRuns(scope.store, runIds);
    const headers = {
      ...HEADERS,
      'content-type': EVENTS_MEDIA_TYPE,
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    };
    if (context.req.method === 'HEAD') return new Response(null, { headers });
    const listener = this.#channel(scope).open({
      store: lastingStoreOf(scope),
      runIds,
      tables,
      seen,
    });
    return new Response(listener.body, { headers });
  }

  #channel(scope: StoreScope): FeedChannel {
    const { space, view } = keysOf(scope);
    const views = this.#spaces.get(space) ?? new Map<unknown, FeedChannel>();
    this.#spaces.set(space, views);
    let channel = views.get(view);
    if (channel === undefined) {
      const { pollMs, onFailure, clock = systemClock } = this.#parts;
      const onIdle = (): void => {
        views.delete(view);
        if (views.size === 0) this.#spaces.delete(space);
      };
      channel = new FeedChannel({ clock, pollMs, onIdle, onFailure });
      views.set(view, channel);
    }
    return channel;
  }
}

/** Without a name, a store shares with nobody: one that is made for a request may show other things than the next. */
function keysOf(scope: StoreScope): { readonly space: unknown; readonly view: unknown } {
  const store = lastingStoreOf(scope);
  return scope.feed ?? { space: store, view: store };
}

async function requireRuns(store: Store, runIds: readonly string[]): Promise<void> {
  for (const runId of runIds)
    if ((await store.findRun(runId)) === undefined) throw new RunNotFoundError(runId, 'this store');
}
