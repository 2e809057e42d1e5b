/** Lets requests in: by their key, or without one where a service is used on its own machine. */
import type { Clock } from '../../base/clock.ts';
import { isStoreError, SessionStoreError } from '../../base/errors.ts';
import type { AccessBook } from '../access/access-book.ts';
import { LOCAL_PRINCIPAL, type Principal } from '../access/principal.ts';
import { FairShares } from './fair-shares.ts';
import { tooOften, type ServiceLimits } from './limits.ts';
import { isLocalRequest, type AllowedOrigins, type ServiceConnection } from './origin-rules.ts';
import type { Usage } from './usage.ts';

/** Who may do without a key: nobody; people at this machine until a key is made; people at this machine. */
export type KeylessUse = 'never' | 'until_first_key' | 'always';

/** What a {@link Gate} is made of. */
export type GateParts = {
  readonly access: AccessBook;
  readonly limits: ServiceLimits;
  readonly keyless: KeylessUse;
  readonly origins: AllowedOrigins;
  readonly clock: Pick<Clock, 'now'>;
  readonly usage: Usage;
};

const BEARER = /^Bearer +([^ ]+) *$/i;
/** Stands for the address of connections that have none. */
const NO_ADDRESS = 'unknown';

/** Finds out who asks, and whether they ask too often. */
export class Gate {
  readonly #parts: GateParts;
  readonly #refusals: FairShares;

  constructor(parts: GateParts) {
    const { clock, limits } = parts;
    this.#parts = parts;
    this.#refusals = new FairShares(clock, limits.refusalsPerMinute / 60, limits.refusalsPerMinute);
  }

  /**
   * Who asks.
   *
   * @throws {SessionStoreError} `unauthorised`; `busy` (429) when they ask too often
   */
  async admit(request: Request, connection: ServiceConnection): Promise<Principal> {
    const address = connection.remoteAddress ?? NO_ADDRESS;
    let principal: Principal;
    try {
      principal = await this.#identify(request, connection);
    } catch (error) {
      // Only after the key was checked: other clients behind the same address may have valid keys.
      const waitMs = isStoreError(error, 'unauthorised') ? this.#refusals.take(address) : 0;
      if (waitMs > 0)
        throw tooOften('Too many requests without a good key came from this address.', waitMs);
      throw error;
    }
    this.#parts.usage.admit(principal);
    return principal;
  }

  /** Whether this request would be let in without a key. */
  async isKeyless(request: Request, connection: ServiceConnection): Promise<boolean> {
    const { keyless, access, origins } = this.#parts;
    if (keyless === 'never' || !isLocalRequest(request, connection)) return false;
    if (!origins.isOwn(request)) return false;
    return keyless === 'always' || !(await access.hasKeys());
  }

  async #identify(request: Request, connection: ServiceConnection): Promise<Principal> {
    const given = request.headers.get('authorization');
    if (given !== null) {
      const key = BEARER.exec(given)?.[1];
      if (key === undefined)
        throw new SessionStoreError(
          'unauthorised',
          'The Authorization header must be "Bearer" and a user key.',
        );
      return this.#parts.access.identify(key);
    }
    if (await this.isKeyless(request, connection)) return LOCAL_PRINCIPAL;
    throw new SessionStoreError('unauthorised', await this.#whyKey(request, connection));
  }

  async #whyKey(request: Request, connection: ServiceConnection): Promise<string> {
    const { keyless, access, origins } = this.#parts;
    const how = 'Send a user key: QUARK_USER_KEY, or "Authorization: Bearer qk_...".';
    if (keyless === 'never' || (keyless === 'until_first_key' && (await access.hasKeys())))
      return `This service asks for a key. ${how}`;
    if (!isLocalRequest(request, connection))
      return `Without a key this service answers only requests made on its own machine, to 127.0.0.1 or localhost, through no proxy. ${how}`;
    return origins.isOwn(request)
      ? `This service asks for a key. ${how}`
      : 'Without a key this service does not answer pages of another origin. Allow it with --allow-origin, or send a user key.';
  }
}
