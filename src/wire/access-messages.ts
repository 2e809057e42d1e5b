/** Users, keys and shares, as they travel: for a service, for its clients, and for its database. */
import { SessionStoreError, show } from '../base/errors.ts';
import { Fields } from './wire.ts';

/**
 * What a key allows; each includes the ones before it. `read` and `write` are about runs, one's own and shared ones.
 * `admin` adds the keys and shares of the key's own user, and the counters of the service; it opens nobody else's runs,
 * and makes no users.
 */
export const KEY_SCOPES = ['read', 'write', 'admin'] as const;

/** One of {@link KEY_SCOPES}. */
export type KeyScope = (typeof KEY_SCOPES)[number];

/** See {@link RunAccess}. */
export const RUN_ACCESS = ['read', 'write'] as const;

/** What a user may do with runs. */
export type RunAccess = (typeof RUN_ACCESS)[number];

/** The space of requests that name none. */
export const DEFAULT_SPACE_NAME = 'default';

/** What is known of a key. The key itself is stored nowhere. */
export type UserKey = {
  /** `qk_` and 12 characters: no secret. */
  readonly keyId: string;
  readonly userName: string;
  readonly scope: KeyScope;
  /** What the key is for, as whoever made it said; may be empty. */
  readonly label: string;
  /** UTC epoch milliseconds, like all instants here. */
  readonly createdAtMs: number;
  /** From then on the key is refused; null: never. */
  readonly expiresAtMs: number | null;
  /** Since then the key is refused; null: it was not revoked. */
  readonly revokedAtMs: number | null;
};

/** A project that another user may read or write. */
export type ProjectShare = {
  readonly ownerName: string;
  /** Name of the owner's space that holds the project. */
  readonly space: string;
  readonly project: string;
  /** With whom it is shared. */
  readonly userName: string;
  readonly access: RunAccess;
  readonly createdAtMs: number;
};

/** Which key to make. */
export type NewKeyOptions = {
  /** Name of the user whose key it is; made if there is none of this name. */
  readonly user: string;
  /** `write` unless given. */
  readonly scope?: KeyScope;
  /** What the key is for, in a few words. */
  readonly label?: string;
  /** When the key ends: ISO 8601 text, a Date or epoch milliseconds. Never unless given. */
  readonly expiresAt?: string | number | Date;
};

/** Which project to share, of whose, with whom. */
export type ShareOptions = {
  /** Name of the owner of the project. */
  readonly owner: string;
  /** Name of the owner's space that holds the project; `default` unless given. */
  readonly space?: string;
  /** Name of the project. */
  readonly project: string;
  /** Name of the user who is to see it. */
  readonly user: string;
};

/** A key in the names of the wire. */
export function encodeKey(key: UserKey): object {
  return {
    key_id: key.keyId,
    user: key.userName,
    scope: key.scope,
    label: key.label,
    created_at_ms: key.createdAtMs,
    expires_at_ms: key.expiresAtMs,
    revoked_at_ms: key.revokedAtMs,
  };
}

/** @throws {SessionStoreError} `rejected` */
export function decodeKey(value: unknown): UserKey {
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

/** A share in the names of the wire. */
export function encodeShare(share: ProjectShare): object {
  return {
    owner: share.ownerName,
    space: share.space,
    project: share.project,
    user: share.userName,
    access: share.access,
    created_at_ms: share.createdAtMs,
  };
}

/** @throws {SessionStoreError} `rejected` */
export function decodeShare(value: unknown): ProjectShare {
  const fields = new Fields('share', value);
  return {
    ownerName: fields.text('owner'),
    space: fields.text('space'),
    project: fields.text('project'),
    userName: fields.text('user'),
    access: oneOf('share.access', fields.text('access'), RUN_ACCESS),
    createdAtMs: fields.number('created_at_ms'),
  };
}

function oneOf<T extends string>(field: string, value: string, known: readonly T[]): T {
  const found = known.find((item) => item === value);
  if (found !== undefined) return found;
  throw new SessionStoreError(
    'rejected',
    `${field} must be one of ${known.join(', ')}; got ${show(value)}.`,
    { details: { field, value: show(value) } },
  );
}
