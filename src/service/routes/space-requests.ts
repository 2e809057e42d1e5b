/** Requests about the store of a space: what is open to the user who asks, and whether it still is while the answer is sent. */
import { trustedStore } from '../../store/front.ts';
import type { StoreSpaces } from '../../store/sql/sql-store.ts';
import { allows } from '../../wire/access-messages.ts';
import { SPACE_HEADER } from '../../wire/protocol.ts';
import { QUOTA_HEADER, quotaHeader } from '../../wire/quota-header.ts';
import { endpointAt } from '../../wire/route-paths.ts';
import type { AccessBook, GrantedSpace } from '../access/access-book.ts';
import { actorOf } from '../access/audit-log.ts';
import { auditStore } from '../access/audited.ts';
import { guardStore } from '../access/guarded-store.ts';
import { viewOf, type OpenGrants } from '../access/open-grants.ts';
import {
  accessOf,
  deleteRefusal,
  minUndoMsOf,
  purgeRefusal,
  parseSpaceAddress,
  writeRefusal,
  type Principal,
  type SpaceAddress,
} from '../access/principal.ts';
import type { StoreScope } from '../http/handler-options.ts';
import type { ComputeOf } from '../jobs/job.ts';
import { tooOften, type ServiceLimits } from '../limits/limits.ts';
import type { Usage } from '../limits/usage.ts';
import type { EarlyLeases } from '../live/early-leases.ts';
import {
  CHECK_INTERVAL_MS,
  isEventStream,
  type StreamHolder,
  type StreamKeeper,
} from '../live/stream-keeper.ts';
import { watchStore } from '../live/watched-store.ts';
import type { MemoryShare } from '../limits/memory-budget.ts';
import type { ServiceConnection } from '../limits/origin-rules.ts';
import type { ServiceMetrics } from '../log/metrics.ts';
import type { StoreHandler } from './handler.ts';

/** What is known of a request while it is under way. */
export type Exchange = {
  /** When it began, by the clock that is never set back. */
  readonly startMs: number;
  readonly request: Request;
  readonly connection: ServiceConnection;
  readonly path: string;
  /** Closed when the answer was sent or its client has disconnected. */
  readonly share: MemoryShare;
  /** Aborted when the client has disconnected. */
  readonly signal: AbortSignal;
  principal: Principal | undefined;
  /** Ends its turn among the requests of its user. */
  endTurn?: () => void;
  /** Ends the count of its user's processor time. */
  leave?: () => void;
  /** Why the request was refused, for the answer. */
  refusal: string;
};

/** What the requests are answered with. */
export type SpaceRequestParts = {
  readonly spaces: StoreSpaces;
  readonly access: AccessBook;
  readonly limits: ServiceLimits;
  readonly metrics: ServiceMetrics;
  readonly usage: Usage;
  readonly grants: OpenGrants;
  readonly earlyLeases: EarlyLeases;
  readonly streams: StreamKeeper;
  readonly stores: StoreHandler;
  readonly monotonicMs: () => number;
  readonly takeRoom: (exchange: Exchange, bytes: number) => void;
  readonly computeOf?: ComputeOf | undefined;
};

/** What somebody asks for, as they see it. */
type OpenSpace = {
  readonly principal: Principal;
  readonly address: SpaceAddress;
  /** As errors and grants name it. */
  readonly name: string;
} & GrantedSpace;

/** Answers requests about stores. */
export class SpaceRequests {
  readonly #parts: SpaceRequestParts;

  constructor(parts: SpaceRequestParts) {
    this.#parts = parts;
  }

