/** Long answers and streams: ends them when their time is over or their reader loses access. */
import type { Clock } from '../../base/clock.ts';
import { SessionStoreError } from '../../base/errors.ts';
import type { Principal } from '../access/principal.ts';
import { OpenCounter } from '../limits/limits.ts';
import { relay } from '../../wire/body.ts';
import { EVENTS_MEDIA_TYPE } from '../../wire/protocol.ts';

/** Longest life of a stream, in milliseconds. The client continues from its cursor in a new one. */
export const MAX_STREAM_MS = 600_000;

/** Whether an answer is a stream of live updates. */
export function isEventStream(answer: Response): boolean {
  return (answer.headers.get('content-type') ?? '').startsWith(EVENTS_MEDIA_TYPE);
}

/**
 * Interval of the access checks, in milliseconds. Polling is needed because other processes revoke keys and remove shares too.
 * A request whose body takes longer to arrive is checked again, too.
 */
export const CHECK_INTERVAL_MS = 500;

/** The reader of an answer, and the check whether the reader still has access. */
export type StreamHolder = {
  readonly principal: Principal;
  /** Identifies the access that `mayGoOn` checks: streams with equal grants share a check. */
  readonly grant: string;
  /** An error counts as yes: the database may be unreachable. */
  readonly mayGoOn: () => Promise<boolean>;
};

type OpenAnswer = { readonly holder: StreamHolder; readonly end: () => void };

/** The open streams and long answers of a service. */
export class StreamKeeper {
  readonly #clock: Clock;
  readonly #users = new OpenCounter();
  readonly #keys = new OpenCounter();
  readonly #open = new Set<OpenAnswer>();
  readonly #streams = new Set<() => void>();
  #undoCheck: (() => void) | undefined;
  #isChecking = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How many streams are open. */
  get total(): number {
    return this.#users.total;
  }

  /** How many streams a user has open, and how many of them by the key that asks. */
  countOf({ userId, keyId }: Principal): { readonly user: number; readonly key: number } {
    return { user: this.#users.of(userId), key: this.#keys.of(keyId ?? userId) };
  }

  /**
   * The same stream of live updates with a body that ends in time, and when its holder may no longer read it; counts for the
   * user and the key as long as it is open.
   */
  keepStream(answer: Response, holder: StreamHolder): Response {
    const { userId, keyId } = holder.principal;
    const undo = [this.#users.open(userId), this.#keys.open(keyId ?? userId)];
    const release = (): void => {
      for (const one of undo) one();
      undoTimer();
      this.#streams.delete(stream.end);
    };
    // A normal end: a client that still has access continues in a new stream.
    const stream = this.#keep(answer, holder, (target) => target.close(), release);
    const undoTimer = this.#clock.after(MAX_STREAM_MS, stream.end);
    this.#streams.add(stream.end);
    return stream.answer;
  }

  /** The same answer with a body that breaks off when its holder may no longer read it. */
  keepLong(answer: Response, holder: StreamHolder): Response {
    return this.#keep(answer, holder, (target) =>
      target.error(new SessionStoreError('unauthorised', 'Access to this run has ended.')),
    ).answer;
  }

  /** Ends all streams normally. */
  endAll(): void {
    for (const end of this.#streams) end();
  }

  /** Checks the access of all open answers now. */
  async checkAccess(): Promise<void> {
    const checks = new Map<string, Promise<boolean>>();
    for (const { holder, end } of this.#open) {
      const { grant, mayGoOn } = holder;
      const check = checks.get(grant) ?? mayGoOn().catch(() => true);
      checks.set(grant, check);
      if (!(await check)) end();
    }
  }

  #checkLater(): void {
    if (this.#undoCheck !== undefined || this.#isChecking || this.#open.size === 0) return;
    this.#undoCheck = this.#clock.after(CHECK_INTERVAL_MS, () => {
      this.#undoCheck = undefined;
      this.#isChecking = true;
      void this.checkAccess().finally(() => {
        this.#isChecking = false;
        this.#checkLater();
      });
    });
  }

  #keep(
    answer: Response,
    holder: StreamHolder,
    finish: (target: ReadableStreamDefaultController<Uint8Array>) => void,
    onRelease: () => void = () => undefined,
  ): { readonly answer: Response; readonly end: () => void } {
    const { body, status, headers } = answer;
    const relayed = relay(body ?? new ReadableStream<Uint8Array>(), () => {
      this.#open.delete(open);
      if (this.#open.size === 0) {
        this.#undoCheck?.();
        this.#undoCheck = undefined;
      }
      onRelease();
    });
    const open: OpenAnswer = { holder, end: () => relayed.end(finish) };
    this.#open.add(open);
    this.#checkLater();
    return { answer: new Response(relayed.body, { status, headers }), end: open.end };
  }
}
