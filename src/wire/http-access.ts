/** Keys and shares of a service, asked from elsewhere with a key of scope `admin`. */
import { checkInstant, checkOptionNames } from '../base/assert.ts';
import { isQuarkError, isStoreError, SessionStoreError } from '../base/errors.ts';
import { decodeAuditLine, type AuditFilter, type AuditLine } from './audit-messages.ts';
import { QUOTA_RESOURCES } from '../store/quotas.ts';
import {
  decodeKey,
  decodeShare,
  type NewKeyOptions,
  type ProjectShare,
  type RunAccess,
  type ShareOptions,
  type UserKey,
} from './access-messages.ts';
import { decodeQuota, type QuotaOptions, type QuotaReport } from './quota-messages.ts';
import { HttpClient, type Call, type HttpStorageOptions } from './http-client.ts';
import type { RouteName } from './route-types.ts';
import { Fields } from './wire.ts';

/** How to remove a space or a user. */
export type RemoveOptions = {
  /** How long the runs can be restored, in milliseconds. Default: 30 days. */
  readonly keepMs?: number;
  /** Removes bytes at once. Default false. */
  readonly purge?: boolean;
  /** Counts only, and removes nothing. Default false. */
  readonly isDryRun?: boolean;
};

/** What was removed, or would be. */
export type Removed = {
  readonly spaces: readonly string[];
  readonly projects: number;
  readonly runs: number;
  readonly keys: number;
};

function queryOf({ isDryRun, keepMs, purge }: RemoveOptions) {
  return {
    keepMs,
    purge: purge === true ? ('yes' as const) : undefined,
    dryRun: isDryRun === true ? ('yes' as const) : undefined,
  };
}

function removedOf(answer: Fields): Removed {
  const removed = new Fields('removed', answer.get('removed'));
  return {
    spaces: removed.list('spaces').map(String),
    projects: removed.number('projects'),
    runs: removed.number('runs'),
    keys: removed.number('keys'),
  };
}

/** Options of {@link openServiceAccess}. */
export type ServiceAccessOptions = Pick<
  HttpStorageOptions,
  'userKey' | 'timeoutMs' | 'signal' | 'fetch'
>;

/**
 * Manages keys and shares at a service with a key of scope `admin`: those of the key's own user. Nothing is sent yet.
 *
 *     const access = openServiceAccess('https://quark.example.com', { userKey });
 *     const { key } = await access.createKey({ scope: 'read', expiresAt: '2027-01-01' });
 *
 * @throws {QuarkError} `invalid_input` naming the option
 * @example
 * ```js
 * import { openServiceAccess, serveService } from 'quark-sdk/service';
 *
 * const service = await serveService({ storage: 'quark-runs' });
 * const { key: userKey } = await service.access.createKey({ user: 'ada', scope: 'admin' });
 * const access = openServiceAccess(service.url, { userKey });
 * const { key } = await access.createKey({ scope: 'read', expiresAt: '2100-01-01' });
 * console.log(key.startsWith('qk_'), (await access.listKeys()).length); // true 2
 * await access.close();
 * await service.close();
 * ```
 */
export function openServiceAccess(url: string, options: ServiceAccessOptions = {}): ServiceAccess {
  checkOptionNames('options', options, ['userKey', 'timeoutMs', 'signal', 'fetch']);
  return new ServiceAccess(new HttpClient(url, options));
}

/**
 * Keys and shares of one user of a service; made by {@link openServiceAccess}. Everything throws `SessionStoreError`:
 * `unreachable`; `unauthorised` when the key is not good, has another scope, or asks for what is another user's; what the
 * service says is wrong with what was asked.
 *
 * @example
 * ```js
 * import { openServiceAccess, serveService } from 'quark-sdk/service';
 *
 * const service = await serveService({ storage: 'quark-runs' });
 * const { key: userKey } = await service.access.createKey({ user: 'ada', scope: 'admin' });
 * const access = openServiceAccess(service.url, { userKey }); // a ServiceAccess
 * console.log(await access.userName()); // ada
 * for (const { label, scope } of await access.listKeys()) console.log(label === '', scope); // true admin
 * console.log(await access.listShares()); // []
 * await access.close();
 * await service.close();
 * ```
 */
export class ServiceAccess {
  readonly #client: HttpClient;

  /** @internal Use `openServiceAccess`. */
  constructor(client: HttpClient) {
    this.#client = client;
  }