  async answer(exchange: Exchange, principal: Principal): Promise<Response> {
    const { request, path } = exchange;
    const address = parseSpaceAddress(request.headers.get(SPACE_HEADER) ?? undefined);
    const granted = await this.#parts.access.openSpace(principal, address);
    const name = address.owner === undefined ? address.name : `${address.owner}:${address.name}`;
    const space = { ...granted, principal, address, name };
    const answer = await this.#parts.stores.handle(request, this.#scopeOf(exchange, space));
    const near = this.#parts.access.quotas.nearIn(granted.storedName);
    if (near.length > 0) answer.headers.set(QUOTA_HEADER, quotaHeader(near));
    const view = viewOf(granted.projects);
    const holder: StreamHolder = {
      principal,
      grant: `${principal.keyId ?? ''} ${principal.userId} ${name} ${view}`,
      mayGoOn: () => this.#parts.grants.isOpen(principal, address, view),
    };
    if (isEventStream(answer)) return this.#keepStream(answer, holder, exchange);
    return endpointAt(path)?.sends === 'parts' && answer.body !== null
      ? this.#parts.streams.keepLong(answer, holder)
      : answer;
  }

  #scopeOf(exchange: Exchange, space: OpenSpace): StoreScope {
    const { principal, address, name, storedName, projects } = space;
    const { spaces, metrics, limits, grants, usage } = this.#parts;
    const { quotas } = this.#parts.access;
    const stored = spaces.store(storedName, { quotas: () => quotas.quotasOf(storedName) });
    // What is shared is its owner's to delete.
    const mayDelete = projects === undefined && allows(principal.scope, 'delete');
    const { audit } = this.#parts.access;
    const actor = actorOf(principal, exchange.connection.remoteAddress, exchange.request.headers);
    const guarded = guardStore({
      // The front of the guarded store checks what is asked; what it hands on is not checked again.
      store: watchStore(trustedStore(stored), metrics, limits),
      name,
      access: accessOf(principal.scope),
      mayDelete,
      projects,
      // An admin of another space is none of this one.
      user: {
        userId: principal.userId,
        isAdmin: projects === undefined && allows(principal.scope, 'admin'),
      },
      blobs: { index: grants.blobsOf(storedName), notes: stored.notes, userId: principal.userId },
    });
    // Around what is guarded: what the guard does for a call is part of that call.
    const store = auditStore(guarded, { audit, actor, storedName });
    return {
      // A guest's claim waits for no run: it would be on one that may not be shared with them.
      store: projects === undefined ? this.#parts.earlyLeases.over(store, storedName) : store,
      signal: exchange.signal,
      feed: { space: storedName, view: `${principal.userId} ${viewOf(projects)}` },
      notes: stored.notes,
      confirm: async () => {
        const tookMs = this.#parts.monotonicMs() - exchange.startMs;
        if (tookMs >= CHECK_INTERVAL_MS) await grants.confirm(principal, address, projects);
      },
      writeRefusal: writeRefusal(principal, name),
      mayDelete,
      mayPurge: mayDelete && allows(principal.scope, 'admin'),
      minUndoMs: minUndoMsOf(principal, limits),
      actor: principal.userName,
      deleteRefusal: deleteRefusal(principal, name),
      purgeRefusal: (mayDelete ? purgeRefusal : deleteRefusal)(principal, name),
      takeRoom: (bytes) => this.#parts.takeRoom(exchange, bytes),
      takeUnpacked: (bytes) => usage.takeBytes(principal, bytes),
      compute: this.#parts.computeOf?.(
        principal.userId,
        (ms) => usage.chargeProcessor(principal, ms),
        // In a worker, its user's other requests need not wait for it.
        () => exchange.endTurn?.(),
      ),
    };
  }

  async #keepStream(
    answer: Response,
    holder: StreamHolder,
    { leave }: Exchange,
  ): Promise<Response> {
    const { limits, streams } = this.#parts;
    // A stream waits: its polls of the store are nobody's in particular.
    leave?.();
    const open = streams.countOf(holder.principal);
    for (const [whose, limit] of [
      ['key', limits.streamsPerKey],
      ['user', limits.streamsPerUser],
    ] as const) {
      if (open[whose] < limit) continue;
      await answer.body?.cancel();
      throw tooOften(`This ${whose} has ${limit} streams open, which is the limit.`);
    }
    return streams.keepStream(answer, holder);
  }
}
