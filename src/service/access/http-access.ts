/** Keys and shares of a service, asked from elsewhere with a key of scope `admin`: see `account-routes.ts`. */
import { checkInstant, checkOptionNames } from '../../base/assert.ts';
import { isQuarkError, isStoreError, SessionStoreError, show } from '../../base/errors.ts';
import type { NewKeyOptions, ShareOptions } from './access-book.ts';
import type { ProjectShare, UserKey } from './access-sql.ts';
import { KEY_SCOPES, type RunAccess } from './principal.ts';
import { HttpClient, type Ask, type HttpStorageOptions } from '../../wire/http-client.ts';
import { API_PATH } from '../../wire/protocol.ts';
import { SERVICE_ROUTES } from '../../wire/service-routes.ts';
import { Fields } from '../../wire/wire.ts';

/** Options of {@link openServiceAccess}. */
export type ServiceAccessOptions = Pick<
  HttpStorageOptions,
  'userKey' | 'timeoutMs' | 'signal' | 'fetch'
>;

const KEYS = below(SERVICE_ROUTES.keys);
const SHARES = below(SERVICE_ROUTES.shares);
const JSON_TYPE = 'application/json';

/**
 * Manages keys and shares at a service with a key of scope `admin`: those of the key's own user. Nothing is sent yet.
 *
 *     const access = openServiceAccess('https://quark.example.com', { userKey });
 *     const { key } = await access.createKey({ scope: 'read', expiresAt: '2027-01-01' });
 *
 * @throws {QuarkError} `invalid_input` naming the option
 */
export function openServiceAccess(url: string, options: ServiceAccessOptions = {}): ServiceAccess {
  checkOptionNames('options', options, ['userKey', 'timeoutMs', 'signal', 'fetch']);
  return new ServiceAccess(new HttpClient(url, options));
}

/**
 * Keys and shares of one user of a service; made by {@link openServiceAccess}. Everything throws `SessionStoreError`:
 * `unreachable`; `unauthorised` when the key is not good, has another scope, or asks for what is another user's; what the
 * service says is wrong with what was asked.
 */
export class ServiceAccess {
  readonly #client: HttpClient;

  /** @param client sends the requests */
  constructor(client: HttpClient) {
    this.#client = client;
  }

  /** Name of the user whose key it is. */
  async userName(): Promise<string> {
    return (await this.#ask({ path: below(SERVICE_ROUTES.account) })).text('user');
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
    const answer = await this.#ask({
      method: 'POST',
      path: KEYS,
      ...jsonBody({ key: { user, scope, label, expires_at_ms: endMs } }),
    });
    const made = answer.get('key');
    return { ...decodeKey(made), key: new Fields('key', made).text('key') };
  }

  /** The keys of the user, those that ended or were revoked included, oldest first. */
  async listKeys(): Promise<readonly UserKey[]> {
    return (await this.#ask({ path: KEYS })).list('keys').map(decodeKey);
  }

  /** Makes a key useless from now on, also the one that asks. Doing it again changes nothing. */
  async revokeKey(keyId: string): Promise<UserKey> {
    const path = `${KEYS}/${encodeURIComponent(keyId)}`;
    return decodeKey((await this.#ask({ method: 'DELETE', path })).get('key'));
  }

  /** What of the user's is shared, by space, project and user. */
  async listShares(): Promise<readonly ProjectShare[]> {
    return (await this.#ask({ path: SHARES })).list('shares').map(decodeShare);
  }

  /** Lets another user read (or write, too) a project. Sharing again changes what may be done. */
  async share(
    options: Omit<ShareOptions, 'owner'> & {
      readonly owner?: string;
      readonly access?: RunAccess;
    },
  ): Promise<void> {
    checkOptionNames('options', options, ['owner', 'space', 'project', 'user', 'access']);
    await this.#ask({ method: 'PUT', path: SHARES, ...jsonBody({ share: options }) });
  }

  /** Takes a share back; returns whether there was one. */
  async unshare(
    options: Omit<ShareOptions, 'owner'> & { readonly owner?: string },
  ): Promise<boolean> {
    checkOptionNames('options', options, ['owner', 'space', 'project', 'user']);
    const query = Object.entries(options).filter(([, value]) => value !== undefined);
    try {
      await this.#ask({ method: 'DELETE', path: SHARES, query });
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

  async #ask(ask: Ask): Promise<Fields> {
    try {
      return await (ask.method === undefined ? this.#client.json(ask) : this.#client.change(ask));
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

function below(route: string): string {
  return route.slice(`/${API_PATH}`.length);
}

function jsonBody(value: object): Required<Pick<Ask, 'body' | 'type'>> {
  return { body: new TextEncoder().encode(JSON.stringify(value)), type: JSON_TYPE };
}

function decodeKey(value: unknown): UserKey {
  const fields = new Fields('key', value);
  return {
    keyId: fields.text('key_id'),
    userName: fields.text('user'),
    scope: oneOf('key.scope', fields.text('scope'), KEY_SCOPES),
    label: fields.text('label'),
    createdAtMs: fields.number('created_at_ms'),
    expiresAtMs: fields.numberOrNull('expires_at_ms'),
    revokedAtMs: fields.numberOrNull('revoked_at_ms'),
  };
}

function decodeShare(value: unknown): ProjectShare {
  const fields = new Fields('share', value);
  return {
    ownerName: fields.text('owner'),
    space: fields.text('space'),
    project: fields.text('project'),
    userName: fields.text('user'),
    access: oneOf('share.access', fields.text('access'), ['read', 'write'] as const),
    createdAtMs: fields.number('created_at_ms'),
  };
}

function oneOf<T extends string>(field: string, value: string, known: readonly T[]): T {
  const found = known.find((item) => item === value);
  if (found !== undefined) return found;
  throw new SessionStoreError(
    'rejected',
    `${field} must be one of ${known.join(', ')}; got ${show(value)}.`,
    {
      details: { field, value: show(value) },
    },
  );
}