  /** Name of the user whose key it is. */
  async userName(): Promise<string> {
    return (await this.#ask('GET /account')).text('user');
  }

  /**
   * Makes another key of the user. The answer is the only place where the key ever stands.
   *
   * @param options `user`, where it is given, has to be the user of the key that asks. `expiresAt`: the end of that key
   * unless given, and never later; null asks for none.
   */
  async createKey(
    options: Omit<NewKeyOptions, 'user' | 'expiresAt'> & {
      readonly user?: string;
      readonly expiresAt?: NewKeyOptions['expiresAt'] | null;
    } = {},
  ): Promise<UserKey & { readonly key: string }> {
    checkOptionNames('options', options, ['user', 'scope', 'label', 'expiresAt']);
    const { expiresAt, label, scope, user } = options;
    const endMs =
      expiresAt === undefined || expiresAt === null
        ? expiresAt
        : checkInstant('expiresAt', expiresAt);
    const message = { key: { user, scope, label, expiresAtMs: endMs } };
    const answer = await this.#ask('POST /keys', { message });
    const made = answer.get('key');
    return { ...decodeKey(made), key: new Fields('key', made).text('key') };
  }

  /** The keys of the user, those that ended or were revoked included, oldest first. */
  async listKeys(): Promise<readonly UserKey[]> {
    return (await this.#ask('GET /keys')).list('keys').map(decodeKey);
  }

  /** Makes a key useless from now on, also the one that asks. Doing it again changes nothing. */
  async revokeKey(keyId: string): Promise<UserKey> {
    return decodeKey((await this.#ask('DELETE /keys/:keyId', { params: { keyId } })).get('key'));
  }

  /** Lines of the audit log about what is the user's, and about what the user did. */
  async listAudit(filter: AuditFilter = {}): Promise<readonly AuditLine[]> {
    return (await this.#ask('GET /audit', { query: filter })).list('lines').map(decodeAuditLine);
  }

  /** The quota of the user, and those of the user's projects, with what is used of them. */
  async listQuotas(): Promise<readonly QuotaReport[]> {
    return (await this.#ask('GET /quotas')).list('quotas').map(decodeQuota);
  }

  /** Sets the quota of a project of the user. That of a user is set at the machine of the service. */
  async setQuota(
    options: Omit<QuotaOptions, 'user'> & { readonly user?: string },
  ): Promise<QuotaReport> {
    checkOptionNames('options', options, ['user', 'space', 'project', ...QUOTA_RESOURCES]);
    return decodeQuota(
      (await this.#ask('PUT /quotas', { message: { quota: options } })).get('quota'),
    );
  }

  /** Removes a space of the user: its runs are deleted, its shares end. Needs scope `delete`; `purge` needs `admin`. */
  async removeSpace(space: string, options: RemoveOptions = {}): Promise<Removed> {
    const query = queryOf(options);
    return removedOf(await this.#ask('DELETE /spaces/:space', { params: { space }, query }));
  }

  /** Removes the user of the key, with all keys, shares and spaces. The name is free then. */
  async removeAccount(options: RemoveOptions = {}): Promise<Removed> {
    const query = { ...queryOf(options), user: await this.userName() };
    return removedOf(await this.#ask('DELETE /account', { query }));
  }

  /** What of the user's is shared, by space, project and user. */
  async listShares(): Promise<readonly ProjectShare[]> {
    return (await this.#ask('GET /shares')).list('shares').map(decodeShare);
  }

  /** Lets another user read (or write, too) a project. Sharing again changes what may be done. */
  async share(
    options: Omit<ShareOptions, 'owner'> & {
      readonly owner?: string;
      readonly access?: RunAccess;
    },
  ): Promise<void> {
    checkOptionNames('options', options, ['owner', 'space', 'project', 'user', 'access']);
    await this.#ask('PUT /shares', { message: { share: options } });
  }

  /** Takes a share back; returns whether there was one. */
  async unshare(
    options: Omit<ShareOptions, 'owner'> & { readonly owner?: string },
  ): Promise<boolean> {
    checkOptionNames('options', options, ['owner', 'space', 'project', 'user']);
    try {
      await this.#ask('DELETE /shares', { query: options });
      return true;
    } catch (error) {
      if (isStoreError(error, 'missing')) return false;
      throw error;
    }
  }

  /** Waits for changes under way, and asks nothing any longer. */
  async close(): Promise<void> {
    await this.#client.close();
  }

  async #ask<N extends RouteName<'account'>>(route: N, call?: Call<N>): Promise<Fields> {
    try {
      return await this.#client.json(route, call);
    } catch (error) {
      if (!isQuarkError(error, 'unsupported')) throw error;
      throw new SessionStoreError(
        'rejected',
        `The Quark server at ${this.#client.base.href} manages no keys and shares over HTTP. Is it "quark serve", of this version or a newer one?`,
        { details: { uri: this.#client.base.href }, cause: error },
      );
    }
  }
}
